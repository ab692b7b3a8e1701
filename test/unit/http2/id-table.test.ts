import fc from 'fast-check';
import { expect, it } from 'vitest';
import { IdTable } from '../../../src/http2/id-table.js';

interface Entry {
  readonly id: number;
}

function sorted(table: IdTable<Entry>): number[] {
  return [...table.all()].map(({ id }) => id).sort((a, b) => a - b);
}

it('holds what a Map would, whatever comes and goes', () => {
  const id = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 2 ** 31 - 1 }));
  fc.assert(
    fc.property(fc.array(fc.record({ id, add: fc.boolean() }), { maxLength: 400 }), (steps) => {
      const table = new IdTable<Entry>();
      const map = new Map<number, Entry>();
      for (const step of steps) {
        if (!step.add) {
          table.delete(step.id);
          map.delete(step.id);
        } else if (!map.has(step.id)) {
          const entry = { id: step.id };
          table.add(step.id, entry);
          map.set(step.id, entry);
        }
        expect(table.size).toBe(map.size);
      }
      for (const { id: each } of steps) expect(table.get(each)).toBe(map.get(each));
      expect(sorted(table)).toEqual([...map.keys()].sort((a, b) => a - b));
    }),
    { numRuns: 300 },
  );
});

it('a window of ids that moves on, as streams do, over a long time', () => {
  const table = new IdTable<Entry>();
  for (let at = 0; at < 20_000; at += 1) {
    table.add(2 * at + 1, { id: 2 * at + 1 });
    if (at >= 100) table.delete(2 * (at - 100) + 1);
    expect(table.get(2 * at + 1)?.id).toBe(2 * at + 1);
  }
  expect(table.size).toBe(100);
});

it('after a crowd it holds what is left, and takes more', () => {
  const table = new IdTable<Entry>();
  for (let id = 1; id <= 50_000; id += 1) table.add(id, { id });
  for (let id = 1; id <= 50_000; id += 1) if (id % 10_000 !== 0) table.delete(id);
  expect(sorted(table)).toEqual([10_000, 20_000, 30_000, 40_000, 50_000]);
  table.add(1, { id: 1 });
  expect(table.get(1)).toEqual({ id: 1 });
  expect(table.get(2)).toBeUndefined();
});

it.each([
  [512, 1024],
  [1000, 2048],
  [4000, 8192],
])('after a crowd of %i its slots, %i at most, do not become fewer than 1024', (crowd, most) => {
  const table = new IdTable<Entry>();
  const slots = (): number => (table as unknown as { readonly ids: Int32Array }).ids.length;
  for (let id = 1; id <= crowd; id += 1) table.add(id, { id });
  expect(slots()).toBe(most);
  for (let id = 1; id <= crowd; id += 1) table.delete(id);
  expect(slots()).toBe(1024);
});
