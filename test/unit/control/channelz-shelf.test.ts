import { describe, expect, it } from 'vitest';
import { createIds, Shelf } from '../../../src/control/channelz-shelf.js';

function filled(count: number): Shelf<string> {
  const shelf = new Shelf<string>(createIds());
  for (let n = 1; n <= count; n += 1) shelf.add(`thing ${n}`);
  return shelf;
}

const idsOf = (shelf: Shelf<string>, start: number, most: number): readonly number[] =>
  shelf.page(start, most).items.map(([id]) => id);

describe('ids', () => {
  it('CTL-08: begin at 1 and are those of one thing, on whichever shelf, also when it is gone', () => {
    const next = createIds();
    const [one, other] = [new Shelf<string>(next), new Shelf<string>(next)];
    expect([one.add('a'), other.add('b'), one.add('c')]).toEqual([1, 2, 3]);
    one.delete(3);
    expect(one.add('d')).toBe(4);
    expect([one.get(3), one.get(2), one.get(4), one.size]).toEqual([undefined, undefined, 'd', 2]);
  });
});

describe('pages', () => {
  it('CTL-07: hold as many as are wanted from an id on, and say whether more follow', () => {
    const shelf = filled(5);
    expect(shelf.page(0, 2)).toEqual({
      items: [
        [1, 'thing 1'],
        [2, 'thing 2'],
      ],
      end: false,
    });
    expect(shelf.page(3, 2)).toMatchObject({
      items: [
        [3, 'thing 3'],
        [4, 'thing 4'],
      ],
      end: false,
    });
    expect(shelf.page(5, 2)).toMatchObject({ items: [[5, 'thing 5']], end: true });
    expect(shelf.page(4, 2)).toMatchObject({
      items: [
        [4, 'thing 4'],
        [5, 'thing 5'],
      ],
      end: true,
    });
    expect(shelf.page(6, 2)).toEqual({ items: [], end: true });
    expect(new Shelf<string>(createIds()).page(0, 2)).toEqual({ items: [], end: true });
  });

  it('CTL-07: pass over what is gone, and may begin at it', () => {
    const shelf = filled(6);
    for (const id of [1, 3, 4, 6]) shelf.delete(id);
    expect(idsOf(shelf, 0, 10)).toEqual([2, 5]);
    expect(shelf.page(3, 1)).toEqual({ items: [[5, 'thing 5']], end: true });
    expect(shelf.page(0, 1)).toMatchObject({ items: [[2, 'thing 2']], end: false });
  });

  it('CTL-07: of many that came and went, none is missed and none told twice', () => {
    const shelf = filled(2000);
    for (let id = 1; id <= 2000; id += 1) if (id % 7 !== 0) shelf.delete(id);
    shelf.delete(7);
    shelf.delete(7);
    for (let n = 0; n < 10; n += 1) shelf.add('late');
    const seen: number[] = [];
    for (let start = 0, end = false; !end; ) {
      const page = shelf.page(start, 100);
      seen.push(...page.items.map(([id]) => id));
      start = (seen.at(-1) ?? start) + 1;
      end = page.end;
    }
    const left = Array.from({ length: 2000 }, (_, at) => at + 1).filter((id) => id % 7 === 0 && id !== 7);
    expect(seen).toEqual([...left, ...Array.from({ length: 10 }, (_, at) => 2001 + at)]);
    expect(shelf.size).toBe(seen.length);
  });
});
