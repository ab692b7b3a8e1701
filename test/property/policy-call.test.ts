import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buckets, calls } from './policy-draw.js';
import { reckonHedges } from './policy-hedge-reckoning.js';
import { play } from './policy-play.js';
import { reckon } from './policy-reckoning.js';
import type { Bucket, CallScript, Reckoning } from './policy-scripts.js';

/** Where a run began is not where time began. */
const t0 = 1_000_000;

type Reckon = typeof reckon;

/** Several calls that share a bucket and the time. */
interface Scene {
  /** `at`: whole milliseconds after the first. */
  readonly calls: readonly { readonly at: number; readonly script: CallScript }[];
  readonly bucket: Readonly<Bucket>;
  readonly eager: boolean;
}

/** Goes through the calls of a scene together, in the order of their times. @returns what each led to, and the tokens left */
function together(reckonOne: Reckon, { calls, bucket: initial, eager }: Scene): { lines: string[][]; tokens: number } {
  const bucket = { ...initial };
  const lines: string[][] = calls.map(() => []);
  // A fraction of its own for each call, exact in binary, so that no two meet.
  const runs: { readonly i: number; readonly run: Reckoning; at: number }[] = [];
  const advance = (i: number, run: Reckoning): number | null => {
    const { done, value } = run.next();
    if (done !== true) return value;
    lines[i] = value;
    return null;
  };
  for (const [i, { at, script }] of calls.entries()) {
    const run = reckonOne(script, bucket, t0 + at + i / 16, eager);
    const first = advance(i, run);
    if (first !== null) runs.push({ i, run, at: first });
  }
  while (runs.length > 0) {
    const next = runs.reduce((a, b) => (b.at < a.at ? b : a));
    const at = advance(next.i, next.run);
    if (at === null) runs.splice(runs.indexOf(next), 1);
    else next.at = at;
  }
  return { lines, tokens: bucket.tokens };
}

function naive(script: CallScript, bucket: Bucket, begin: number, eager: boolean): Reckoning {
  const { plan, policy, placement } = script;
  return plan.kind === 'hedge' && policy === 'on' && placement.kind !== 'only'
    ? reckonHedges(script, plan, bucket, begin, eager)
    : reckon(script, bucket, begin, eager);
}

const scenes: fc.Arbitrary<Scene> = fc.record({
  calls: fc.array(fc.record({ at: fc.integer({ min: 0, max: 120 }), script: calls }), { minLength: 1, maxLength: 6 }),
  bucket: buckets,
  eager: fc.boolean(),
});

/** A run is done again with HEDGEROW_SEED set to what it printed. */
const seed = Number(process.env['HEDGEROW_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** Mutation testing draws fewer; what the draw reaches is not looked at then. */
const allRuns = 3000;
const numRuns = Number(process.env['HEDGEROW_RUNS'] ?? allRuns);

describe('the call machine and a naive reckoning of the same calls', () => {
  it('agree on attempts, delays, commits, tokens and ends', () => {
    console.info(`policy-call: HEDGEROW_SEED=${seed}`);
    const seen = { causes: new Map<string, number>(), reasons: new Map<string, number>() };
    fc.assert(
      fc.property(scenes, (scene) => {
        const played = together(play, scene);
        expect(played).toEqual(together(naive, scene));
        for (const lines of played.lines) count(lines, seen);
      }),
      { seed, numRuns },
    );
    console.info(`policy-call: ${JSON.stringify([Object.fromEntries(seen.causes), Object.fromEntries(seen.reasons)])}`);
    if (numRuns < allRuns) return;
    // The draw reaches every way in which a call of this scope can end: else the agreement says little.
    expect([...seen.reasons.keys()].sort()).toEqual(
      [
        ...['attempts_exhausted', 'backend_lost', 'backoff_beyond_deadline', 'buffer_exceeded', 'client_cancelled'],
        ...['committed', 'deadline_exceeded', 'drain_timeout', 'fatal_status', 'message_too_large', 'no_backend'],
        ...['no_policy', 'ok', 'overloaded', 'pushback', 'throttled'],
        ...['pinned', 'pinned_backend_busy', 'pinned_backend_unavailable'],
      ].sort(),
    );
    for (const cause of ['retry', 'hedge', 'transparent']) expect(seen.causes.get(cause)).toBeGreaterThan(1000);
  });
});

/** What was told and tried, so that a draw that no longer reaches it is noticed. */
function count(
  lines: readonly string[],
  { causes, reasons }: { readonly causes: Map<string, number>; readonly reasons: Map<string, number> },
): void {
  for (const line of lines) {
    const [, what = '', , reason = ''] = line.split(' ');
    causes.set(what, (causes.get(what) ?? 0) + 1);
    if (what === 'finish') reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
}
