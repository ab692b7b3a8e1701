import { defineConfig } from 'vitest/config';

/** The dashboard in a browser, Debian's Chromium (test/dashboard/install-browser.sh). */
export default defineConfig({
  test: {
    include: ['test/dashboard/**/*.test.ts'],
    globalSetup: 'test/support/build-first.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 1,
    reporters: process.env['CI'] ? ['dot', 'json'] : ['default', 'json'],
    outputFile: { json: 'reports/tests-dashboard.json' },
  },
});
