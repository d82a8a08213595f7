const js = require('@eslint/js');
const tseslint = require('typescript-eslint');

module.exports = tseslint.config(
  { ignores: ['dist/', 'node_modules/', 'coverage/', '**/.reenact/'] },
  js.configs.recommended,
  ...tseslint.configs.recommended,
  {
    files: ['instrumentation/**/*.ts', 'exporter/**/*.ts', 'replay/**/*.ts'],
    rules: {
      'max-lines': ['error', { max: 400, skipBlankLines: false, skipComments: false }],
      'max-lines-per-function': ['error', { max: 80 }],
      'max-params': ['error', 3],
      'no-empty': ['error', { allowEmptyCatch: false }],
    },
  },
  {
    // The preload loads the replay and the backlog only when they are needed: `require`, because it must be at once.
    files: ['instrumentation/register.ts'],
    rules: { '@typescript-eslint/no-require-imports': 'off' },
  },
  {
    files: ['**/*.js', '**/*.cjs'],
    rules: { '@typescript-eslint/no-require-imports': 'off' },
    languageOptions: {
      globals: {
        require: 'readonly',
        module: 'writable',
        process: 'readonly',
        console: 'readonly',
        Buffer: 'readonly',
        setTimeout: 'readonly',
        __dirname: 'readonly',
      },
    },
  },
  {
    files: ['**/*.mjs'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        Buffer: 'readonly',
        fetch: 'readonly',
        setTimeout: 'readonly',
        performance: 'readonly',
        URL: 'readonly',
      },
    },
  },
);
