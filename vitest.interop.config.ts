import { defineConfig } from 'vitest/config';

/** The cases of test/differences through channels of other languages (docs/interop.md). */
export default defineConfig({
  test: {
    include: ['test/interop/**/*.test.ts'],
    globalSetup: 'test/interop/peers-are-there.ts',
    testTimeout: 20_000,
    hookTimeout: 180_000,
    pool: 'forks',
    maxWorkers: 2,
    reporters: process.env['CI'] ? ['dot', 'json'] : ['default', 'json'],
    outputFile: { json: 'reports/tests-interop.json' },
  },
});
