/**
 * `npm run soak -- --minutes M`: clients of two kinds make calls of every shape through the built program for M minutes while
 * calls are cancelled, clients and backends are killed, the service config changes and attackers attack. Every answer's
 * content is checked. Prints counts and what the memory did, by minute and as slopes: RSS, and what is held after a garbage
 * collection (heap-probe.cjs is preloaded). Exit code 1 where anything is not as it must be.
 */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { attack } from './attackers.mjs';
import { anyCall, deadline, grpcJsSender, http2Sender } from './calls.mjs';
import { bounds, MemoryRecord } from './memory.mjs';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '2' } } });
const minutes = Number(values.minutes);
if (!(minutes > 0)) {
  process.stderr.write('soak: --minutes is a number above 0\n');
  process.exit(2);
}
const until = performance.now() + minutes * 60_000;
const over = () => performance.now() >= until;

const root = fileURLToPath(new URL('../..', import.meta.url));
const dist = path.join(root, 'dist');
const backendFile = path.join(root, 'test/attack/backend.mjs');
const directory = mkdtempSync(path.join(os.tmpdir(), 'hedgerow-soak-'));
const configFile = path.join(directory, 'service-config.json');

/** @type {string[]} */
const problems = [];
/** @type {Map<string, number>} */
const counts = new Map();
const count = (what) => counts.set(what, (counts.get(what) ?? 0) + 1);

// === The parts ===

async function startBackend(port = 0) {
  const child = fork(backendFile, [dist, String(port)]);
  const [{ port: bound }] = await once(child, 'message');
  return { child, port: bound };
}

function writeConfig(maxAttempts) {
  const retryPolicy = {
    maxAttempts,
    initialBackoff: '0.01s',
    maxBackoff: '0.2s',
    backoffMultiplier: 2,
    retryableStatusCodes: ['UNAVAILABLE'],
  };
  const hedgingPolicy = { maxAttempts, hedgingDelay: '0.02s', nonFatalStatusCodes: ['UNAVAILABLE'] };
  const methodConfig = [
    { name: [{}], retryPolicy },
    { name: [{ service: 'soak.Hedged' }], hedgingPolicy },
  ];
  writeFileSync(configFile, JSON.stringify({ methodConfig }));
}

const backends = [await startBackend(), await startBackend(), await startBackend()];
writeConfig(5);
const flags = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--access-log', 'off', '--log-level', 'warn']
  .concat('--service-config', configFile)
  .concat(backends.flatMap(({ port }, i) => ['--backend', `b${i}=127.0.0.1:${port}`]));
const program = spawn(
  process.execPath,
  [
    '--expose-gc',
    '--require',
    path.join(root, 'test/soak/heap-probe.cjs'),
    path.join(dist, 'main.js'),
    'serve',
    ...flags,
  ],
  { cwd: directory, stdio: ['ignore', 'pipe', 'inherit', 'pipe'] },
);
// Whatever ends this process takes them along.
process.on('exit', () => {
  for (const child of [program, ...backends.map((backend) => backend.child)]) child.kill('SIGKILL');
});
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
]) {
  process.once(signal, () => process.exit(code));
}
const exited = once(program, 'exit');
program.once('exit', (code, signal) => {
  if (!finished) problems.push(`the proxy ended: ${code ?? signal}`);
});
let finished = false;
const lines = createInterface({ input: program.stdout });
const ready = await new Promise((resolve) => {
  lines.on('line', (text) => {
    const line = JSON.parse(text);
    if (line.msg === 'ready') resolve(line);
    else if (line.level >= 50) problems.push(`logged: ${text.slice(0, 500)}`);
    else count(`log: ${String(line.event ?? line.msg).slice(0, 60)}`);
  });
});
const port = Number(ready.listen[0].split(':').pop());

// === What goes on ===

/**
 * What was killed when: a backend by its name, a client as itself. A call that began before may have stood on it; retries carry
 * all others, to the two backends that are well.
 */
const killed = new Map();
const kill = (what) => killed.set(what, performance.now());
const killedSince = (what, begun) => (killed.get(what) ?? Number.NEGATIVE_INFINITY) >= begun;

/**
 * Why a call of a killed backend may fail all the same: response headers had come from it, or more of the request had gone to it
 * than is kept for another attempt.
 */
const bound = ({ reason, committed }, shape) =>
  reason === 'backend_lost'
    ? committed || shape === 'large unary'
    : reason === 'buffer_exceeded' && shape === 'large unary';
/**
 * The most of all calls that may fail so. A backend is killed each 4.5 s, in which 15 workers make 600 to 900 calls: it has a third
 * of those that are open, and one to three of them have such an answer or such a length. That is 0.2 to 0.4 %.
 */
const mostFailed = 0.01;

const calls = { made: 0, lost: 0 };

