import { preloadedPackages } from '../../../instrumentation/ambient/preloaded-packages';

test.each([
  ['a name', ['--import', 'tsx'], ['/node_modules/tsx/']],
  ['a path within a package', ['-r', 'ts-node/register/transpile-only'], ['/node_modules/ts-node/']],
  ['a scope', ['--require=@swc-node/register'], ['/node_modules/@swc-node/register/']],
  ['a URL', ['--import', 'file:///app/node_modules/tsx/dist/loader.mjs'], ['/node_modules/tsx/']],
  ['a linked store', ['--loader', '/app/node_modules/.pnpm/tsx@4/node_modules/tsx/x.mjs'], ['/node_modules/tsx/']],
  ['a file of the program', ['--import', './tracing.mjs', '-r', '/app/setup.js'], []],
  ['other options', ['--max-old-space-size=100', '--inspect'], []],
])('%s on the command line is found', (_form, execArgv, expected) => {
  expect(preloadedPackages(execArgv, undefined)).toEqual(expected);
});

test('packages of NODE_OPTIONS are found, quoted or not', () => {
  expect(preloadedPackages([], '--require "/my app/node_modules/esbuild-register/a.js"  --import=tsx')).toEqual([
    '/node_modules/esbuild-register/',
    '/node_modules/tsx/',
  ]);
});
