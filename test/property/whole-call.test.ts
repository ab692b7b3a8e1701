import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StopReason } from '../../src/grpc/stop-reason.js';
import type { RunScript } from '../support/call-script.js';
import { runs } from './whole-call-draw.js';
import { factsOf, recordOf } from './whole-call-facts.js';
import { play, seed } from './whole-call-play.js';
import { crowds, losses, overflows, rebuffs, refusals, trickles } from './whole-call-special.js';
import { missedDeadline } from './whole-call-told.js';

/** More runs are made by hand. */
const numRuns = Number(process.env['HEDGEROW_RUNS'] ?? 600);

/** Runs in which something did not hold once. */
const regressions = JSON.parse(readFileSync(new URL('regressions.json', import.meta.url), 'utf8')) as readonly {
  readonly what: string;
  readonly script: RunScript;
}[];

/** What nearly every draw of this size reaches, and often. */
const reached: readonly StopReason[] = [
  ...(['attempts_exhausted', 'backend_lost', 'buffer_exceeded', 'client_cancelled', 'committed'] as const),
  ...(['deadline_exceeded', 'fatal_status', 'invalid_directive', 'message_too_large', 'no_backend'] as const),
  ...(['no_policy', 'ok', 'pin_unknown', 'pushback', 'throttled'] as const),
];

describe('whole calls on virtual time', () => {
  it.each(regressions)('still hold where they once did not: $what', ({ script }) => {
    expect(play(script).broken).toEqual([]);
  });

  it('end once, keep to their policy, pass bytes on unmixed, count tokens and leave nothing behind', () => {
    console.info(`whole-call: HEDGEROW_SEED=${seed}`);
    const reasons = new Map<string, number>();
    fc.assert(
      fc.property(runs, (script) => {
        const { proxy, broken } = play(script);
        expect(broken).toEqual([]);
        for (const entry of proxy.log.entries) {
          if (entry.kind === 'record') reasons.set(entry.record.reason, (reasons.get(entry.record.reason) ?? 0) + 1);
        }
      }),
      { seed, numRuns },
    );
    console.info(`whole-call: ${JSON.stringify(Object.fromEntries([...reasons].sort()))}`);
    // Else that all holds says little.
    if (numRuns >= 600) expect(reached.filter((reason) => !reasons.has(reason))).toEqual([]);
  }, 3_600_000);

  it('send each hedge to a backend of its own and nothing after the deadline, where all wait for streams', () => {
    let waited = 0;
    let missed = 0;
    fc.assert(
      fc.property(crowds, (script) => {
        const { proxy, broken } = play(script);
        expect(broken).toEqual([]);
        for (const facts of factsOf(script, proxy)) {
          if (missedDeadline(facts)) missed += 1;
          const starts = recordOf(facts)?.attempts ?? [];
          if (facts.streams.some(({ opened }) => !starts.some(({ startedAt }) => startedAt === opened.at))) waited += 1;
        }
      }),
      { seed, numRuns: Math.max(150, numRuns / 4) },
    );
    console.info(`whole-call: ${waited} calls waited, ${missed} got a place when their deadline had passed`);
    expect(Math.min(waited, missed)).toBeGreaterThan(0);
  }, 3_600_000);

  it('keep, of hedges that were sent unequal parts of the request, the one that was sent most when the buffer is full', () => {
    fc.assert(
      fc.property(overflows, (script) => {
        const { proxy, broken } = play(script);
        expect(broken).toEqual([]);
        expect(proxy.log.entries.some((entry) => entry.kind === 'dropped')).toBe(true);
      }),
      { seed, numRuns: Math.max(60, numRuns / 10) },
    );
  }, 3_600_000);

  it.each([
    ['tell of hedges whose repeats alone were sent, where connections are lost under those that wait', losses],
    ['tell what is known of attempts that were answered and then refused', refusals],
    ['end for the first reason that held hedges back', rebuffs],
    ['answer whole where clients read slowly and the relay is full', trickles],
  ])(
    '%s',
    (_what, drawn) => {
      fc.assert(
        fc.property(drawn, (script) => {
          expect(play(script).broken).toEqual([]);
        }),
        { seed, numRuns: Math.max(100, numRuns / 4) },
      );
    },
    60_000,
  );
});
