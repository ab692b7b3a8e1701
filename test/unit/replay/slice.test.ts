import { describe, expect, it } from 'vitest';
import { createReplayBudget } from '../../../src/replay/budget.js';
import { createReplayBuffer } from '../../../src/replay/buffer.js';
import type { ReplayBudget } from '../../../src/replay/types.js';

const roomy = 1 << 20;

function budget(): ReplayBudget {
  return createReplayBudget(roomy, 'client', null);
}

describe('what a kept slice pins', () => {
  it('a slice that is most of its chunk stays where it is', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    const chunk = new Uint8Array(16_384);
    buffer.append(chunk, 9, 16_384);
    expect(buffer.open().chunk).toBe(chunk);
  });

  it('a quarter of a chunk stays, less is copied', () => {
    const chunk = new Uint8Array(65_536);
    const quarter = createReplayBuffer(budget(), roomy);
    quarter.append(chunk, 0, 16_384);
    expect(quarter.open().chunk).toBe(chunk);
    const less = createReplayBuffer(budget(), roomy);
    less.append(chunk, 0, 16_383);
    const reader = less.open();
    expect(reader.chunk).not.toBe(chunk);
    expect(reader.chunk?.buffer.byteLength).toBe(16_383);
  });

  it('a small message in a big read is copied, whatever the length of the view it came in', () => {
    const read = new Uint8Array(65_536).fill(7, 1000, 1105);
    const buffer = createReplayBuffer(budget(), roomy);
    buffer.append(read.subarray(1000, 1105), 0, 105);
    const reader = buffer.open();
    expect(reader.chunk?.buffer.byteLength).toBeLessThanOrEqual(4096);
    expect(reader.chunk?.slice(reader.start, reader.end)).toEqual(new Uint8Array(105).fill(7));
  });

  it('copies exactly [start, end), of a message of any size', () => {
    const chunk = new Uint8Array(65_536).map((_, i) => i % 251);
    for (const size of [1, 64, 65, 105, 1024, 1025, 10_000]) {
      const buffer = createReplayBuffer(budget(), roomy);
      buffer.append(chunk, 20_000, 20_000 + size);
      const reader = buffer.open();
      expect(reader.chunk?.buffer.byteLength).toBeLessThanOrEqual(Math.max(4096, size));
      expect(reader.chunk?.slice(reader.start, reader.end)).toEqual(chunk.slice(20_000, 20_000 + size));
    }
  });

  it('a later slice is copied as exactly, and put right behind the one before', () => {
    const chunk = new Uint8Array(65_536).map((_, i) => i % 251);
    const buffer = createReplayBuffer(budget(), roomy);
    const sent: number[] = [];
    for (const [start, size] of [
      [0, 2000],
      [30_000, 1024],
      [100, 1025],
      [40_000, 64],
      [50_000, 65],
      [60_000, 3],
    ] as const) {
      buffer.append(chunk, start, start + size);
      sent.push(...chunk.subarray(start, start + size));
    }
    const reader = buffer.open();
    const got: number[] = [];
    const slices: number[] = [];
    for (let part = reader.chunk; part !== null; part = reader.chunk) {
      got.push(...part.subarray(reader.start, reader.end));
      slices.push(reader.end - reader.start);
      reader.advance(reader.end - reader.start);
    }
    expect(got).toEqual(sent);
    expect(slices).toEqual([2000, 1024, 1025, 132]);
  });

  it('a block goes on behind a large slice without taking that for its own', () => {
    const buffer = createReplayBuffer(budget(), roomy);
    const large = new Uint8Array(2000).fill(2);
    buffer.append(new Uint8Array(2000).fill(1), 0, 2000);
    for (let i = 0; i < 2; i += 1) buffer.append(new Uint8Array(1000).fill(9), 0, 1000);
    buffer.append(large, 0, 2000);
    buffer.append(new Uint8Array(10).fill(3), 0, 10);
    const reader = buffer.open();
    const ends: string[] = [];
    for (let part = reader.chunk; part !== null; part = reader.chunk) {
      ends.push(`${part[reader.start]} ${reader.end - reader.start}`);
      reader.advance(reader.end - reader.start);
    }
    expect(ends).toEqual(['1 2000', '9 1000', '9 1000', '2 2000', '3 10']);
  });

  it('small copies of several calls share memory', () => {
    const chunk = new Uint8Array(65_536);
    const memory = new Set<ArrayBufferLike | undefined>();
    for (let i = 0; i < 40; i += 1) {
      const buffer = createReplayBuffer(budget(), roomy);
      buffer.append(chunk, 0, 100);
      memory.add(buffer.open().chunk?.buffer);
    }
    expect(memory.size).toBeLessThanOrEqual(2);
  });

  it('a first slice of up to 1 KiB shares memory, four of that size a block; a larger one has its own', () => {
    const chunk = new Uint8Array(65_536);
    const memory = (size: number): ArrayBufferLike | undefined => {
      const buffer = createReplayBuffer(budget(), roomy);
      buffer.append(chunk, 0, size);
      return buffer.open().chunk?.buffer;
    };
    const blocks = new Set(Array.from({ length: 40 }, () => memory(1024)));
    expect(blocks.size).toBeLessThanOrEqual(11);
    expect(new Set([memory(1025), memory(1025), memory(1025)]).size).toBe(3);
  });

  it('later slices of up to 1 KiB are gathered, larger ones stand alone', () => {
    const chunk = new Uint8Array(65_536);
    const slices = (size: number): number[] => {
      const buffer = createReplayBuffer(budget(), roomy);
      for (const each of [2000, size, size, size]) buffer.append(chunk, 0, each);
      const reader = buffer.open();
      const found: number[] = [];
      for (let part = reader.chunk; part !== null; part = reader.chunk) {
        found.push(reader.end - reader.start);
        reader.advance(reader.end - reader.start);
      }
      return found;
    };
    expect(slices(1024)).toEqual([2000, 1024, 2048]);
    expect(slices(1025)).toEqual([2000, 1025, 1025, 1025]);
  });

  it('a chunk of up to 4 KiB is never copied for its first slice', () => {
    const chunk = new Uint8Array(4096);
    const buffer = createReplayBuffer(budget(), roomy);
    buffer.append(chunk, 0, 1);
    expect(buffer.open().chunk).toBe(chunk);
  });

  it('copies of many calls do not run into each other', () => {
    const buffers = Array.from({ length: 300 }, (_, i) => {
      const chunk = new Uint8Array(8192).fill(i);
      const buffer = createReplayBuffer(budget(), roomy);
      buffer.append(chunk, 0, 50 + (i % 200));
      return buffer;
    });
    buffers.forEach((buffer, i) => {
      const reader = buffer.open();
      expect(reader.chunk?.slice(reader.start, reader.end)).toEqual(new Uint8Array(50 + (i % 200)).fill(i));
    });
  });
});
