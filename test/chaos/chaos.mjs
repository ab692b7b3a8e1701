/**
 * `npm run test:chaos -- --minutes M --seed S`: five backends as processes, the built program, clients that make unary and
 * streaming calls under retry, hedging, pins and sessions, while the backends are killed, paused, cut off, made slow, drained,
 * declared lost, taken out of the endpoints file, and registered, moved and withdrawn at random. The last two register
 * themselves, the one before them stands in the file. Afterwards what was seen from outside is held against what the proxy
 * promises; exit code 1 where it did not keep it. The seed is printed first: the same one draws the same faults.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { Admin } from './admin.mjs';
import { ClientConnection, deadline } from './calls.mjs';
import { describeCall, runChecks } from './checks.mjs';
import { drawFaults } from './faults.mjs';
import { makeHomes } from './network.mjs';
import { Registration } from './registrar.mjs';
import { startWork } from './work.mjs';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    network: { type: 'string', default: 'auto' },
    /** So many backends, the last ones, register themselves. */
    registered: { type: 'string', default: '2' },
    /** Takes the evidence, as JSON, and all that the proxy logged. */
    keep: { type: 'string' },
    /** The built program. */
    dist: { type: 'string', default: fileURLToPath(new URL('../../dist', import.meta.url)) },
  },
});
const [minutes, seed, registered] = [values.minutes, values.seed, values.registered].map(Number);
const wrong =
  (!(minutes >= 0.5) && '--minutes is 0.5 or more') ||
  (!Number.isInteger(seed) && '--seed is an integer') ||
  (!['auto', 'namespaces', 'relay'].includes(values.network) && '--network is auto, namespaces or relay') ||
  (!(Number.isInteger(registered) && registered >= 0 && registered < 5) && '--registered is 0 to 4');
if (wrong) {
  process.stderr.write(`chaos: ${wrong}\n`);
  process.exit(2);
}
const { seededRandom } = await import(pathToFileURL(path.resolve(values.dist, 'sim/seeded-random.js')).href);
const say = (text) => process.stdout.write(`${text}\n`);
const random = seededRandom(seed);
const limits = { keepaliveTime: 3000, keepaliveTimeout: 2000, deadline, maxAttempts: 4 };
const directory = mkdtempSync(path.join(os.tmpdir(), 'hedgerow-chaos-'));

// Whatever ends this process takes along what it started.
const children = new Set();
let homes = [];
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const home of homes) home.remove();
  rmSync(directory, { recursive: true, force: true });
});
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
]) {
  process.once(signal, () => process.exit(code));
}

// === The parts ===

const network = await makeHomes(5, values.network);
homes = network.homes;
const names = homes.map((_, i) => `b${i + 1}`);
const fileOf = (name) => path.join(directory, `${name}.executed`);

async function startBackend(i) {
  const child = homes[i].start(names[i], fileOf(names[i]));
  children.add(child);
  child.once('exit', () => children.delete(child));
  await once(child, 'message');
  return child;
}
const backends = await Promise.all(names.map((_, i) => startBackend(i)));

const policy = { maxAttempts: limits.maxAttempts };
const retryPolicy = {
  ...policy,
  initialBackoff: '0.1s',
  maxBackoff: '1s',
  backoffMultiplier: 2,
  retryableStatusCodes: ['UNAVAILABLE'],
};
const hedgingPolicy = { ...policy, hedgingDelay: '0.5s', nonFatalStatusCodes: ['UNAVAILABLE'] };
const configFile = path.join(directory, 'service-config.json');
const methodConfig = [
  { name: [{}], retryPolicy },
  { name: [{ service: 'chaos.Hedged' }], hedgingPolicy },
];
writeFileSync(configFile, JSON.stringify({ methodConfig }));
/** The last one that does not register itself. */
const listed = names.length - registered - 1;
const endpointsFile = path.join(directory, 'endpoints.json');
/** Another file takes its place, as whoever changes it does. @param {boolean} there whether the backend stands in it */
function writeEndpoints(there) {
  const backends = there ? [{ name: names[listed], target: homes[listed].target }] : [];
  writeFileSync(`${endpointsFile}.next`, JSON.stringify({ backends }));
  renameSync(`${endpointsFile}.next`, endpointsFile);
}
writeEndpoints(true);
const seconds = (ms) => `${ms / 1000}s`;
const flags = [
  '--listen',
  '127.0.0.1:0',
  '--admin',
  '127.0.0.1:0',
  '--access-log',
  'off',
  '--service-config',
  configFile,
  '--endpoints',
  endpointsFile,
]
  .concat('--keepalive-time', seconds(limits.keepaliveTime), '--keepalive-timeout', seconds(limits.keepaliveTimeout))
  .concat('--keepalive-max-pings', '0', ...(registered > 0 ? ['--control', '127.0.0.1:0'] : []))
  .concat(names.slice(0, listed).flatMap((name, i) => ['--backend', `${name}=${homes[i].target}`]));
