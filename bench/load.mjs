/**
 * A closed-loop load generator on raw sockets: `node bench/load.mjs PORT CONNECTIONS STREAMS SECONDS [WARMUP]`.
 * Prints one JSON line: calls, failed, seconds, latencies in microseconds. Used where h2load is not installed.
 */
import net from 'node:net';
import {
  flag,
  frame,
  frameReader,
  literal,
  message,
  preface,
  settings,
  settingsAck,
  type,
  windowUpdate,
} from './wire.mjs';

const [port, connections, streams, seconds, warmup = '0.5'] = process.argv.slice(2);
const body = message(100);
const path = '/bench.Echo/Unary';
const fields = /** @type {const} */ ([
  [':authority', `127.0.0.1:${port}`],
  [':path', path],
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
  ['user-agent', 'bench/1'],
]);
const methodPostSchemeHttp = Buffer.from([0x83, 0x86]);
const firstBlock = Buffer.concat([methodPostSchemeHttp, ...fields.map(([name, value]) => literal(name, value, true))]);
const laterBlock = Buffer.concat([
  methodPostSchemeHttp,
  Buffer.from(fields.map((_, i) => 0x80 | (61 + fields.length - i))),
]);

/** @type {Float64Array} */
const latencies = new Float64Array(4_000_000);
let calls = 0;
let failed = 0;
let measuring = false;
let stopping = false;
let open = 0;
/** @type {(() => void) | null} */
let idle = null;

/** @param {Buffer} block */
function template(block) {
  return Buffer.concat([frame(type.headers, flag.endHeaders, 0, block), frame(type.data, flag.end, 0, body)]);
}
const first = template(firstBlock);
const later = template(laterBlock);

function connect() {
  const socket = net.connect({ port: Number(port), host: '127.0.0.1', noDelay: true });
  /** @type {Map<number, number>} */
  const started = new Map();
  let next = 1;
  let received = 0;
  let window = 65535;
  /** @type {Buffer[]} */
  let out = [];

  function call() {
    if (stopping || window < body.length) return;
    window -= body.length;
    const source = next === 1 ? first : later;
    const copy = Buffer.allocUnsafe(source.length);
    source.copy(copy);
    copy.writeUInt32BE(next, 5);
    copy.writeUInt32BE(next, 9 + copy.readUIntBE(0, 3) + 5);
    started.set(next, performance.now());
    next += 2;
    open += 1;
    out.push(copy);
  }

  /** @param {number} stream @param {boolean} ok */
  function done(stream, ok) {
    const begin = started.get(stream);
    if (begin === undefined) return;
    started.delete(stream);
    open -= 1;
    if (measuring) {
      if (ok) latencies[calls++] = performance.now() - begin;
      else failed += 1;
    }
    call();
    if (stopping && open === 0) idle?.();
  }

  const read = frameReader((kind, flags, stream, buffer, start, end) => {
    if (kind === type.data) {
      received += end - start;
      if (received > 16_384) {
        out.push(windowUpdate(0, received));
        received = 0;
      }
    } else if (kind === type.headers) {
      if (flags & flag.end) done(stream, true);
    } else if (kind === type.reset) done(stream, false);
    else if (kind === type.settings && !(flags & flag.ack)) out.push(settingsAck);
    else if (kind === type.ping && !(flags & flag.ack))
      out.push(frame(type.ping, flag.ack, 0, buffer.subarray(start, end)));
    else if (kind === type.window && stream === 0) {
      window += buffer.readUInt32BE(start);
      while (started.size < Number(streams) && window >= body.length && !stopping) call();
    } else if (kind === type.goaway) {
      failed += started.size;
      open -= started.size;
      started.clear();
    }
  });
  socket.on('connect', () => {
    out.push(preface, settings([[4, 1 << 20]]));
    for (let i = 0; i < Number(streams); i += 1) call();
    socket.write(Buffer.concat(out));
    out = [];
  });
  socket.on('data', (chunk) => {
    read(chunk);
    if (out.length > 0) socket.write(out.length === 1 ? out[0] : Buffer.concat(out));
    out = [];
  });
  socket.on('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
  return socket;
}

const sockets = Array.from({ length: Number(connections) }, connect);
await new Promise((resolve) => setTimeout(resolve, Number(warmup) * 1000));
measuring = true;
process.stdout.write('measuring\n');
const begin = performance.now();
await new Promise((resolve) => setTimeout(resolve, Number(seconds) * 1000));
measuring = false;
const elapsed = (performance.now() - begin) / 1000;
process.stdout.write('measured\n');
stopping = true;
await new Promise((resolve) => {
  idle = () => resolve(undefined);
  if (open === 0) resolve(undefined);
  setTimeout(resolve, 1000);
});
for (const socket of sockets) socket.destroy();
const sorted = latencies.subarray(0, calls).sort();
const at = (/** @type {number} */ q) =>
  Math.round((sorted[Math.min(calls - 1, Math.floor(q * calls))] ?? Number.NaN) * 1000);
const mean = sorted.reduce((sum, value) => sum + value, 0) / Math.max(1, calls);
process.stdout.write(
  `${JSON.stringify({ calls, failed, seconds: elapsed, mean: Math.round(mean * 1000), p50: at(0.5), p99: at(0.99) })}\n`,
);
process.exit(0);
