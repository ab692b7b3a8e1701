import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MessageLimit } from '../../../src/grpc/message-limit.js';

function message(length: number, fill = 7): number[] {
  return [0, length >>> 24, (length >>> 16) & 255, (length >>> 8) & 255, length & 255, ...Array(length).fill(fill)];
}

/** Feeds the bytes in pieces of these sizes, over and over; gives what was passed on. */
function run(limit: MessageLimit, bytes: readonly number[], sizes: readonly number[]) {
  const pieces: Uint8Array[] = [];
  let ok = true;
  const whole = Uint8Array.from([9, ...bytes, 9]);
  for (let at = 1, turn = 0; at <= bytes.length && ok; turn += 1) {
    const end = Math.min(bytes.length + 1, at + (sizes[turn % sizes.length] ?? 1));
    ok = limit.pass(whole, at, end, (chunk, from, to) => {
      // A piece of no bytes would go on as an empty DATA frame.
      expect(to).toBeGreaterThan(from);
      pieces.push(chunk.subarray(from, to));
    });
    at = end;
  }
  // Read at the end: a piece may wait for a peer's window while later ones come.
  return { ok, passed: pieces.flatMap((piece) => [...piece]) };
}

describe('MessageLimit', () => {
  it('passes messages up to the limit as they are, however they are cut', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
    const lengths = fc.array(fc.integer({ min: 0, max: 10 }), { maxLength: 5 });
    fc.assert(
      fc.property(lengths, sizes, (messages, cuts) => {
        const bytes = messages.flatMap((length) => message(length));
        expect(run(new MessageLimit(10), bytes, cuts)).toEqual({ ok: true, passed: bytes });
      }),
    );
  });

  it('passes nothing of a message one byte over the limit, and all before it', () => {
    const before = [...message(3), ...message(0)];
    for (const cut of [1, 2, 3, 4, 5, 7, 100]) {
      const limit = new MessageLimit(10);
      expect(run(limit, [...before, ...message(11), ...message(1)], [cut])).toEqual({ ok: false, passed: before });
      expect(limit.refused).toBe(11);
      for (const end of [6, 0])
        expect(limit.pass(Uint8Array.from(message(1)), 0, end, () => expect.unreachable('it is over'))).toBe(false);
    }
  });

  it('a piece of a prefix that was kept back stays what it was while the next prefix comes', () => {
    const bytes = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    expect(run(new MessageLimit(10), bytes, [2])).toEqual({ ok: true, passed: bytes });
  });

  it('refuses by the prefix alone, up to the largest that one can announce', () => {
    const limit = new MessageLimit(1000);
    expect(run(limit, [1, 255, 255, 255, 255], [2])).toEqual({ ok: false, passed: [] });
    expect(limit.refused).toBe(4_294_967_295);
  });

  it('passes on nothing where nothing came', () => {
    const limit = new MessageLimit(10);
    expect(limit.pass(Uint8Array.from(message(1)), 3, 3, () => expect.unreachable('no byte came'))).toBe(true);
    expect(run(limit, message(1), [6])).toEqual({ ok: true, passed: message(1) });
  });

  it('allows only empty messages where the limit is 0', () => {
    expect(run(new MessageLimit(0), [...message(0), ...message(0)], [3]).ok).toBe(true);
    expect(run(new MessageLimit(0), message(1), [3]).ok).toBe(false);
  });

  it('gives up the bytes of a prefix that was never finished', () => {
    const limit = new MessageLimit(5);
    expect(run(limit, [...message(1), 0, 0, 0], [4])).toEqual({ ok: true, passed: message(1) });
    const rest: number[] = [];
    limit.flush((chunk, from, to) => rest.push(...chunk.subarray(from, to)));
    limit.flush(() => expect.unreachable('nothing is left'));
    expect(rest).toEqual([0, 0, 0]);
  });
});
