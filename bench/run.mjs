/**
 * `npm run bench`: CPU per call, calls/s and latency of hedgerow and of what one could run instead, in one run, on one machine,
 * behind the same client and in front of the same backend. Rounds are interleaved, figures are medians.
 *
 *   --rounds N (5)  --seconds S (3, a round)  --peers a,b,…  --smoke (short, only proves that it runs)  --write (bench/RESULTS.md)
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { contenders } from './contenders.mjs';
import { message } from './wire.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    peers: { type: 'string' },
    smoke: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
const rounds = Number(options.rounds ?? (options.smoke ? 1 : 5));
const seconds = Number(options.seconds ?? (options.smoke ? 1 : 3));
const connections = 4;
const streams = 25;
/** Clock ticks a second in /proc/PID/stat: 100 on every Linux that Node runs on. */
const tick = 100;

/** @type {Set<import('node:child_process').ChildProcess>} */
const children = new Set();
const dir = mkdtempSync(path.join(os.tmpdir(), 'hedgerow-bench-'));

function cleanUp() {
  for (const child of children) child.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
}
process.on('exit', cleanUp);
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => process.exit(130));

/** @param {string} command @param {string[]} args */
function launch(command, args) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  let said = '';
  child.stderr.on('data', (chunk) => {
    said = (said + chunk).slice(-2000);
  });
  child.on('exit', () => children.delete(child));
  return { child, said: () => said };
}

/**
 * The port a child prints, alone on a line or in hedgerow's ready line.
 * @param {{ child: import('node:child_process').ChildProcess, said: () => string }} launched
 * @returns {Promise<number>}
 */
function portFrom({ child, said }) {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk) => {
      text += chunk;
      for (const line of text.split('\n').slice(0, -1)) {
        if (/^\d+$/.test(line)) resolve(Number(line));
        if (line.startsWith('{') && JSON.parse(line).msg === 'ready')
          resolve(Number(JSON.parse(line).listen[0].split(':').at(-1)));
      }
    });
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`exited with ${code}: ${said()}${text}`)));
  });
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = /** @type {net.AddressInfo} */ (server.address());
      server.close(() => resolve(port));
    });
  });
}

