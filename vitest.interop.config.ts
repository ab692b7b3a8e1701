import { defineConfig } from 'vitest/config';

/** Peers of other languages, through the proxy and without it (docs/interop.md). */
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
