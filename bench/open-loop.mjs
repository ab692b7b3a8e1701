/**
 * An open-loop load generator on hedgerow's own wire engine: calls start when the clock says so, whatever became of those before.
 * A call's latency counts from when it was due, so that a stall is paid for by every call that it held up.
 *
 *   node bench/open-loop.mjs PORT CONNECTIONS CALLS_A_SECOND SECONDS WARM_UP_SECONDS [--engine DIST]
 *
 * Prints one JSON line: calls, failed, rate as started, p50, p99, p999 and max in microseconds, and `late`, the longest that it
 * was itself behind its clock.
 */
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import hdr from 'hdr-histogram-js';
import { message } from './wire.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { engine: { type: 'string', default: fileURLToPath(new URL('../dist', import.meta.url)) } },
});
const [port = 0, connections = 1, rate = 1, seconds = 1, warmUp = 0] = positionals.map(Number);

/** @param {string} file */
const load = (file) => import(pathToFileURL(path.resolve(options.engine, file)).href);
const { createConnection } = await load('http2/connection.js');
const { bindSocket } = await load('http2/socket.js');
const { defaultHttp2Settings } = await load('http2/types.js');
const { createTurn } = await load('runtime/turn.js');
const { createNodeAlarms } = await load('runtime/alarms.js');
const { nodeClock } = await load('runtime/clock.js');

/** @param {string} name @param {string} value */
const field = (name, value) => ({ name, value, neverIndexed: false });
const request = [
  field(':method', 'POST'),
  field(':scheme', 'http'),
  field(':path', '/bench.Echo/Unary'),
  field(':authority', `127.0.0.1:${port}`),
  field('content-type', 'application/grpc'),
  field('te', 'trailers'),
  field('user-agent', 'bench/1'),
];
const body = message(100);
const histogram = hdr.build({
  lowestDiscernibleValue: 1,
  highestTrackableValue: 60_000_000,
  numberOfSignificantValueDigits: 3,
});

let calls = 0;
let failed = 0;
let open = 0;
/** One write a connection for what one batch of events has to say. */
const turn = createTurn((/** @type {() => void} */ drain) => queueMicrotask(drain));
const alarms = createNodeAlarms();

/** One call; the engine's stream events are methods of it. */
class Call {
  /** @param {number} due @param {boolean} counted @param {import('../src/http2/types.js').Http2Connection} connection */
  constructor(due, counted, connection) {
    this.due = due;
    this.counted = counted;
    this.connection = connection;
    this.status = '';
  }
  onHeaders(_stream, fields, endStream) {
    if (endStream) this.#over(fields);
  }
  onData(stream, _chunk, start, end) {
    this.connection.consume(stream, end - start);
  }
  onTrailers(_stream, fields) {
    this.#over(fields);
  }
  onWritable() {}
  onEnd() {
    this.#over([]);
  }
  /** @param {readonly import('../src/http2/types.js').HeaderField[]} fields */
  #over(fields) {
    open -= 1;
    if (!this.counted) return;
    if (fields.some(({ name, value }) => name === 'grpc-status' && value === '0')) {
      calls += 1;
      histogram.recordValue(Math.max(1, Math.round((performance.now() - this.due) * 1000)));
    } else failed += 1;
  }
}

/** @param {string} detail */
function giveUp(detail) {
  process.stderr.write(`${detail}\n`);
  process.exit(1);
}

/** @returns {Promise<import('../src/http2/types.js').Http2Connection>} */
function connect() {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
  return new Promise((resolve) => {
    socket.on('error', (error) => giveUp(error.message));
    socket.on('connect', () => {
      const binding = bindSocket(socket, {
        create: (/** @type {import('../src/http2/types.js').ConnectionEvents} */ events) =>
          createConnection('client', defaultHttp2Settings, events),
        turn,
        alarms,
        clock: nodeClock,
        events: {
          onRequest() {},
          onSettings: () => resolve(binding.connection),
          onGoaway: () => giveUp('the peer sent GOAWAY'),
          onStreamClosed() {},
          onFailed: (/** @type {number} */ _code, /** @type {string} */ detail) => giveUp(detail),
          onClosed: (/** @type {string} */ detail) => giveUp(detail),
        },
      });
      binding.start();
    });
  });
}

const pool = await Promise.all(Array.from({ length: connections }, connect));
const interval = 1000 / rate;
const total = Math.round(rate * (seconds + warmUp));
const uncounted = Math.round(rate * warmUp);
const begin = performance.now();
let started = 0;
let late = 0;

/** @param {number} due */
function start(due) {
  const connection = pool[started % pool.length];
  const counted = started >= uncounted;
  started += 1;
  const call = connection === undefined ? null : new Call(due, counted, connection);
  const stream = call === null ? null : (connection?.openStream(call) ?? null);
  if (connection === undefined || stream === null) {
    if (counted) failed += 1;
    return;
  }
  open += 1;
  connection.sendHeaders(stream, request, false);
  if (connection.sendData(stream, body, 0, body.length, true) < body.length) giveUp('no window for a whole request');
}

await new Promise((resolve) => {
  // Not by timers, which have steps of a millisecond.
  const step = () => {
    const now = performance.now();
    for (let due = begin + started * interval; due <= now && started < total; due = begin + started * interval) {
      if (started >= uncounted) late = Math.max(late, now - due);
      start(due);
    }
    const over = started === total && (open === 0 || now > begin + (seconds + warmUp) * 1000 + 5000);
    if (over) resolve(undefined);
    else setImmediate(step);
  };
  step();
});
failed += open;
const at = (/** @type {number} */ percent) => histogram.getValueAtPercentile(percent);
process.stdout.write(
  `${JSON.stringify({
    calls,
    failed,
    rate: (total - uncounted) / seconds,
    p50: at(50),
    p99: at(99),
    p999: at(99.9),
    max: histogram.maxValue,
    late: Math.round(late * 1000),
  })}\n`,
);
process.exit(0);