const program = spawn(process.execPath, [path.resolve(values.dist, 'main.js'), 'serve', ...flags], {
  cwd: directory,
  stdio: ['ignore', 'pipe', 'inherit'],
});
children.add(program);
const exited = once(program, 'exit');
/** What must not have happened, whatever the faults. @type {string[]} */
const problems = [];
/** By the proxy. @type {string[]} */
const logged = [];
let finished = false;
program.once('exit', (code, signal) => {
  if (!finished) problems.push(`the proxy ended: ${code ?? signal}`);
});
const ready = await Promise.race([
  new Promise((resolve) => {
    createInterface({ input: program.stdout }).on('line', (text) => {
      logged.push(text);
      const line = JSON.parse(text);
      if (line.msg === 'ready') resolve(line);
      else if (line.level >= 50) problems.push(`logged: ${text.slice(0, 500)}`);
    });
  }),
  exited.then(() => null),
]);
if (ready === null) {
  say('chaos: the proxy did not start');
  process.exit(1);
}
const admin = new Admin(ready.admin);
const features = await admin.features(names[0]);
const registrations = new Map(
  names
    .map((name, i) => [i, name])
    .slice(names.length - registered)
    .map(([i, name]) => [i, new Registration(ready.control, name, homes[i].target)]),
);
await Promise.all([...registrations.values()].map((registration) => registration.register()));
const kinds = ['kill', 'pause', 'cut', 'slow', 'unlist'];
if (registered > 0) kinds.push('leave', 'break', 'return', 'move');
if (features.drain) kinds.push('drain');
if (features.lost) kinds.push('lost');
while (!(await admin.backends()).every(({ state }) => state === 'ready')) await delay(50);
const whole = minutes * 60_000;
const plan = drawFaults(random, whole, names.length, kinds, registered, listed);
say(`seed ${seed}, ${minutes} minutes, ${network.kind}, faults: ${kinds.join(' ')}`);

// === What goes on ===

const begun = Date.now();
const over = () => Date.now() >= begun + whole;
const faults = [];
const looks = [];
const stalls = [];

/** Which are at their other address. */
const moved = names.map(() => false);

/** Begins and ends of each kind; what `begin` gives back goes to `end`. */
const mounts = {
  kill: {
    begin: (i) => backends[i].kill('SIGKILL'),
    end: async (i) => {
      backends[i] = await startBackend(i);
    },
  },
  pause: { begin: (i) => backends[i].kill('SIGSTOP'), end: (i) => backends[i].kill('SIGCONT') },
  cut: { begin: (i) => homes[i].cut(true), end: (i) => homes[i].cut(false) },
  slow: { begin: (i, n) => backends[i].send({ slowness: n }), end: (i) => backends[i].send({ slowness: 0 }) },
  drain: { begin: (i) => admin.post(names[i], 'drain'), end: (i) => admin.post(names[i], 'unpark') },
  lost: { begin: (i) => admin.post(names[i], 'lost'), end: () => {} },
  leave: { begin: (i) => registrations.get(i).leave(), end: (i) => registrations.get(i).register() },
  return: {
    begin: (i) => {
      registrations.get(i).leave();
      return registrations.get(i).register();
    },
    end: () => {},
  },
  move: {
    begin: (i) => {
      const { target, other } = homes[i];
      moved[i] = !moved[i];
      registrations.get(i).leave();
      return registrations.get(i).register(moved[i] ? other : target);
    },
    end: () => {},
  },
  unlist: { begin: () => writeEndpoints(false), end: () => writeEndpoints(true) },
  break: { begin: (i) => registrations.get(i).break(), end: (i) => registrations.get(i).register() },
};

/** Of each backend, when its last fault is over: on a busy machine one may end later than planned. @type {Promise<void>[]} */
const quiet = names.map(() => Promise.resolve());

