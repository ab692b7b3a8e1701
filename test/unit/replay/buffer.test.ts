import { describe, expect, it } from 'vitest';
import { createReplayBudget } from '../../../src/replay/budget.js';
import { createReplayBuffer } from '../../../src/replay/buffer.js';
import type { ReplayBudget, ReplayBuffer, ReplayReader } from '../../../src/replay/types.js';

const roomy = 1 << 20;

function budget(limit = roomy): ReplayBudget {
  return createReplayBudget(limit, 'client', null);
}

function bytes(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

function put(buffer: ReplayBuffer, text: string): number {
  return buffer.append(bytes(text), 0, text.length);
}

/** Reads what waits, at most `limit` bytes. */
function read(reader: ReplayReader, limit = Number.POSITIVE_INFINITY): string {
  let text = '';
  for (let chunk = reader.chunk; chunk !== null && text.length < limit; chunk = reader.chunk) {
    const size = Math.min(reader.end - reader.start, limit - text.length);
    text += Buffer.from(chunk.subarray(reader.start, reader.start + size)).toString('latin1');
    reader.advance(size);
  }
  return text;
}

describe('a replay buffer before commit', () => {
  it('BUF-01: gives every reader the same bytes in order, and the half-close with them', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    put(buffer, 'one');
    put(buffer, 'two');
    const first = buffer.open();
    expect(read(first, 4)).toBe('onet');
    first.close();
    put(buffer, 'three');
    buffer.end();
    const second = buffer.open();
    expect(read(second)).toBe('onetwothree');
    expect(second.finished).toBe(true);
  });

  it('BUF-02: a half-close that came before the reader was opened is there at its end', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    put(buffer, 'all');
    buffer.end();
    const reader = buffer.open();
    expect(reader.last).toBe(true);
    expect(reader.finished).toBe(false);
    reader.advance(3);
    expect(reader.last).toBe(false);
    expect(reader.finished).toBe(true);
    expect(reader.chunk).toBeNull();
  });

  it('STR-11: a request without bytes is finished as soon as it has ended', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    const reader = buffer.open();
    expect(reader.finished).toBe(false);
    buffer.end();
    expect(reader.finished).toBe(true);
    expect(reader.last).toBe(false);
    expect(reader.chunk).toBeNull();
  });

  it('BUF-03: what comes while nobody reads waits for the next reader, once', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    put(buffer, 'sent');
    const first = buffer.open();
    read(first);
    first.close();
    put(buffer, 'during backoff');
    expect(read(buffer.open())).toBe('sentduring backoff');
  });

  it('BUF-04: what comes during a replay follows it without gap or repeat', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    put(buffer, 'abcdef');
    const reader = buffer.open();
    expect(read(reader, 2)).toBe('ab');
    put(buffer, 'ghi');
    expect(read(reader, 5)).toBe('cdefg');
    put(buffer, 'jkl');
    expect(read(reader)).toBe('hijkl');
    expect(reader.position).toBe(12);
  });

  it('BUF-14: an attempt that ended in mid replay leaves the next its own start', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    put(buffer, 'abc');
    const second = buffer.open();
    read(second, 1);
    second.close();
    expect(second.chunk).toBeNull();
    expect(read(buffer.open())).toBe('abc');
    const unread = buffer.open();
    unread.close();
    unread.close();
    expect(unread.chunk).toBeNull();
  });

  it('takes only [start, end) of the chunk', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    expect(buffer.append(bytes('..body...'), 2, 6)).toBe(4);
    expect(read(buffer.open())).toBe('body');
  });

  it('an empty DATA frame changes nothing', () => {
    const buffer = createReplayBuffer(budget(), 0);
    expect(buffer.append(bytes('x'), 1, 1)).toBe(0);
    expect(buffer.total).toBe(0);
    expect(buffer.overflow).toBeNull();
  });

  it('only the slice that holds the last byte of an ended request is the last', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    buffer.append(Buffer.alloc(2000, 1), 0, 2000);
    buffer.append(Buffer.alloc(3000, 2), 0, 3000);
    const reader = buffer.open();
    expect(reader.last).toBe(false);
    buffer.end();
    expect(reader.last).toBe(false);
    reader.advance(2000);
    expect([reader.end - reader.start, reader.last]).toEqual([3000, true]);
    reader.advance(1);
    expect([reader.end - reader.start, reader.last]).toEqual([2999, true]);
  });

  it('an advance past the slice is a defect, and says so', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    const reader = buffer.open();
    expect(() => reader.advance(1)).toThrow('advance by 1 where 0 bytes wait');
    put(buffer, 'ab');
    expect(() => reader.advance(3)).toThrow('advance by 3 where 2 bytes wait');
    expect(() => reader.advance(-1)).toThrow('advance by -1');
    reader.advance(1);
    expect(() => reader.advance(2)).toThrow('advance by 2 where 1 bytes wait');
    expect(read(reader)).toBe('b');
  });

  it('an advance by nothing is none, where bytes wait and where none do', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    const reader = buffer.open();
    reader.advance(0);
    put(buffer, 'ab');
    reader.advance(0);
    expect(read(reader)).toBe('ab');
    reader.advance(0);
    expect(reader.position).toBe(2);
  });

  it('where a slice begins is known before its chunk is asked for; where none waits it is 0, as its end is', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    buffer.append(new Uint8Array(9), 2, 6);
    const reader = buffer.open();
    expect([reader.start, reader.end]).toEqual([2, 6]);
    reader.advance(4);
    expect([reader.start, reader.end]).toEqual([0, 0]);
  });
});

