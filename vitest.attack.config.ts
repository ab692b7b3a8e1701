import { defineConfig } from 'vitest/config';

/** Attacks on the built program, measured, one after another (docs/limits.md). */
export default defineConfig({
  test: {
    include: ['test/attack/**/*.test.ts'],
    globalSetup: 'test/support/build-first.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 1,
    reporters: process.env['CI'] ? ['dot', 'json'] : ['default', 'json'],
    outputFile: { json: 'reports/tests-attack.json' },
  },
});
