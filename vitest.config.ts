import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/interop/**'],
    testTimeout: 20_000,
    pool: 'forks',
    maxWorkers: 2,
  },
});