describe('the limits of a replay buffer', () => {
  it('BUF-06: exactly the limit is kept', () => {
    const share = budget();
    const buffer = createReplayBuffer(share, 6);
    expect(put(buffer, 'abc')).toBe(3);
    expect(put(buffer, 'def')).toBe(3);
    expect(buffer.overflow).toBeNull();
    expect([buffer.held, share.held]).toEqual([6, 6]);
  });

  it('BUF-07: the byte over the limit overflows; what fitted before it, in the same slice too, is kept', () => {
    const share = budget();
    const buffer = createReplayBuffer(share, 6);
    expect(put(buffer, 'abcd')).toBe(4);
    expect(put(buffer, 'efgh')).toBe(2);
    expect(buffer.overflow).toBe('call');
    expect([buffer.total, buffer.held, share.held]).toEqual([8, 6, 6]);
  });

  it('BUF-21: after the overflow nothing more is kept, and everything still reaches a reader in order', () => {
    const share = budget();
    const buffer = createReplayBuffer(share, 3);
    put(buffer, 'abcd');
    expect(put(buffer, 'ef')).toBe(0);
    expect(share.held).toBe(3);
    expect(read(buffer.open())).toBe('abcdef');
  });

  it('after the overflow nothing is kept even where room has come back: what is kept is one piece', () => {
    const share = budget(4);
    const other = createReplayBuffer(share, roomy);
    const buffer = createReplayBuffer(share, roomy);
    put(other, 'abc');
    expect(put(buffer, 'de')).toBe(1);
    other.dispose();
    expect(put(buffer, 'f')).toBe(0);
    expect([buffer.overflow, buffer.held]).toEqual(['client', 1]);
  });

  it('BUF-09: the client’s and the total limit are told apart; usage falls when a call is over', () => {
    const total = createReplayBudget(10, 'total', null);
    const one = createReplayBudget(8, 'client', total);
    const two = createReplayBudget(8, 'client', total);
    const first = createReplayBuffer(one, roomy);
    const second = createReplayBuffer(two, roomy);
    const third = createReplayBuffer(one, roomy);
    expect(first.append(Buffer.alloc(7), 0, 7)).toBe(7);
    expect(second.append(Buffer.alloc(5), 0, 5)).toBe(3);
    expect(second.overflow).toBe('total');
    first.dispose();
    expect(third.append(Buffer.alloc(9), 0, 9)).toBe(7);
    expect(third.overflow).toBe('total');
    second.dispose();
    third.dispose();
    const fourth = createReplayBuffer(one, roomy);
    expect(fourth.append(Buffer.alloc(9), 0, 9)).toBe(8);
    expect(fourth.overflow).toBe('client');
    fourth.dispose();
    expect([one.held, two.held, total.held]).toEqual([0, 0, 0]);
  });

  it('where the call’s own limit and a wider one end at the same byte, the call’s is named', () => {
    const buffer = createReplayBuffer(budget(4), 4);
    expect(put(buffer, 'abcde')).toBe(4);
    expect(buffer.overflow).toBe('call');
  });

  it('a limit of 0 keeps nothing, and the call still goes through', () => {
    const buffer = createReplayBuffer(budget(), 0);
    expect(put(buffer, 'abc')).toBe(0);
    expect(buffer.overflow).toBe('call');
    buffer.commit(null);
    const reader = buffer.open();
    expect(read(reader)).toBe('abc');
    expect(buffer.free()).toBe(3);
  });

  it('BUF-23: a million empty messages reach the limit by their prefixes, in memory of that order', () => {
    const limit = 256 * 1024;
    const buffer = createReplayBuffer(budget(), limit);
    const prefix = Buffer.alloc(5);
    let sent = 0;
    while (buffer.overflow === null && sent < 1_000_000) {
      buffer.append(prefix, 0, 5);
      sent += 1;
    }
    expect(sent).toBe(Math.floor(limit / 5) + 1);
    expect(buffer.held).toBe(limit);
    const reader = buffer.open();
    const memory = new Set<ArrayBufferLike>();
    let slices = 0;
    for (let chunk = reader.chunk; chunk !== null; chunk = reader.chunk) {
      slices += 1;
      memory.add(chunk.buffer);
      reader.advance(reader.end - reader.start);
    }
    let pinned = 0;
    for (const block of memory) pinned += block.byteLength;
    expect(reader.position).toBe(sent * 5);
    expect(slices).toBeLessThan(30);
    expect(pinned).toBeLessThan(limit * 1.2);
  });
});

