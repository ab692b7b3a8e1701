import { describe, expect, it } from 'vitest';
import { transition } from '../../src/policy/call.js';
import { brokenMachines } from './broken-machines.js';
import { brokenManyMachines } from './broken-many-machines.js';
import { search } from './search.js';
import { controls, worlds } from './worlds.js';

describe('every order of events', () => {
  it.each(worlds)('keeps every invariant: $name', { timeout: 120_000 }, (world) => {
    const found = search(world, transition, Number.POSITIVE_INFINITY);
    console.info(
      `${world.name}: ${found.states} states, ${found.transitions} transitions, depth ${found.depth}${found.complete ? ', complete' : ''}`,
    );
    expect(found.broken).toEqual(null);
    expect(found.complete).toBe(true);
    expect(found.transitions).toBeGreaterThan(world.deadline === 0 ? 50 : 1000);
  });
});

/** Deep enough for every defect to show. */
const controlDepth = 8;

describe('the search itself', () => {
  it.each(controls)('finds nothing in the machine as it is: $name', (world) => {
    expect(search(world, transition, controlDepth).broken).toEqual(null);
  });

  it.each([...brokenMachines, ...brokenManyMachines])(
    'catches a machine that %s',
    { timeout: 120_000 },
    (_defect, invariant, machine) => {
      const seen: string[] = [];
      for (const world of controls) {
        const { broken } = search(world, machine, controlDepth);
        seen.push(...(broken?.invariants ?? []));
        if (seen.some((words) => words.includes(invariant))) return;
      }
      expect(seen).toContain(invariant);
    },
  );
});