function mount(fault) {
  quiet[fault.backend] = quiet[fault.backend].then(() => mountNow(fault));
  return quiet[fault.backend];
}

async function mountNow({ at, backend, kind, lasts }) {
  await delay(Math.max(0, begun + at - Date.now()));
  const fault = { backend: names[backend], kind, began: Date.now(), ended: null };
  faults.push(fault);
  await mounts[kind].begin(backend, 200 + Math.round(800 * random()));
  await delay(lasts);
  await mounts[kind].end(backend);
  fault.ended = Date.now();
}

async function watch() {
  for (; !over(); await delay(250)) {
    const rows = await admin.backends();
    const states = rows.map((row) => ({ name: row.name, state: row.state, parkedForMs: row.parked_for_ms ?? null }));
    looks.push({ at: Date.now(), states });
  }
}

const beat = 50;
let last = Date.now();
const pulse = setInterval(() => {
  const now = Date.now();
  if (now - last > 2 * beat) stalls.push({ from: last + beat, to: now });
  last = now;
}, beat);

const connections = Array.from({ length: 4 }, () => new ClientConnection(Number(ready.listen[0].split(':').pop())));
const calls = [];
try {
  await Promise.all([startWork({ connections, names, random, calls, over }), watch(), ...plan.map(mount)]);
} catch (error) {
  // Of a run that was broken off nothing can be said.
  say(
    `chaos: broken off, ${[...problems, error instanceof Error ? error.message : String(error)].join('; ')}; seed ${seed}`,
  );
  process.exit(1);
}
clearInterval(pulse);

// === The end: nothing is left, and it goes in peace ===

const end = Date.now();
for (const connection of connections) {
  problems.push(...connection.broken.map((why) => `a client's connection ended: ${why}`));
  connection.close();
}
for (const registration of registrations.values()) problems.push(...registration.broken);
// Two turns of the proxy's own pass between a client's last frame and its counts.
await delay(1000);
for (const { name, in_flight: left } of await admin.backends())
  if (left !== 0) problems.push(`${name}: ${left} calls left`);
finished = true;
for (const registration of registrations.values()) registration.close();
program.kill('SIGTERM');
const [code] = await Promise.race([exited, delay(10_000, ['no exit within 10 s'])]);
if (code !== 0) problems.push(`the end of the proxy: ${code}; it said last:\n${logged.slice(-20).join('\n')}`);

const executions = names.flatMap((name) =>
  readFileSync(fileOf(name), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({ backend: name, at: Number(line.split(' ')[0]), id: line.split(' ')[1] ?? '' })),
);
const evidence = { calls, faults, executions, looks, stalls, end };
if (values.keep !== undefined) writeFileSync(values.keep, JSON.stringify({ seed, evidence, logged }));
const results = runChecks(evidence, limits);
results.push({ name: 'the proxy lives, logs no error and leaves nothing', checked: 1, failures: problems });

// === The report ===

const stalled = stalls.reduce((sum, { from, to }) => sum + to - from, 0);
say(`${calls.length} calls, ${executions.length} executions, ${looks.length} looks, stalled ${stalled} ms`);
for (const fault of faults) {
  const { backend, kind, began, ended } = fault;
  say(
    `  ${((began - begun) / 1000).toFixed(1).padStart(6)} s  ${backend} ${kind} ${ended === null ? '' : `${ended - began} ms`}`,
  );
}
const outcomes = new Map();
for (const { kind, code: status, reason } of calls) {
  const what = `${kind}: ${status === 0 ? 'OK' : `code ${status}, ${reason}`}`;
  outcomes.set(what, (outcomes.get(what) ?? 0) + 1);
}
for (const [what, times] of [...outcomes].toSorted()) say(`${String(times).padStart(8)}  ${what}`);
for (const { name, checked, failures } of results) {
  say(`${failures.length === 0 ? 'ok  ' : 'FAIL'}  ${name} (${checked} checked, ${failures.length} failed)`);
  for (const failure of failures.slice(0, 10)) say(`        ${failure}`);
}
for (const call of calls) {
  const plain = call.kind === 'unary' || call.kind === 'hedged';
  if (plain && call.code !== 0) say(`plain call failed: ${describeCall(call, begun)}`);
}
const failed = results.filter(({ failures }) => failures.length > 0).length;
say(`${results.length - failed} checks passed, ${failed} failed; seed ${seed}`);
process.exit(failed === 0 ? 0 : 1);
