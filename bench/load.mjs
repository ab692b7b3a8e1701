/**
 * A closed-loop load generator on raw sockets: each of CONNECTIONS × STREAMS starts a call when its last has ended.
 * Used where h2load is not installed, and where headers vary from call to call, which h2load cannot.
 *
 *   node bench/load.mjs PORT CONNECTIONS STREAMS SECONDS [--headers same|traceparent|authorization] [--tls] [--bytes N] [--calls N]
 *
 * With --calls it ends after so many, however long that takes, at most SECONDS. Prints one JSON line: calls, failed, seconds, latencies in microseconds.
 */
import net from 'node:net';
import tls from 'node:tls';
import { parseArgs } from 'node:util';
import { flag, frame, frameReader, preface, settings, settingsAck, type, windowUpdate } from './wire.mjs';
import { callTemplates } from './wire-calls.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    headers: { type: 'string', default: 'same' },
    tls: { type: 'boolean', default: false },
    bytes: { type: 'string', default: '100' },
    calls: { type: 'string', default: 'Infinity' },
  },
});
const [port = 0, connections = 1, streams = 1, seconds = 1] = positionals.map(Number);
const templates = callTemplates(
  port,
  Number(options.bytes),
  /** @type {import('./wire-calls.mjs').HeaderSet} */ (options.headers),
);

const mostCalls = Number(options.calls);
const mostLatencies = 2_000_000;
/** Milliseconds; of more calls than fit, the later ones are counted alone. */
const latencies = new Float64Array(mostLatencies);
let calls = 0;
let failed = 0;
let stopping = false;
let open = 0;
let made = 0;
/** @type {(() => void) | null} */
let idle = null;
/** @type {() => void} */
let enough = () => {};

function connect() {
  const address = { port, host: '127.0.0.1' };
  const socket = options.tls
    ? tls.connect({ ...address, ALPNProtocols: ['h2'], rejectUnauthorized: false })
    : net.connect({ ...address, noDelay: true });
  /** @type {Map<number, number>} */
  const started = new Map();
  let next = 1;
  let received = 0;
  let window = 65535;
  /** @type {Buffer[]} */
  let out = [];

  function call() {
    if (stopping || window < templates.bodyBytes) return;
    window -= templates.bodyBytes;
    const source = next === 1 ? templates.first : (templates.later[made % templates.later.length] ?? templates.first);
    made += 1;
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
    if (ok) {
      if (calls < mostLatencies) latencies[calls] = performance.now() - begin;
      calls += 1;
    } else failed += 1;
    if (calls + failed >= mostCalls) enough();
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
      while (started.size < streams && window >= templates.bodyBytes && !stopping) call();
    } else if (kind === type.goaway) {
      failed += started.size;
      open -= started.size;
      started.clear();
    }
  });
  socket.on(options.tls ? 'secureConnect' : 'connect', () => {
    out.push(preface, settings([[4, 1 << 20]]));
    for (let i = 0; i < streams; i += 1) call();
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

const begin = performance.now();
const sockets = Array.from({ length: connections }, connect);
await new Promise((resolve) => {
  enough = () => resolve(undefined);
  setTimeout(resolve, seconds * 1000);
});
const elapsed = (performance.now() - begin) / 1000;
stopping = true;
await new Promise((resolve) => {
  idle = () => resolve(undefined);
  if (open === 0) resolve(undefined);
  setTimeout(resolve, 2000);
});
for (const socket of sockets) socket.destroy();
failed += open;
const sorted = latencies.subarray(0, Math.min(calls, mostLatencies)).sort();
const at = (/** @type {number} */ q) => (sorted[Math.floor(q * (sorted.length - 1))] ?? Number.NaN) * 1000;
const mean = (sorted.reduce((sum, value) => sum + value, 0) / sorted.length) * 1000;
process.stdout.write(`${JSON.stringify({ calls, failed, seconds: elapsed, mean, p50: at(0.5), p99: at(0.99) })}\n`);
process.exit(0);
