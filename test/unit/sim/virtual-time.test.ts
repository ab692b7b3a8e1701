import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/grpc/millis.js';
import { createVirtualTime } from '../../../src/sim/virtual-time.js';

/** Plans each moment, in this order, and tells in which they come. */
function order(moments: readonly (readonly [number, 'outside' | 'due'])[]): string[] {
  const time = createVirtualTime();
  const seen: string[] = [];
  moments.forEach(([moment, rank], index) => {
    time.at(millis(moment), rank, () => seen.push(`${index} at ${time.now}`));
  });
  while (time.step());
  return seen;
}

describe('virtual time', () => {
  it('stands still until it is stepped, and is over when nothing is planned', () => {
    const time = createVirtualTime();
    expect([time.now, time.step(), time.now]).toEqual([0, false, 0]);
  });

  it('goes from one moment to the next, however they were planned', () => {
    expect(order([30, 10, 20, 5, 15].map((moment) => [moment, 'due'] as const))).toEqual([
      '3 at 5',
      '1 at 10',
      '4 at 15',
      '2 at 20',
      '0 at 30',
    ]);
  });

  it('keeps the order of many, equal ones in the order of planning', () => {
    const moments = Array.from({ length: 200 }, (_, index) => (index * 7919) % 13);
    const expected = moments
      .map((moment, index) => ({ moment, index }))
      .toSorted((a, b) => a.moment - b.moment || a.index - b.index)
      .map(({ moment, index }) => `${index} at ${moment}`);
    expect(order(moments.map((moment) => [moment, 'outside'] as const))).toEqual(expected);
  });

  it('hears what comes from outside before what is due at the same moment', () => {
    expect(
      order([
        [10, 'due'],
        [10, 'outside'],
        [9, 'due'],
      ]),
    ).toEqual(['2 at 9', '1 at 10', '0 at 10']);
  });

  it('takes a moment that is past for now, and what an action plans', () => {
    const time = createVirtualTime();
    const seen: number[] = [];
    time.at(millis(50), 'due', () => time.at(millis(10), 'due', () => seen.push(time.now)));
    expect([time.step(), time.step(), time.step(), seen]).toEqual([true, true, false, [50]]);
  });
});
