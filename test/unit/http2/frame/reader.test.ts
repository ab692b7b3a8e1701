import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameReader, type FrameSink } from '../../../../src/http2/frame/reader.js';
import { frame } from '../../../support/frames.js';

class Sink implements FrameSink {
  readonly frames: string[] = [];
  /** The very chunks that payloads were passed in. */
  readonly chunks: Uint8Array[] = [];
  stopAfter = Number.POSITIVE_INFINITY;

  onFrame(type: number, flags: number, streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    this.frames.push(`${type} ${flags} ${streamId} ${Buffer.from(chunk.subarray(start, end)).toString('hex')}`);
    this.chunks.push(chunk);
    return this.frames.length < this.stopAfter;
  }
  onOversizedFrame(type: number, length: number): void {
    this.frames.push(`oversized ${type} ${length}`);
  }
}

function frameOf(index: number, length: number): Buffer {
  return frame(index, 255 - index, index * 1000 + 1, Buffer.alloc(length, index + 1));
}

describe('the frame reader (RFC 9113 4.1)', () => {
  it('passes a whole frame on where it lies', () => {
    const sink = new Sink();
    const chunk = Buffer.concat([frameOf(1, 5), frameOf(2, 0), frameOf(3, 100)]);
    new FrameReader(sink, 16_384).read(chunk, 0);
    expect(sink.frames).toHaveLength(3);
    for (const passed of sink.chunks) expect(passed).toBe(chunk);
  });

  it('begins at the offset', () => {
    const sink = new Sink();
    new FrameReader(sink, 16_384).read(Buffer.concat([Buffer.from('noise'), frameOf(1, 2)]), 5);
    expect(sink.frames).toEqual(['1 254 1001 0202']);
  });

  it('a frame of the limit passes, one byte more does not, and nothing after it', () => {
    const sink = new Sink();
    const reader = new FrameReader(sink, 20_000);
    reader.read(frame(0, 0, 1, Buffer.alloc(20_000)), 0);
    reader.read(Buffer.concat([frame(9, 0, 1, Buffer.alloc(20_001)), frameOf(1, 1)]), 0);
    reader.read(frameOf(1, 1), 0);
    expect(sink.frames).toHaveLength(2);
    expect(sink.frames[1]).toBe('oversized 9 20001');
  });

  it('stops where the sink says so', () => {
    const sink = new Sink();
    sink.stopAfter = 2;
    const reader = new FrameReader(sink, 16_384);
    reader.read(Buffer.concat([frameOf(1, 1), frameOf(2, 1), frameOf(3, 1)]), 0);
    reader.read(frameOf(4, 1), 0);
    expect(sink.frames).toHaveLength(2);
  });

  it('the payload of a frame in pieces is a buffer of its own, not written to again', () => {
    const sink = new Sink();
    const reader = new FrameReader(sink, 16_384);
    for (let index = 1; index <= 3; index += 1) {
      const bytes = frameOf(index, 50);
      reader.read(bytes.subarray(0, 30), 0);
      reader.read(bytes.subarray(30), 0);
    }
    expect(new Set(sink.chunks).size).toBe(3);
    sink.chunks.forEach((chunk, at) => {
      expect(chunk.every((byte) => byte === at + 2)).toBe(true);
    });
  });

  it('any split of any frames gives the same frames', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 40 }), { maxLength: 8 }),
        fc.array(fc.nat({ max: 400 }), { maxLength: 12 }),
        (lengths, cuts) => {
          const bytes = Buffer.concat(lengths.map((length, index) => frameOf(index, length)));
          const whole = new Sink();
          new FrameReader(whole, 16_384).read(bytes, 0);
          const split = new Sink();
          const reader = new FrameReader(split, 16_384);
          const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length].sort((a, b) => a - b);
          for (let i = 1; i < at.length; i += 1) reader.read(bytes.subarray(at[i - 1], at[i]), 0);
          expect(split.frames).toEqual(whole.frames);
          expect(whole.frames).toHaveLength(lengths.length);
        },
      ),
    );
  });
});