/** One real call, its answer read whole: a proxy that answers wrongly is not measured. @param {number} port */
async function probe(port) {
  for (let left = 100; ; left -= 1) {
    try {
      const status = await call(port);
      if (status !== '0') throw new Error(`grpc-status ${status}`);
      return;
    } catch (error) {
      // It may still be starting: an event that says so exists for some peers only.
      if (left === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** @param {number} port @returns {Promise<string>} */
function call(port) {
  return new Promise((resolve, reject) => {
    const session = http2.connect(`http://127.0.0.1:${port}`);
    session.on('error', reject);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/bench.Echo/Unary',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let bytes = 0;
    let status = 'missing';
    stream.on('response', (headers) => {
      if (headers['grpc-status'] !== undefined) status = String(headers['grpc-status']);
    });
    stream.on('trailers', (fields) => {
      status = String(fields['grpc-status']);
    });
    stream.on('data', (chunk) => {
      bytes += chunk.length;
    });
    stream.on('error', reject);
    stream.on('close', () => {
      session.destroy();
      if (bytes === 105) resolve(status);
      else reject(new Error(`answered ${bytes} bytes for 105, grpc-status ${status}`));
    });
    stream.end(message(100));
  });
}

/** CPU seconds that a process has used, all threads, by the kernel's account. @param {number} pid */
function cpuOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / tick;
}

/**
 * @param {number} port @param {number} conns @param {number} perConnection @param {number} pid
 * @returns {Promise<{ cpu: number, rate: number, mean: number, p50: number, p99: number, failed: number }>}
 */
function load(port, conns, perConnection, pid) {
  const args = [path.join(here, 'load.mjs'), port, conns, perConnection, seconds].map(String);
  const { child, said } = launch(process.execPath, args);
  return new Promise((resolve, reject) => {
    let before = 0;
    let after = 0;
    let text = '';
    child.stdout?.on('data', (chunk) => {
      text += chunk;
      if (before === 0 && text.includes('measuring\n')) before = cpuOf(pid);
      if (after === 0 && text.includes('measured\n')) after = cpuOf(pid);
    });
    child.on('exit', (code) => {
      if (code !== 0) {
        reject(new Error(`the load generator exited with ${code}: ${said()}`));
        return;
      }
      const result = JSON.parse(text.trim().split('\n').at(-1) ?? '{}');
      const cpu = ((after - before) * 1e6) / result.calls;
      resolve({
        cpu,
        rate: result.calls / result.seconds,
        mean: result.mean,
        p50: result.p50,
        p99: result.p99,
        failed: result.failed,
      });
    });
  });
}

/** The share of calls/s that h2load, an unrelated client, measures: a check on the generator. @param {number} port */
function h2load(port) {
  const body = path.join(dir, 'request');
  writeFileSync(body, message(100));
  const flags = [
    '-c',
    String(connections),
    '-m',
    String(streams),
    '-t',
    '1',
    '-D',
    String(seconds),
    '--warm-up-time',
    '1',
  ];
  const headers = ['-H', 'content-type: application/grpc', '-H', 'te: trailers'];
  const out = execFileSync('h2load', [...flags, ...headers, '-d', body, `http://127.0.0.1:${port}/bench.Echo/Unary`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return Number(/finished in [\d.]+\w+, ([\d.]+) req\/s/.exec(out)?.[1]);
}

/** @param {number[]} numbers */
function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function installedH2load() {
  try {
    return execFileSync('h2load', ['--version'], { encoding: 'utf8' }).trim();
  } catch {
    return null;
  }
}

async function main() {
  const wanted = options.peers?.split(',').map((name) => name.trim().toLowerCase());
  const all = contenders().filter(({ name }) => wanted === undefined || wanted.includes(name.toLowerCase()));
  const present = all
    .filter(({ version }) => version !== null)
    .filter((one) => !options.smoke || !['HAProxy', 'nginx', 'Envoy'].includes(one.name));
  const h2loadVersion = options.smoke ? null : installedH2load();
  const cpu = os.cpus();
  const lines = [];
  const say = (/** @type {string} */ line) => {
    lines.push(line);
    process.stdout.write(`${line}\n`);
  };
  say(
    `Machine: ${cpu[0]?.model.trim() ?? 'unknown'}, ${cpu.length} cores; ${os.type()} ${os.release()}; Node ${process.versions.node}.`,
  );
  say(
    `Load: 100-byte unary calls over ${connections} connections × ${streams} streams, and one call at a time; ${rounds} interleaved rounds of ${seconds} s each, medians.`,
  );
  for (const { name, version, missing } of all) if (version === null) say(`Not run: ${name}: ${missing}.`);
  say('');

  const backend = await portFrom(launch(process.execPath, [path.join(here, 'backend.mjs')]));
  const running = [];
  for (const one of present) {
    const spec = one.start({ port: await freePort(), backend, dir });
    const launched = launch(spec.command, spec.args);
    const port = typeof spec.port === 'number' ? spec.port : await portFrom(launched);
    launched.child.stdout?.resume();
    await probe(port).catch((error) => {
      throw new Error(`${one.name} on port ${port}: ${error.message}; it said: ${launched.said()}`);
    });
    running.push({ one, port, pid: launched.child.pid ?? 0, busy: [], single: [], foreign: [] });
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const peer of running) {
      peer.busy.push(await load(peer.port, connections, streams, peer.pid));
      peer.single.push(await load(peer.port, 1, 1, peer.pid));
      if (h2loadVersion !== null) peer.foreign.push(h2load(peer.port));
    }
  }

  const rows = running.map(({ one, busy, single, foreign }) => ({
    name: one.name,
    version: one.version,
    cpu: median(busy.map((r) => r.cpu)),
    rate: median(busy.map((r) => r.rate)),
    p99: median(busy.map((r) => r.p99)),
    mean: median(single.map((r) => r.mean)),
    singleP99: median(single.map((r) => r.p99)),
    foreign: foreign.length === 0 ? null : median(foreign),
    failed: busy.reduce((sum, r) => sum + r.failed, 0),
  }));
  const ours = rows.find(({ name }) => name === 'hedgerow');
  say(
    '| proxy | version | CPU µs/call | hedgerow’s CPU ÷ its | calls/s | p99 under load, µs | one at a time: mean µs | p99 µs | calls/s by h2load | failed |',
  );
  say('|---|---|---|---|---|---|---|---|---|---|');
  for (const row of rows) {
    const ratio = ours === undefined ? '' : (ours.cpu / row.cpu).toFixed(2);
    const foreign = row.foreign === null ? '' : Math.round(row.foreign);
    say(
      `| ${row.name} | ${row.version} | ${row.cpu.toFixed(1)} | ${ratio} | ${Math.round(row.rate)} | ${row.p99} | ${row.mean} | ${row.singleP99} | ${foreign} | ${row.failed} |`,
    );
  }
  if (h2loadVersion !== null)
    say(`\nThe last but one column is ${h2loadVersion} on the same ports, a check on our own generator.`);
  for (const row of rows) {
    if (!Number.isFinite(row.cpu) || !Number.isFinite(row.rate) || !Number.isFinite(row.mean))
      throw new Error(`${row.name}: no figures`);
  }
  if (options.write)
    writeFileSync(
      path.join(here, 'RESULTS.md'),
      `# Results\n\nWritten by \`npm run bench -- --write\`.\n\n${lines.join('\n')}\n`,
    );
}

main().then(
  () => process.exit(0),
  (error) => {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : error}\n`);
    process.exit(1);
  },
);
