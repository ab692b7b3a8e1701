/**
 * An honest client, on node:http2, in a process of its own: `node honest.mjs retry|hedge YARDSTICK small|large [CA]`, which begins when a
 * message tells it the port; with a CA it speaks TLS. With `large` every 40th call has an answer of 1 MiB besides. Calls begin at fixed times, not when the ones before are over, and a latency counts from the time that its call was due: a proxy that stands still cannot hide it.
 * With `retry` every second call meets a backend that fails at first, and must be answered by a retry. For every two calls one
 * goes to a backend at the port YARDSTICK, which no attack reaches: what it takes is the machine's doing. Asked by a message, it reports what
 * happened since the one before.
 */
import { readFileSync } from 'node:fs';
import http2 from 'node:http2';

const [policy, yardstick, answers, ca] = process.argv.slice(2);
const perSecond = 400;
/** A report is of so many calls at least: on a machine that is very busy it is late for them. */
const fewest = 50;
let sessions = [];

function connect(port) {
  const session =
    ca === undefined
      ? http2.connect(`http://127.0.0.1:${port}`)
      : http2.connect(`https://127.0.0.1:${port}`, { ca: readFileSync(ca) });
  session.on('error', (error) => fail(`a session: ${error.message}`));
  session.on('goaway', (code) => fail(`GOAWAY ${code}`));
  return session;
}

const direct = http2.connect(`http://127.0.0.1:${yardstick}`);

let latencies = [];
let directLatencies = [];
let largeLatencies = [];
const largeBytes = 5 + 1024 * 1024;
let failures = [];
let open = 0;

function fail(words) {
  failures.push(words);
}

function call(n, due, toYardstick) {
  const flaky = !toYardstick && policy === 'retry' && n % 2 === 1;
  const body = Buffer.alloc(5 + 100, n & 0xff);
  body.writeUInt8(0, 0);
  body.writeUInt32BE(100, 1);
  const session = toYardstick ? direct : sessions[(n >> 1) % sessions.length];
  const stream = session.request({
    ':method': 'POST',
    ':path': flaky ? '/attack/Flaky' : '/attack/Echo',
    'content-type': 'application/grpc',
    te: 'trailers',
    'grpc-timeout': '5S',
  });
  open += 1;
  let last = {};
  const parts = [];
  stream.on('response', (headers) => {
    last = headers;
  });
  stream.on('data', (part) => parts.push(part));
  stream.on('trailers', (headers) => {
    last = headers;
  });
  stream.on('error', () => {});
  stream.on('close', () => {
    open -= 1;
    (toYardstick ? directLatencies : latencies).push(performance.now() - due);
    const status = last['grpc-status'];
    if (status !== '0') fail(`${status ?? `reset ${stream.rstCode}`}: ${last['grpc-message'] ?? 'no message'}`);
    else if (!Buffer.concat(parts).equals(body)) fail('other content than was sent');
    else if (flaky && last['hedgerow-retries'] !== '1') fail('not retried');
  });
  stream.end(body);
}

/** A call whose answer is as long as four stream windows. */
function callLarge(n, due) {
  const stream = sessions[n % sessions.length].request({
    ':method': 'POST',
    ':path': '/attack/Large',
    'content-type': 'application/grpc',
    te: 'trailers',
    'grpc-timeout': '5S',
  });
  open += 1;
  let last = {};
  let bytes = 0;
  stream.on('response', (headers) => {
    last = headers;
  });
  stream.on('data', (part) => {
    bytes += part.length;
  });
  stream.on('trailers', (headers) => {
    last = headers;
  });
  stream.on('error', () => {});
  stream.on('close', () => {
    open -= 1;
    largeLatencies.push(performance.now() - due);
    const status = last['grpc-status'];
    if (status !== '0')
      fail(`a large answer, ${status ?? `reset ${stream.rstCode}`}: ${last['grpc-message'] ?? 'no message'}`);
    else if (bytes !== largeBytes) fail(`a large answer of ${bytes} bytes`);
  });
  stream.end();
}

/** @type {NodeJS.Timeout | undefined} */
let timer;

function begin(port) {
  sessions = [0, 1].map(() => connect(port));
  let made = 0;
  const begun = performance.now();
  timer = setInterval(() => {
    for (; ; made += 1) {
      const due = begun + (made * 1000) / perSecond;
      if (due > performance.now()) return;
      call(made, due, false);
      if (made % 2 === 0) call(made, due, true);
      if (answers === 'large' && made % 40 === 0) callLarge(made / 40, due);
    }
  }, 2);
}

function report() {
  const [p99, machine, largeP99] = [latencies, directLatencies, largeLatencies].map((list) => {
    const sorted = list.toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length * 0.99)] ?? 0;
  });
  const [calls, failed] = [latencies.length, failures.length];
  process.send({
    calls,
    failed,
    words: failures.slice(0, 3),
    p99,
    yardstick: machine,
    large: largeLatencies.length,
    largeP99,
  });
  latencies = [];
  directLatencies = [];
  largeLatencies = [];
  failures = [];
}

process.on('message', (wanted) => {
  if (typeof wanted === 'number') {
    begin(wanted);
    return;
  }
  if (wanted === 'report') {
    const wait = setInterval(() => {
      if (latencies.length < fewest || (answers === 'large' && largeLatencies.length === 0)) return;
      clearInterval(wait);
      report();
    }, 5);
    return;
  }
  // Stops, and reports once more when nothing is open.
  clearInterval(timer);
  const wait = setInterval(() => {
    if (open > 0) return;
    clearInterval(wait);
    report();
  }, 10);
});
process.on('disconnect', () => process.exit(0));
