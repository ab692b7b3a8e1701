import { describe, expect, it } from 'vitest';
import { SliceQueue } from '../../../src/proxy/slice-queue.js';

const bytes = (text: string) => Buffer.from(text, 'latin1');

function taker(room: number) {
  let left = room;
  let text = '';
  return {
    take(chunk: Uint8Array, start: number, end: number): number {
      const count = Math.min(left, end - start);
      text += Buffer.from(chunk.subarray(start, start + count)).toString('latin1');
      left -= count;
      return count;
    },
    get text() {
      return text;
    },
  };
}

describe('SliceQueue', () => {
  it('gives the bytes back in order, across partial takes', () => {
    const queue = new SliceQueue();
    queue.push(bytes('abcdef'), 1, 4);
    queue.push(bytes('xyz'), 0, 3);
    expect(queue.bytes).toBe(6);
    const first = taker(2);
    expect(queue.drain(first.take)).toBe(2);
    expect(first.text).toBe('bc');
    const second = taker(100);
    expect(queue.drain(second.take)).toBe(4);
    expect(second.text).toBe('dxyz');
    expect(queue.bytes).toBe(0);
  });

  it('stops offering once a slice was not taken whole', () => {
    const queue = new SliceQueue();
    queue.push(bytes('ab'), 0, 2);
    queue.push(bytes('cd'), 0, 2);
    let offers = 0;
    queue.drain(() => {
      offers += 1;
      return 0;
    });
    expect(offers).toBe(1);
    expect(queue.bytes).toBe(4);
  });

  it('keeps no empty slice', () => {
    const queue = new SliceQueue();
    queue.push(bytes('ab'), 1, 1);
    expect(queue.drain(() => expect.unreachable())).toBe(0);
  });

  it('forgets on clear and says how much', () => {
    const queue = new SliceQueue();
    queue.push(bytes('abc'), 0, 3);
    expect(queue.clear()).toBe(3);
    expect(queue.bytes).toBe(0);
    expect(queue.clear()).toBe(0);
  });

  it('lets go of slices that have been taken while it never runs empty', () => {
    const queue = new SliceQueue();
    let expected = '';
    let seen = '';
    for (let i = 0; i < 500; i += 1) {
      const text = `${i};`;
      expected += text;
      queue.push(bytes(text), 0, text.length);
      if (i > 0) {
        const step = taker(3);
        queue.drain(step.take);
        seen += step.text;
      }
    }
    const rest = taker(10_000);
    queue.drain(rest.take);
    expect(seen + rest.text).toBe(expected);
  });

  it('gathers a flood of tiny slices, and pins none of the socket reads that they came in', () => {
    const queue = new SliceQueue();
    const reads = Array.from({ length: 20 }, () => Buffer.alloc(64 * 1024, 'x'));
    for (const read of reads) for (let at = 0; at < 100; at += 1) queue.push(read, at, at + 1);
    let offers = 0;
    queue.drain((chunk, start, end) => {
      offers += 1;
      expect(reads).not.toContain(chunk);
      expect(chunk.buffer.byteLength).toBeLessThanOrEqual(16 * 1024);
      return end - start;
    });
    expect(offers).toBeLessThan(10);
    expect(queue.bytes).toBe(0);
  });

  it('goes on in order when what waits is taken, in part, while more comes', () => {
    const queue = new SliceQueue();
    let text = '';
    const read = Buffer.from(Array.from({ length: 4096 }, (_, i) => i % 251));
    let pushed = 0;
    let taken = 0;
    for (let step = 0; pushed < 4000; step += 1) {
      const size = (step * 7) % 13;
      queue.push(read, pushed, pushed + size);
      pushed += size;
      const room = (step * 5) % 11;
      let left = room;
      taken += queue.drain((chunk, start, end) => {
        const count = Math.min(left, end - start);
        text += Buffer.from(chunk.subarray(start, start + count)).toString('latin1');
        left -= count;
        return count;
      });
      expect(queue.bytes).toBe(pushed - taken);
    }
    queue.drain((chunk, start, end) => {
      text += Buffer.from(chunk.subarray(start, end)).toString('latin1');
      return end - start;
    });
    expect(Buffer.from(text, 'latin1').equals(read.subarray(0, pushed))).toBe(true);
  });
});
