import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunScript } from '../support/call-script.js';
import { type Planted, VirtualProxy } from '../support/virtual-proxy.js';
import { brokenIn } from './whole-call-checks.js';
import { runs } from './whole-call-draw.js';

/** A run is done again with HEDGEROW_SEED set to what it printed; more are made by hand with HEDGEROW_RUNS. */
const seed = Number(process.env['HEDGEROW_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const numRuns = Number(process.env['HEDGEROW_RUNS'] ?? 500);

/** Plays a run; what does not hold. */
function play(script: RunScript, planted: Planted = {}): { proxy: VirtualProxy; broken: string[] } {
  const proxy = new VirtualProxy(script, planted);
  proxy.run();
  const broken = brokenIn(script, proxy);
  const left = proxy.stop();
  if (left !== 0) broken.push(`left behind: ${left} alarms of connections`);
  return { proxy, broken };
}

/** Runs in which something did not hold once. */
const regressions = JSON.parse(readFileSync(new URL('regressions.json', import.meta.url), 'utf8')) as readonly {
  readonly what: string;
  readonly script: RunScript;
}[];

describe('whole calls on virtual time', () => {
  it.each(regressions)('still hold where they once did not: $what', ({ script }) => {
    expect(play(script).broken).toEqual([]);
  });

  it('end once, keep to their policy, pass bytes on unmixed, count tokens and leave nothing behind', {
    timeout: 600_000,
  }, () => {
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
  });
});
