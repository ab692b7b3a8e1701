/** Frames: cut out of what was read, and written. `node bench/micro/framing.mjs [DIST]`. */
import { fromBuild, measure } from './measure.mjs';

const { FrameReader } = await fromBuild('http2/frame/reader.js');
const { writeData, writeWindowUpdate } = await fromBuild('http2/frame/writer.js');
const { Outbox } = await fromBuild('http2/outbox.js');

const maxFrameSize = 16_384;
let seen = 0;
const sink = {
  /** @param {number} _type @param {number} _flags @param {number} id @param {Uint8Array} _chunk @param {number} start @param {number} end */
  onFrame(_type, _flags, id, _chunk, start, end) {
    seen += id + end - start;
    return true;
  },
  onOversizedFrame() {
    throw new Error('oversized');
  },
};

/** @param {number} frames @param {number} bytes of each payload */
function chunkOf(frames, bytes) {
  const one = Buffer.alloc(9 + bytes);
  one.writeUIntBE(bytes, 0, 3);
  one.writeUInt32BE(1, 5);
  return Buffer.concat(Array.from({ length: frames }, () => one));
}

const small = chunkOf(32, 105);
const large = chunkOf(4, maxFrameSize);
// Its last frame is cut in two by each read.
const cut = chunkOf(32, 105);
const halves = [cut.subarray(0, cut.length - 50), cut.subarray(cut.length - 50)];
const reader = new FrameReader(sink, maxFrameSize);
const body = Buffer.alloc(maxFrameSize);
const outbox = new Outbox();

/** @param {number} frames @param {number} bytes */
function write(frames, bytes) {
  for (let i = 0; i < frames; i += 1) {
    writeData(outbox, 1, body, 0, bytes, true);
    if ((i & 31) === 31) outbox.take();
  }
}

measure('Framing, a frame', [
  {
    name: 'read, 105 bytes, 32 a chunk',
    run: (frames) => {
      for (let i = 0; i < frames; i += 32) reader.read(small, 0);
    },
  },
  {
    name: 'read, 105 bytes, every 32nd cut in two',
    run: (frames) => {
      for (let i = 0; i < frames; i += 32) for (const half of halves) reader.read(half, 0);
    },
  },
  {
    name: 'read, 16 KiB, 4 a chunk',
    run: (frames) => {
      for (let i = 0; i < frames; i += 4) reader.read(large, 0);
    },
  },
  { name: 'write DATA, 105 bytes, 32 a turn', run: (frames) => write(frames, 105) },
  { name: 'write DATA, 16 KiB, 32 a turn', run: (frames) => write(frames, maxFrameSize) },
  {
    name: 'write WINDOW_UPDATE, 32 a turn',
    run: (frames) => {
      for (let i = 0; i < frames; i += 1) {
        writeWindowUpdate(outbox, 1, 1000);
        if ((i & 31) === 31) outbox.take();
      }
    },
  },
]);
if (seen === 0) throw new Error('nothing was read');
