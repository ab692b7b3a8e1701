import { beforeEach, expect, test } from 'vitest';
import { SharedText } from '../../../src/admin/shared-text.js';

let now = 0;
let begun = 0;
let made: string[] = [];

function* render(): Generator<string, void> {
  begun += 1;
  const mine = begun;
  for (const piece of ['a', '', 'b', 'c']) {
    made.push(piece);
    yield piece === '' ? '' : `${piece}${mine}`;
  }
}

beforeEach(() => {
  now = 0;
  begun = 0;
  made = [];
});

const create = (turn = () => Promise.resolve(), make: () => Iterable<string> = render): SharedText =>
  new SharedText(make, turn, () => now);

async function next(reader: AsyncGenerator<Buffer, void>): Promise<string> {
  return String((await reader.next()).value ?? 'end');
}

async function whole(reader: AsyncGenerator<Buffer, void>): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of reader) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test('a piece is made when a reader asks for it, and not before', async () => {
  const reader = create().read();
  expect(made).toEqual([]);
  expect(await next(reader)).toBe('a1');
  expect(made).toEqual(['a']);
  expect(await next(reader)).toBe('b1');
  expect(made).toEqual(['a', '', 'b']);
});

test('each step, one that makes nothing too, waits for a turn of its own', async () => {
  let turns = 0;
  const text = create(() => {
    turns += 1;
    return Promise.resolve();
  });
  await Promise.all([whole(text.read()), whole(text.read())]);
  // Four steps, and the end.
  expect(turns).toBe(5);
});

test('who asks while a text is made reads the same one, from its begin', async () => {
  const text = create();
  const first = text.read();
  await next(first);
  await next(first);
  const late = text.read();
  expect(await Promise.all([whole(first), whole(late)])).toEqual(['c1', 'a1b1c1']);
  expect(begun).toBe(1);
  expect(await whole(text.read())).toBe('a2b2c2');
});

test('who comes five seconds after it began gets one of its own', async () => {
  const text = create();
  const slow = text.read();
  await next(slow);
  now = 5000;
  expect(await whole(text.read())).toBe('a2b2c2');
  expect(await whole(slow)).toBe('b1c1');
});

test('readers that go leave nothing behind; one that stays reads on', async () => {
  const text = create();
  const [gone, stays] = [text.read(), text.read()];
  await next(gone);
  await gone.return();
  expect(await whole(stays)).toBe('a1b1c1');
  const other = text.read();
  await next(other);
  await other.return();
  expect(await whole(text.read())).toBe('a3b3c3');
});

test('four renderings are read at a time, and there is room again when one ends', async () => {
  const text = create();
  const slow: AsyncGenerator<Buffer, void>[] = [];
  for (let at = 0; at < 4; at += 1) {
    expect(text.full).toBe(false);
    const reader = text.read();
    await next(reader);
    slow.push(reader);
    // The newest may be joined still.
    expect(text.full).toBe(false);
    now += 5000;
  }
  expect(text.full).toBe(true);
  await slow[2]?.return();
  expect(text.full).toBe(false);
});

test('a fault reaches all readers, and the next text is another', async () => {
  let faulty = true;
  const text = create(undefined, () => {
    if (!faulty) return ['well'];
    return (function* () {
      yield 'half';
      throw new Error('no');
    })();
  });
  const [one, two] = [text.read(), text.read()];
  expect(await Promise.allSettled([whole(one), whole(two)])).toEqual([
    { status: 'rejected', reason: new Error('no') },
    { status: 'rejected', reason: new Error('no') },
  ]);
  faulty = false;
  expect(await whole(text.read())).toBe('well');
});
