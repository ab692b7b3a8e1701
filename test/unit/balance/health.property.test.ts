import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Verdict } from '../../../src/balance/blame.js';
import { createHealth } from '../../../src/balance/health.js';
import { defaultHealth } from '../../../src/balance/health-types.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import { type Happening, reckon } from './health-reckoning.js';
import { failure, limit, loser, lost, neutral, quota, success, timeout } from './health-rig.js';

/** A run is done again with HEDGEROW_SEED set to what it printed. */
const seed = Number(process.env['HEDGEROW_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** @param answers how many of its ends are successes, beside eight failures: few, or so many that a breach does not park */
const verdicts = (answers: number): fc.Arbitrary<Verdict> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom<Verdict>(failure, timeout, lost) },
    { weight: answers, arbitrary: fc.constantFrom<Verdict>(success, quota) },
    { weight: 3, arbitrary: fc.constantFrom<Verdict>(neutral, loser, limit(), limit(0), limit(2000), limit(90_000)) },
  );

type Step =
  | { readonly kind: 'began' | 'connected' | 'unparked' }
  | { readonly kind: 'answered'; readonly which: number }
  | { readonly kind: 'ended'; readonly which: number; readonly verdict: Verdict }
  | { readonly kind: 'checked'; readonly serving: boolean }
  | { readonly kind: 'parked'; readonly ms: number | null };

const which = fc.nat(20);
const steps = (answers: number): fc.Arbitrary<Step> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constant<Step>({ kind: 'began' }) },
    { weight: 16, arbitrary: fc.record({ kind: fc.constant('ended' as const), which, verdict: verdicts(answers) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('answered' as const), which }) },
    { weight: 1, arbitrary: fc.constantFrom<Step>({ kind: 'connected' }, { kind: 'unparked' }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Step>(
        { kind: 'checked', serving: true },
        { kind: 'checked', serving: false },
        { kind: 'parked', ms: 5000 },
        { kind: 'parked', ms: null },
      ),
    },
  );

/** Times at which something is over, and just before. */
const pauses = fc.oneof(
  { weight: 16, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.constantFrom(1, 1999, 2000, 5000, 10_000, 20_000) },
  { weight: 3, arbitrary: fc.constantFrom(29_999, 30_000, 30_001, 60_000, 119_999, 120_000) },
);

const runsWith = (answers: number) =>
  fc.array(fc.tuple(fc.nat(1), pauses, steps(answers)), { minLength: 10, maxLength: 80, size: 'max' });
const runs = fc.oneof(runsWith(1), runsWith(5), runsWith(9));

it('HEA-20, HEA-31, HEA-40: whatever happens, two backends stand as a naive reckoning says, and can be probed again', () => {
  const seen = new Map<string, number>();
  console.info(`health: HEDGEROW_SEED=${seed}`);
  fc.assert(
    fc.property(runs, (run) => {
      const health = createHealth(defaultHealth);
      const rigs = ['a', 'b'].map((name) => ({
        id: backendId(name),
        history: [] as Happening[],
        open: [] as { attempt: number; mark: number }[],
      }));
      let now = 1000;
      let attempts = 0;
      for (const [index, pause, step] of run) {
        now += pause;
        const rig = rigs[index];
        if (rig === undefined) continue;
        const backend = health.of(rig.id);
        switch (step.kind) {
          case 'began':
            attempts += 1;
            rig.open.push({ attempt: attempts, mark: backend.began(now) });
            rig.history.push({ at: now, kind: 'began', attempt: attempts });
            break;
          case 'answered': {
            const one = rig.open[step.which % Math.max(1, rig.open.length)];
            if (one === undefined) break;
            backend.answered(one.mark, now);
            rig.history.push({ at: now, kind: 'answered', attempt: one.attempt });
            break;
          }
          case 'ended': {
            const [one] = rig.open.splice(step.which % Math.max(1, rig.open.length), 1);
            if (one === undefined) break;
            const change = backend.ended(one.mark, step.verdict, now, 5);
            if (change !== null) seen.set(change.kind, (seen.get(change.kind) ?? 0) + 1);
            rig.history.push({ at: now, kind: 'ended', attempt: one.attempt, verdict: step.verdict });
            break;
          }
          case 'connected':
            backend.connected(now);
            rig.history.push({ at: now, kind: 'connected' });
            break;
          case 'checked':
            backend.checked(step.serving, now);
            rig.history.push({ at: now, kind: 'checked', serving: step.serving });
            break;
          case 'parked':
            backend.park(step.ms, now);
            rig.history.push({ at: now, kind: 'parked', ms: step.ms });
            break;
          case 'unparked':
            backend.unpark(now);
            rig.history.push({ at: now, kind: 'unparked' });
            break;
          default:
            step satisfies never;
        }

        const wasCalm = health.calm;
        const expected = rigs.map(({ history }) => reckon(history, now));
        const calm = expected.every(({ standing }) => standing === 'clean' || standing === 'recent');
        // It may not have been noticed yet that something is over; never the other way round.
        if (wasCalm) expect(calm).toBe(true);
        rigs.forEach(({ id }, i) => {
          const reckoned = expected[i];
          if (reckoned === undefined) return;
          seen.set(reckoned.standing, (seen.get(reckoned.standing) ?? 0) + 1);
          const standing = health.standing(id, now);
          const stats = health.of(id).stats(now);
          const until = standing === 'parked' || standing === 'rate_limited' ? health.parkedUntil(id) : 0;
          const found = [
            standing,
            stats.consecutive_failures,
            stats.consecutive_hard_failures,
            stats.park_streak,
            until,
          ];
          const { consecutive, hard, streak, rate } = reckoned;
          expect(found).toEqual([reckoned.standing, consecutive, hard, streak, reckoned.until]);
          if (Math.abs(stats.failure_rate - rate) > 0.0006) expect(stats.failure_rate).toBe(rate);
        });
        expect(health.calm).toBe(calm);
      }

      // No probe is lost, ended or not: whoever is parked by no hand and no check can be probed in the end.
      now += 10_000_000;
      for (const { id } of rigs) {
        const standing = health.standing(id, now);
        if (health.of(id).stats(now).parked_for_ms === null) expect(standing).toBe('parked');
        else if (standing !== 'clean') expect([standing, health.mayProbe(id, now, false)]).toEqual(['lapsed', true]);
      }
    }),
    { seed, numRuns: Number(process.env['HEDGEROW_RUNS'] ?? 400) },
  );
  for (const standing of ['clean', 'recent', 'breached', 'lapsed', 'probing', 'rate_limited', 'parked'])
    expect(seen.get(standing) ?? 0, standing).toBeGreaterThan(5);
  expect(seen.get('released') ?? 0).toBeGreaterThan(5);
});