describe('a replay buffer after commit', () => {
  it('BUF-12: keeps nothing that comes, and gives window back only as it is passed on', () => {
    const share = budget();
    const buffer = createReplayBuffer(share, roomy);
    const reader = buffer.open();
    buffer.commit(reader);
    for (let i = 0; i < 1000; i += 1) {
      expect(buffer.append(Buffer.alloc(10_000, i), 0, 10_000)).toBe(0);
      expect(buffer.held).toBe(0);
      expect(read(reader)).toHaveLength(10_000);
      expect(buffer.free()).toBe(10_000);
    }
    expect(buffer.overflow).toBeNull();
    expect(buffer.peakHeld).toBe(0);
    expect(share.peak).toBe(0);
  });

  it('BUF-13: a commit in mid replay frees each byte as it is passed on, and takes new ones after it', () => {
    const share = budget();
    const buffer = createReplayBuffer(share, roomy);
    put(buffer, 'kept!');
    const reader = buffer.open();
    read(reader, 2);
    buffer.commit(reader);
    expect(buffer.held).toBe(5);
    expect(buffer.free()).toBe(0);
    expect([buffer.held, share.held]).toEqual([3, 3]);
    put(buffer, 'new');
    expect(read(reader, 4)).toBe('pt!n');
    expect(buffer.free()).toBe(1);
    expect([buffer.held, share.held]).toEqual([0, 0]);
    expect(read(reader)).toBe('ew');
    expect(buffer.free()).toBe(2);
    expect(buffer.peakHeld).toBe(5);
  });

  it('frees nothing before commit, and nothing while no reader is left', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    put(buffer, 'abc');
    const reader = buffer.open();
    read(reader);
    expect(buffer.free()).toBe(0);
    expect(buffer.held).toBe(3);
    buffer.commit(null);
    expect(buffer.free()).toBe(0);
    expect(buffer.replayable).toBe(true);
  });

  it('committed to nobody, it belongs to the next reader', () => {
    const buffer = createReplayBuffer(budget(), 3);
    put(buffer, 'abcde');
    buffer.commit(null);
    const reader = buffer.open();
    expect(read(reader)).toBe('abcde');
    expect(buffer.free()).toBe(2);
    expect(buffer.held).toBe(0);
  });

  it('SM-30: a committed reader that never left makes way for the next, which starts at the first byte', () => {
    const buffer = createReplayBuffer(budget(), 3);
    put(buffer, 'abcde');
    const first = buffer.open();
    buffer.commit(first);
    read(first);
    first.close();
    expect(buffer.free()).toBe(0);
    const second = buffer.open();
    expect(read(second)).toBe('abcde');
    expect(buffer.free()).toBe(2);
  });

  it('a reader opened after commit takes nothing from the committed one', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    put(buffer, 'abc');
    const winner = buffer.open();
    buffer.commit(winner);
    const other = buffer.open();
    read(winner, 2);
    other.close();
    buffer.free();
    expect(buffer.held).toBe(1);
  });

  it('lets go of what has been passed on: the next chunk follows nothing and passes as it is', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    const reader = buffer.open();
    buffer.commit(reader);
    put(buffer, 'first');
    read(reader);
    buffer.free();
    const chunk = new Uint8Array(10);
    buffer.append(chunk, 0, 10);
    expect(reader.chunk).toBe(chunk);
  });

  it('a commit to a closed reader waits for the next one', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    put(buffer, 'abc');
    const first = buffer.open();
    first.close();
    buffer.commit(first);
    expect(buffer.free()).toBe(0);
    expect(read(buffer.open())).toBe('abc');
    expect(buffer.held).toBe(3);
    buffer.free();
    expect(buffer.held).toBe(0);
  });

  it('once a byte is freed no reader can start, and asking for one is a defect', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    put(buffer, 'abc');
    const reader = buffer.open();
    buffer.commit(reader);
    read(reader, 1);
    expect(buffer.replayable).toBe(true);
    buffer.free();
    expect(buffer.replayable).toBe(false);
    expect(() => buffer.open()).toThrow('has been freed');
  });

  it('a reader that lost reads no byte twice and none that was freed', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    const loser = buffer.open();
    const winner = buffer.open();
    put(buffer, 'abc');
    buffer.commit(winner);
    read(winner);
    buffer.free();
    put(buffer, 'def');
    expect(loser.chunk).toBeNull();
    expect(loser.last).toBe(false);
    expect([loser.start, loser.end]).toEqual([0, 0]);
    expect(read(winner)).toBe('def');
  });
});