async function work(sender) {
  while (!over()) {
    const begun = performance.now();
    const late = delay(deadline + 10_000, 'late');
    const result = await Promise.race([anyCall(sender.send), late]);
    if (result === 'late') {
      problems.push('a call did not end 10 s after its deadline');
      return;
    }
    judge(result, begun, sender);
    await delay(Math.random() * 20);
  }
}

function judge({ shape, cancelled, code, words, told, wrong }, begun, sender) {
  calls.made += 1;
  if (wrong) problems.push(`${shape}: wrong content, with code ${code}`);
  if (code === 0) count(`${shape}: OK`);
  else if (cancelled && code === 1) count(`${shape}: cancelled`);
  else if (code === 14 && told === null && killedSince(sender, begun)) count(`${shape}: its client was killed`);
  else if (code === 14 && told !== null && bound(told, shape) && killedSince(told.backend, begun)) {
    calls.lost += 1;
    count(`${shape}: its backend was killed, ${told.reason}`);
  } else
    problems.push(
      `${shape}: code ${code}: ${words} (${told?.reason ?? 'no reason'}, ${told?.backend ?? 'no backend'})`,
    );
}

async function killBackends() {
  for (let n = 0; !over(); n += 1) {
    await delay(4000);
    const i = n % backends.length;
    // The system closes its sockets some time after the signal, and before it tells of the end.
    killed.set(`b${i}`, Number.POSITIVE_INFINITY);
    const gone = once(backends[i].child, 'exit');
    backends[i].child.kill('SIGKILL');
    await gone;
    kill(`b${i}`);
    await delay(500);
    backends[i] = await startBackend(backends[i].port);
    count('backends killed');
  }
}

async function killClients(senders) {
  while (!over()) {
    await delay(3000 + Math.random() * 3000);
    const sender = senders[Math.floor(Math.random() * senders.length)];
    kill(sender);
    sender.kill();
    count('clients killed');
  }
}

async function changeConfig() {
  for (let n = 0; !over(); n += 1) {
    await delay(7000);
    writeConfig(4 + (n % 2));
    count('config changes');
  }
}

async function attackers() {
  const turns = async () => (await fetch(`http://${ready.admin}/healthz`)).text();
  for (let n = 0; !over(); n += 1) {
    await delay(2000);
    const { name, ended, problem } = await attack(port, n, turns);
    if (problem === null) count(`attackers ${ended}: ${name}`);
    else problems.push(problem);
  }
}

const memory = new MemoryRecord();
createInterface({ input: program.stdio[3] }).on('line', (line) => memory.take(line));
async function watch() {
  while (!over()) {
    await delay(1000);
    memory.look(program.pid);
  }
}

const killable = [http2Sender(port), http2Sender(port)];
const senders = [grpcJsSender(port), grpcJsSender(port), http2Sender(port), ...killable];
const workers = senders.flatMap((sender) => [work(sender), work(sender), work(sender)]);
try {
  await Promise.all([...workers, killBackends(), killClients(killable), changeConfig(), attackers(), watch()]);
} catch (error) {
  problems.push(String(error));
}

// === The end: nothing is left, and it goes in peace ===

for (const { close } of senders) close();
await delay(2000);
const state = await (await fetch(`http://${ready.admin}/backends`)).json();
for (const { name, in_flight: left } of state.backends) if (left !== 0) problems.push(`${name}: ${left} calls left`);
finished = true;
program.kill('SIGTERM');
const [code] = await Promise.race([exited, delay(10_000, ['no exit within 10 s'])]);
if (code !== 0) problems.push(`the end of the proxy: ${code}`);
program.kill('SIGKILL');
for (const { child } of backends) child.kill('SIGKILL');
rmSync(directory, { recursive: true, force: true });

const slopes = memory.slopes();
// A shorter run's slope is mostly that of a heap that finds its size.
if (minutes >= 5) {
  for (const [what, bound] of Object.entries(bounds)) {
    const grown = slopes[what];
    if (grown > bound) problems.push(`memory, ${what}: grows by ${grown.toFixed(2)} MiB a minute; at most ${bound}`);
  }
}
const share = calls.lost / calls.made;
if (share > mostFailed) {
  problems.push(`${calls.lost} of ${calls.made} calls ended with a killed backend; at most ${100 * mostFailed} %`);
}
for (const [what, times] of [...counts].toSorted()) process.stdout.write(`${String(times).padStart(8)}  ${what}\n`);
process.stdout.write(
  `${calls.lost} of ${calls.made} calls, ${(100 * share).toFixed(2)} %, ended with a killed backend (at most ${100 * mostFailed} %)\n`,
);
for (const line of memory.byMinute()) process.stdout.write(`${line}\n`);
process.stdout.write(
  `second half: RSS ${slopes.rss.toFixed(2)} MiB a minute (at most ${bounds.rss}), held ${slopes.held.toFixed(2)} (at most ${bounds.held})\n`,
);
for (const problem of problems.slice(0, 20)) process.stdout.write(`problem: ${problem}\n`);
process.stdout.write(`${problems.length} problems\n`);
process.exit(problems.length === 0 ? 0 : 1);
