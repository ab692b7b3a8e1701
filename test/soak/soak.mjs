/**
 * `npm run soak -- --minutes M`: clients of two kinds make calls of every shape through the built program for M minutes while
 * calls are cancelled, clients and backends are killed, the service config changes and attackers attack. Every answer's
 * content is checked. Prints counts and the slope of the memory; exit code 1 where anything is not as it must be.
 */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { frame, preface, settings, type } from '../../bench/wire.mjs';
import { anyCall, deadline, grpcJsSender, http2Sender } from './calls.mjs';

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
const program = spawn(
  process.execPath,
  [path.join(dist, 'main.js'), 'serve', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--access-log', 'off']
    .concat('--log-level', 'warn', '--service-config', configFile)
    .concat(backends.flatMap(({ port }, i) => ['--backend', `b${i}=127.0.0.1:${port}`])),
  { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] },
);
// Whatever ends this process takes them along.
process.on('exit', () => {
  for (const child of [program, ...backends.map((backend) => backend.child)]) child.kill('SIGKILL');
});
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

/** Since when and until when something was killed that a call may have stood on. */
let killing = { from: Number.NEGATIVE_INFINITY, to: Number.NEGATIVE_INFINITY };

async function work(sender) {
  while (!over()) {
    const begun = performance.now();
    const late = delay(deadline + 10_000, 'late');
    const result = await Promise.race([anyCall(sender.send), late]);
    if (result === 'late') {
      problems.push('a call did not end 10 s after its deadline');
      return;
    }
    judge(result, begun);
    await delay(Math.random() * 20);
  }
}

function judge({ shape, cancelled, code, words, wrong }, begun) {
  if (wrong) problems.push(`${shape}: wrong content, with code ${code}`);
  const excused = killing.to >= begun;
  if (code === 0) count(`${shape}: OK`);
  else if (cancelled && code === 1) count(`${shape}: cancelled`);
  else if (code === 14 && excused) count(`${shape}: UNAVAILABLE, beside a kill`);
  else problems.push(`${shape}: code ${code}: ${words}`);
}

async function killBackends() {
  for (let n = 0; !over(); n += 1) {
    await delay(4000);
    const i = n % backends.length;
    killing = { from: performance.now(), to: Number.POSITIVE_INFINITY };
    backends[i].child.kill('SIGKILL');
    await delay(500);
    backends[i] = await startBackend(backends[i].port);
    killing = { ...killing, to: performance.now() + 2000 };
    count('backends killed');
  }
}

async function killClients(senders) {
  while (!over()) {
    await delay(3000 + Math.random() * 3000);
    killing = { ...killing, to: Math.max(killing.to, performance.now() + 500) };
    senders[Math.floor(Math.random() * senders.length)].kill();
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

const ping = frame(type.ping, 0, 0, Buffer.alloc(8));
/** `:method POST`, `:scheme http`, `:path /` from the static table, and a content type (RFC 7541 A). */
const block = Buffer.concat([Buffer.from([0x83, 0x86, 0x84, 0x0f, 0x10, 16]), Buffer.from('application/grpc')]);
const open = (id) => frame(type.headers, 4, id, block);
const attacks = [
  () => ping,
  () => settings([]),
  (n) => Buffer.concat([open(2 * n + 1), frame(type.reset, 0, 2 * n + 1, Buffer.from([0, 0, 0, 8]))]),
  (n) => frame(n === 0 ? type.headers : type.continuation, 0, 1, block),
  (n) => (n === 0 ? open(1) : frame(type.data, 0, 1, Buffer.alloc(0))),
  (n) => open(2 * n + 1),
];

async function attack() {
  for (let n = 0; !over(); n += 1) {
    await delay(2000);
    const socket = net.connect({ port, host: '127.0.0.1' });
    socket.on('error', () => {});
    socket.resume();
    socket.write(Buffer.concat([preface, settings([])]));
    const one = attacks[n % attacks.length];
    // On a busy machine it is slow to say what it must be sent away for.
    const end = performance.now() + 15_000;
    for (let at = 0; !socket.destroyed && performance.now() < end; at += 100) {
      socket.write(Buffer.concat(Array.from({ length: 100 }, (_, i) => one(at + i))));
      await delay(4);
    }
    if (!socket.destroyed) problems.push(`attack ${n % attacks.length} was not sent away within 15 s`);
    socket.destroy();
    count('attacks sent away');
  }
}

/** @type {[number, number][]} minutes and MiB */
const memory = [];
async function watch() {
  const begun = performance.now();
  while (!over()) {
    await delay(1000);
    const kib = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${program.pid}/status`, 'utf8'))?.[1] ?? 0);
    memory.push([(performance.now() - begun) / 60_000, kib / 1024]);
  }
}

/** Of the least squares line through the second half: the first is warm-up (MiB a minute). */
function slope() {
  const half = memory.slice(memory.length >> 1);
  const mean = (index) => half.reduce((sum, point) => sum + point[index], 0) / half.length;
  const [x, y] = [mean(0), mean(1)];
  const over = half.reduce((sum, [t, m]) => sum + (t - x) * (m - y), 0);
  return over / half.reduce((sum, [t]) => sum + (t - x) ** 2, 0);
}

const killable = [http2Sender(port), http2Sender(port)];
const senders = [grpcJsSender(port), grpcJsSender(port), http2Sender(port), ...killable];
const workers = senders.flatMap((sender) => [work(sender), work(sender), work(sender)]);
try {
  await Promise.all([...workers, killBackends(), killClients(killable), changeConfig(), attack(), watch()]);
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

const grown = slope();
// A shorter run's slope is mostly that of a heap that finds its size.
if (minutes >= 5 && grown > 5) problems.push(`memory grows by ${grown.toFixed(1)} MiB a minute`);
for (const [what, times] of [...counts].toSorted()) process.stdout.write(`${String(times).padStart(8)}  ${what}\n`);
const [first, last] = [memory[0]?.[1] ?? 0, memory.at(-1)?.[1] ?? 0];
const most = Math.max(...memory.map(([, mib]) => mib));
process.stdout.write(
  `memory: ${first.toFixed(0)} MiB at first, ${last.toFixed(0)} at last, ${most.toFixed(0)} at most, ${grown.toFixed(2)} MiB a minute over the second half\n`,
);
for (const problem of problems.slice(0, 20)) process.stdout.write(`problem: ${problem}\n`);
process.stdout.write(`${problems.length} problems\n`);
process.exit(problems.length === 0 ? 0 : 1);
