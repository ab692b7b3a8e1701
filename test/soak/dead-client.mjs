/**
 * `node test/soak/dead-client.mjs [--minutes M]`, as root: clients in a network namespace die without a word, and how long the
 * built program holds their connections is measured. A client's packets are dropped in both directions by taking its address
 * away; nobody is told, and its host answers nothing any more. Prints one line for each case; exit code 1 where a connection
 * was held to the end of the run [20 min].
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '20' } } });
const root = fileURLToPath(new URL('../..', import.meta.url));
const space = `hgdead-${process.pid}`;
const [near, far] = [`hgd${process.pid}n`, `hgd${process.pid}f`];
const base = `10.214.${process.pid % 250}`;
const [host, peer] = [`${base}.1`, `${base}.2`];

function ip(...args) {
  const { status, stderr } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
}

function macOf(...where) {
  const { stdout } = spawnSync('ip', [...where, '-o', 'link', 'show', 'dev', where.length > 0 ? far : near], {
    encoding: 'utf8',
  });
  return /link\/ether ([0-9a-f:]+)/.exec(stdout)?.[1] ?? '';
}

const children = [];
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  spawnSync('ip', ['netns', 'del', space]);
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

ip('netns', 'add', space);
ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', space);
ip('addr', 'add', `${host}/30`, 'dev', near);
ip('link', 'set', near, 'up');
ip('-n', space, 'addr', 'add', `${peer}/30`, 'dev', far);
ip('-n', space, 'link', 'set', far, 'up');
// As behind a router: packets to a host that is gone leave, and no answer comes, not even that it is not there.
ip('neigh', 'replace', peer, 'lladdr', macOf('-n', space), 'dev', near, 'nud', 'permanent');

/** A line of JSON that a child prints. */
async function said(child) {
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`a part ended with ${code}`)));
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended]);
  ended.catch(() => {});
  return JSON.parse(line);
}

function node(source, prefix = []) {
  const [command, ...args] = [...prefix, process.execPath, '--input-type=module', '-e', source];
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], cwd: root });
  children.push(child);
  return child;
}

/** Answers `/t.S/Silent` never, and `/t.S/Stream` with ever more. */
const backend = node(`
import * as grpc from '@grpc/grpc-js';
const same = (bytes) => bytes;
const method = (path) => ({ path, requestStream: false, responseStream: true,
  requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same });
const server = new grpc.Server();
server.addService({ Silent: method('/t.S/Silent'), Stream: method('/t.S/Stream') }, {
  Silent: (call) => call.sendMetadata(new grpc.Metadata()),
  Stream: (call) => { const timer = setInterval(() => call.write(Buffer.alloc(100)), 50); call.on('cancelled', () => clearInterval(timer)); },
});
server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (_, port) => console.log(JSON.stringify({ port })));
`);
const { port: backendPort } = await said(backend);

async function proxy(flags) {
  const args = [
    'serve',
    '--listen',
    `${host}:0`,
    '--admin',
    'off',
    '--backend',
    `b=127.0.0.1:${backendPort}`,
    ...flags,
  ];
  const child = spawn(process.execPath, [path.join(root, 'dist/main.js'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: os.tmpdir(),
  });
  children.push(child);
  return Number((await said(child)).listen[0].split(':').pop());
}

/** @param calls the methods that it has open when it dies; none: it had one call, which ended */
async function client(port, calls) {
  const child = node(
    `
import * as grpc from '@grpc/grpc-js';
// grpc-js holds no process up by itself.
setInterval(() => {}, 1e9);
const same = (bytes) => bytes;
const client = new grpc.Client('${host}:${port}', grpc.credentials.createInsecure(), { 'grpc.enable_http_proxy': 0 });
const calls = ${JSON.stringify(calls)};
await new Promise((resolve) => client.waitForReady(Infinity, resolve));
await Promise.all(calls.map((method) => new Promise((resolve) => {
  const call = client.makeServerStreamRequest(method, same, same, Buffer.alloc(0));
  call.on('metadata', resolve); call.on('data', () => {}); call.on('error', () => {});
})));
console.log(JSON.stringify({}));
`,
    ['ip', 'netns', 'exec', space],
  );
  await said(child);
}

/** Whether the system has a connection of the namespace's on that port. */
function held(port) {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  const own = lines.map((line) => line.trim().split(/\s+/)).filter(([, local = '']) => local.endsWith(`:${hex}`));
  // 01: ESTABLISHED, the only state in which the program still holds it.
  return own.some(([, , , state]) => state === '01');
}

const asking = ['--client-keepalive-time', '10s', '--client-keepalive-timeout', '5s'];
const cases = [
  { name: 'no call, defaults', calls: [], flags: [] },
  { name: 'a silent call, defaults', calls: ['/t.S/Silent'], flags: [] },
  { name: 'an answer under way, defaults', calls: ['/t.S/Stream'], flags: [] },
  { name: 'no call, --client-keepalive-time 10s', calls: [], flags: asking },
  { name: 'an answer under way, --client-keepalive-time 10s', calls: ['/t.S/Stream'], flags: asking },
];
const runs = [];
for (const one of cases) {
  const port = await proxy(one.flags);
  await client(port, one.calls);
  runs.push({ ...one, port, took: null });
}
await delay(1000);
for (const { name, port } of runs) if (!held(port)) throw new Error(`${name}: it is not connected`);
ip('-n', space, 'addr', 'del', `${peer}/30`, 'dev', far);
const begun = performance.now();
const seconds = () => (performance.now() - begun) / 1000;
while (seconds() < Number(values.minutes) * 60 && runs.some(({ took }) => took === null)) {
  await delay(250);
  for (const run of runs) {
    if (run.took !== null || held(run.port)) continue;
    run.took = seconds();
    process.stdout.write(`${run.name}: held for ${run.took.toFixed(1)} s\n`);
  }
}
for (const { name, took } of runs) if (took === null) process.stdout.write(`${name}: still held\n`);
process.exit(runs.some(({ took }) => took === null) ? 1 : 0);
