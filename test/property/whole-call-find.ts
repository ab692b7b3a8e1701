import fc from 'fast-check';
import { expect } from 'vitest';
import type { RunScript } from '../support/call-script.js';
import type { Planted } from '../support/virtual-proxy.js';
import { runs } from './whole-call-draw.js';
import { play, seed } from './whole-call-play.js';

/** The property fails, by what it says of the fault, and not by some error on the way. */
export function mustFind(seen: RegExp, planted: Planted, drawn: fc.Arbitrary<RunScript> = runs): void {
  const found = fc.check(
    fc.property(drawn, (script) => !play(script, planted).broken.some((line) => seen.test(line))),
    { seed, numRuns: 1000, endOnFailure: true },
  );
  expect(found.failed).toBe(true);
  expect(String(found.errorInstance)).toContain('returning false');
}
