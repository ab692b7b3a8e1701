/** The replay buffer: the request of a call, kept, read and freed. `node bench/micro/replay-buffer.mjs [DIST]`. */
import { fromBuild, measure } from './measure.mjs';

const { createReplayBudget } = await fromBuild('replay/budget.js');
const { createReplayBuffer } = await fromBuild('replay/buffer.js');

const total = createReplayBudget(64 * 2 ** 20, 'total', null);
const client = createReplayBudget(8 * 2 ** 20, 'client', total);
const callLimit = 256 * 1024;
/** As sockets give it: small slices lie in a larger chunk. */
const chunk = Buffer.alloc(65_536);

/** @param {import('../../src/replay/types.js').ReplayReader} reader */
function drain(reader) {
  let bytes = 0;
  while (reader.chunk !== null) {
    const size = reader.end - reader.start;
    bytes += size;
    reader.advance(size);
  }
  return bytes;
}

/**
 * @param {number} calls @param {number} bytes of a slice @param {number} slices
 * @param {number} attempts readers that read it all before the last is committed to
 */
function play(calls, bytes, slices, attempts) {
  for (let i = 0; i < calls; i += 1) {
    const buffer = createReplayBuffer(client, callLimit);
    for (let slice = 0; slice < slices; slice += 1) buffer.append(chunk, 0, bytes);
    buffer.end();
    for (let attempt = 1; attempt < attempts; attempt += 1) {
      const reader = buffer.open();
      drain(reader);
      reader.close();
    }
    const last = buffer.open();
    if (drain(last) !== bytes * slices) throw new Error('not all was read');
    buffer.commit(last);
    buffer.free();
    buffer.dispose();
  }
  if (total.held !== 0) throw new Error(`${total.held} bytes are still held`);
}

measure('The replay buffer, a call', [
  { name: '105 bytes, one attempt', run: (calls) => play(calls, 105, 1, 1) },
  { name: '105 bytes, three attempts', run: (calls) => play(calls, 105, 1, 3) },
  { name: '16 slices of 8 KiB, one attempt', run: (calls) => play(calls, 8192, 16, 1) },
  { name: '16 slices of 8 KiB, three attempts', run: (calls) => play(calls, 8192, 16, 3) },
  { name: '1 MiB in slices of 16 KiB: over the limit', run: (calls) => play(calls, 16_384, 64, 1) },
]);
