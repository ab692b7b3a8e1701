import { defineConfig } from 'vitest/config';

/** For mutation testing: only the tests that prove src/policy, src/grpc and src/replay, on no socket. */
export default defineConfig({
  test: {
    include: ['test/unit/{policy,grpc,replay}/**/*.test.ts', 'test/model/**/*.test.ts', 'test/property/**/*.test.ts'],
    env: { HEDGEROW_SEARCH_DEPTH: '4' },
    testTimeout: 60_000,
  },
});
