import { defineConfig } from 'vitest/config';

/**
 * For mutation testing: only the tests that prove src/policy, src/grpc, src/replay and src/balance, on no socket. The search
 * is cut short and fewer calls are drawn, the same ones each time: each mutant runs all that reaches it.
 */
export default defineConfig({
  test: {
    include: [
      'test/unit/{policy,grpc,replay,balance}/**/*.test.ts',
      'test/model/**/*.test.ts',
      'test/property/policy-call.test.ts',
    ],
    env: { HEDGEROW_SEARCH_DEPTH: '3', HEDGEROW_RUNS: '150', HEDGEROW_SEED: '4' },
    testTimeout: 60_000,
  },
});
