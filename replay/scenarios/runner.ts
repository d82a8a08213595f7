/** Test runner that a test file is written for. */
export type Runner = 'jest' | 'vitest' | 'node';
