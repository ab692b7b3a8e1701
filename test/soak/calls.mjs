/** Calls of every shape, by grpc-js and by node:http2, each checked byte for byte. */
import { randomBytes } from 'node:crypto';
import http2 from 'node:http2';
import { Client, credentials, Metadata, status } from '@grpc/grpc-js';

const identity = (bytes) => bytes;
const between = (low, high) => low + Math.floor(Math.random() * (high - low));
const largeMessage = Buffer.alloc(1024 * 1024);
/** Of every call (ms). */
export const deadline = 20_000;

/** @returns {{ path: string, messages: Buffer[], wanted: Buffer[], shape: string }} */
function draw() {
  const some = (count, most) => Array.from({ length: count }, () => randomBytes(between(0, most)));
  const echoed = (shape, path, messages) => ({ shape, path, messages, wanted: messages });
  switch (between(0, 8)) {
    case 0:
      return { shape: 'server stream', path: '/soak/Large', messages: [Buffer.alloc(0)], wanted: [largeMessage] };
    case 1:
      return echoed('bidi', '/soak/Bidi', some(between(1, 50), 5000));
    case 2:
      return echoed('client stream', '/soak/Echo', some(between(1, 50), 2000));
    case 3:
      // More than is kept for another attempt.
      return echoed('large unary', '/soak/Echo', [randomBytes(between(300_000, 900_000))]);
    case 4:
      return echoed('hedged unary', '/soak.Hedged/Echo', some(1, 2000));
    case 5:
      return echoed('retried unary', '/soak/Flaky', some(1, 2000));
    default:
      return echoed('unary', '/soak/Echo', some(1, 2000));
  }
}

/**
 * One call of any shape.
 *
 * @typedef {object} Told what the end said; null: the stream ended without a status
 * @property {string} reason hedgerow-stop-reason
 * @property {string} backend hedgerow-backend
 * @property {boolean} committed response headers had come
 *
 * @param {(path: string, messages: Buffer[], cancelAfter: number | null) => Promise<{ code: number, words: string, told: Told | null, got: Buffer[] }>} send
 * @returns {Promise<{ shape: string, cancelled: boolean, code: number, words: string, told: Told | null, wrong: boolean }>}
 */
export async function anyCall(send) {
  const { shape, path, messages, wanted } = draw();
  const cancelAfter = Math.random() < 0.08 ? between(0, 30) : null;
  const { code, words, told, got } = await send(path, messages, cancelAfter);
  // What came before an end is a part of what was wanted, whatever the end.
  const wrong =
    got.some((message, i) => wanted[i]?.equals(message) !== true) || (code === 0 && got.length !== wanted.length);
  return { shape, cancelled: cancelAfter !== null, code, words, told, wrong };
}

export function grpcJsSender(port) {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    'grpc.enable_retries': 0,
    'grpc.use_local_subchannel_pool': 1,
    'grpc.max_receive_message_length': -1,
  });
  const send = (path, messages, cancelAfter) =>
    new Promise((resolve) => {
      const call = client.makeBidiStreamRequest(path, identity, identity, new Metadata(), {
        deadline: Date.now() + deadline,
      });
      const got = [];
      let committed = false;
      call.on('metadata', () => {
        committed = true;
      });
      call.on('data', (message) => got.push(message));
      call.on('error', () => {});
      call.on('status', ({ code, details, metadata }) => {
        const line = (name) => String(metadata.get(name)[0] ?? '');
        const told = { reason: line('hedgerow-stop-reason'), backend: line('hedgerow-backend'), committed };
        resolve({ code, words: details, told: told.reason === '' ? null : told, got });
      });
      if (cancelAfter !== null) setTimeout(() => call.cancel(), cancelAfter);
      for (const message of messages) call.write(message);
      call.end();
    });
  return { send, close: () => client.close() };
}

function framed(message) {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function split(bytes) {
  const messages = [];
  for (let at = 0; at + 5 <= bytes.length; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    if (end > bytes.length) break;
    messages.push(bytes.subarray(at + 5, end));
    at = end;
  }
  return messages;
}

export function http2Sender(port) {
  let session = connect();
  function connect() {
    // Node counts what a cancelled stream had still to write for ever; at the default of 10 MB it then resets each new stream itself
    // (ENHANCE_YOUR_CALM). grpc-js lifts the limit as well.
    const made = http2.connect(`http://127.0.0.1:${port}`, { maxSessionMemory: Number.MAX_SAFE_INTEGER });
    made.on('error', () => {});
    return made;
  }
  const send = (path, messages, cancelAfter) =>
    new Promise((resolve) => {
      if (session.closed || session.destroyed) session = connect();
      const stream = session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
        'grpc-timeout': `${deadline}m`,
      });
      let last = {};
      const parts = [];
      let committed = false;
      stream.on('response', (headers) => {
        last = headers;
        committed = headers['grpc-status'] === undefined;
      });
      stream.on('trailers', (headers) => {
        last = headers;
      });
      stream.on('data', (part) => parts.push(part));
      stream.on('error', () => {});
      stream.on('close', () => {
        const stated = last['grpc-status'];
        // As gRPC libraries judge a stream that ends without a status.
        const code =
          stated === undefined ? (cancelAfter === null ? status.UNAVAILABLE : status.CANCELLED) : Number(stated);
        const words = String(last['grpc-message'] ?? `reset ${stream.rstCode}`);
        const reason = last['hedgerow-stop-reason'];
        const told =
          reason === undefined
            ? null
            : { reason: String(reason), backend: String(last['hedgerow-backend'] ?? ''), committed };
        resolve({ code, words, told, got: split(Buffer.concat(parts)) });
      });
      if (cancelAfter !== null) setTimeout(() => stream.close(http2.constants.NGHTTP2_CANCEL), cancelAfter);
      for (const message of messages) stream.write(framed(message));
      stream.end();
    });
  return { send, kill: () => session.destroy(), close: () => session.close() };
}
