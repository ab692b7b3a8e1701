import { defineConfig } from 'vitest/config';

/**
 * For mutation testing: only the tests that prove src/policy, src/grpc, src/replay and src/balance, on no socket. Fewer calls
 * are drawn, the same ones each time, and the search of test/model is left out: each mutant runs all that reaches it, and the
 * search reaches the whole of src/policy each time.
 */
export default defineConfig({
  test: {
    include: ['test/unit/{policy,grpc,replay,balance}/**/*.test.ts', 'test/property/policy-call.test.ts'],
    env: { HEDGEROW_RUNS: '150', HEDGEROW_SEED: '4' },
    testTimeout: 60_000,
  },
});