describe('a disposed replay buffer', () => {
  it('returns all budget and tells the window never given back, once', () => {
    const share = budget();
    const buffer = createReplayBuffer(share, 4);
    put(buffer, 'abcdefg');
    expect(buffer.dispose()).toBe(3);
    expect([buffer.held, share.held, buffer.peakHeld]).toEqual([0, 0, 4]);
    expect(buffer.dispose()).toBe(0);
    expect(share.held).toBe(0);
  });

  it('does not tell window again that `free` gave back', () => {
    const buffer = createReplayBuffer(budget(), 2);
    put(buffer, 'abcdef');
    const reader = buffer.open();
    buffer.commit(reader);
    read(reader, 4);
    expect(buffer.free()).toBe(2);
    expect(buffer.dispose()).toBe(2);
    expect(buffer.free()).toBe(0);
  });

  it('BUF-16: has nothing for its readers any more, in mid replay neither', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    buffer.append(new Uint8Array(2000), 0, 2000);
    buffer.append(new Uint8Array(2000), 0, 2000);
    const reading = buffer.open();
    const fresh = buffer.open();
    const between = buffer.open();
    read(reading, 1);
    read(between, 2000);
    buffer.dispose();
    expect([reading.chunk, fresh.chunk, between.chunk]).toEqual([null, null, null]);
    expect(reading.position).toBe(1);
    expect(buffer.replayable).toBe(false);
    expect(() => buffer.open()).toThrow('has been freed');
  });

  it('gives the window of what still comes back at once', () => {
    const share = budget();
    const buffer = createReplayBuffer(share, roomy);
    buffer.dispose();
    expect(put(buffer, 'late')).toBe(4);
    expect(share.held).toBe(0);
  });
});
