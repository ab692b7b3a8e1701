/** Backends and proxies of a row, and what is measured on them. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseLog, parseSummary } from '../figures/h2load-output.mjs';
import { quantile } from '../figures/statistics.mjs';
import { message } from '../wire.mjs';
import { cpuOf, h2loadVersion } from './accounts.mjs';
import { armed } from './contender.mjs';
import { probe } from './probe.mjs';
import { freePort, Process, portsIn, scratch } from './processes.mjs';

const bench = fileURLToPath(new URL('..', import.meta.url));
const certificates = path.join(bench, '../test/support/tls');

/** @typedef {{ process: Process, ports: readonly number[] }} Backend */
/** @typedef {{ name: string, ours: boolean, port: number, process: Process, tls: boolean, readyAfter: number }} Running
 *   `readyAfter`: ms from its spawn until it printed its port; NaN where it prints none */
/** @typedef {{ connections: number, streams: number, seconds: number, calls?: number }} Load
 *   with `calls` so many, however long they take; `seconds` 0: a few */
/** @typedef {{ calls: number, failed: number, rate: number, mean: number, cpu: number, busy: number }} Round
 *   calls/s, mean latency in µs, CPU µs per call, CPU seconds per second */

/** For rounds whose clients and backends speak TLS, the files of the tests. @returns {import('./contender.mjs').Tls} */
export function tlsFiles() {
  const [cert, key, ca] = ['server.crt', 'server.key', 'ca.crt'].map((name) => path.join(certificates, name));
  const pem = path.join(scratch, 'server.pem');
  writeFileSync(pem, readFileSync(cert, 'utf8') + readFileSync(key, 'utf8'));
  return { cert, key, ca, pem };
}

/** @param {string[]} args of bench/backend.mjs @returns {Promise<Backend>} */
export async function startBackend(args = []) {
  const started = new Process(process.execPath, [path.join(bench, 'backend.mjs'), ...args], 'others');
  return { process: started, ports: await started.line(portsIn, "the backend's port") };
}

/**
 * Starts a proxy and sends a call through it.
 * @param {import('./contender.mjs').Contender} contender @param {readonly number[]} backends
 * @param {Partial<import('./contender.mjs').Setting> & { answerBytes?: number }} changes
 * @returns {Promise<Running>}
 */
export async function startProxy(contender, backends, changes = {}) {
  const dir = mkdtempSync(path.join(scratch, 'proxy-'));
  const plain = {
    port: await freePort(),
    backends,
    dir,
    tls: null,
    streaming: false,
    serviceConfig: armed,
    flags: [],
    node: [],
  };
  const setting = { ...plain, ...changes };
  const { command, args, port } = contender.start(setting);
  const started = new Process(command, args, 'proxy');
  const tls = setting.tls !== null;
  try {
    const [at = 0] = port === null ? await started.line(portsIn, 'its port') : [port];
    const readyAfter = port === null ? performance.now() - started.begun : Number.NaN;
    await probe({ port: at, tls, answerBytes: changes.answerBytes ?? 100 });
    return { name: contender.name, ours: contender.ours, port: at, process: started, tls, readyAfter };
  } catch (error) {
    await started.end().catch(() => {});
    throw new Error(`${error instanceof Error ? error.message : error} ${started.said}`.trim());
  }
}

/** @param {Running} proxy */
function target({ port, tls }) {
  return `${tls ? 'https' : 'http'}://127.0.0.1:${port}/bench.Echo/Unary`;
}

/** A file with one message. @param {number} bytes */
function messageFile(bytes) {
  const file = path.join(scratch, `message-${bytes}`);
  writeFileSync(file, message(bytes));
  return file;
}

/** @param {Running} proxy @param {string[]} load how much @param {number} bytes of a request's message */
function h2load(proxy, load, bytes) {
  const headers = ['-H', 'content-type: application/grpc', '-H', 'te: trailers'];
  const args = ['-t', '1', ...load, ...headers, '-d', messageFile(bytes), target(proxy)];
  return new Process('h2load', args, 'others');
}

/** CPU seconds so far. Throws where it has ended. @param {Running} proxy */
function cpuUsed({ name, process }) {
  if (process.exitCode !== null)
    throw new Error(`${name} has ended with code ${process.exitCode}; its last words: ${process.said || 'none'}`);
  return cpuOf(process.pid);
}

/**
 * One round: as many calls as go through, by h2load where it is installed and `headers` are the same in each call. Rejects
 * where none does.
 * @param {Running} proxy @param {Load} load @param {{ headers?: string, bytes?: number }} what
 * @returns {Promise<Round>}
 */
export async function closedLoop(
  proxy,
  { connections, streams, seconds, calls: given },
  { headers = 'same', bytes = 100 } = {},
) {
  const before = cpuUsed(proxy);
  const begin = performance.now();
  const patience = seconds * 1000 + 30_000;
  const exactly = given ?? (seconds === 0 ? 2 * connections * streams : null);
  let result;
  if (h2loadVersion !== null && headers === 'same') {
    const load = ['-c', String(connections), '-m', String(streams)];
    const length = exactly !== null ? ['-n', String(exactly)] : ['-D', `${Math.round(seconds * 1000)}ms`];
    result = parseSummary(await h2load(proxy, [...load, ...length], bytes).output(patience));
  } else {
    const numbers = [proxy.port, connections, streams, exactly === null ? seconds : seconds + 20].map(String);
    const length = exactly === null ? [] : ['--calls', String(exactly)];
    const flags = ['--headers', headers, '--bytes', String(bytes), ...length, ...(proxy.tls ? ['--tls'] : [])];
    const load = new Process(process.execPath, [path.join(bench, 'load.mjs'), ...numbers, ...flags], 'others');
    const { seconds: elapsed, ...rest } = JSON.parse(await load.output(patience));
    result = { ...rest, rate: rest.calls / elapsed };
  }
  const cpu = cpuUsed(proxy) - before;
  const { calls, failed, rate, mean } = result;
  if (calls === 0)
    throw new Error(`${proxy.name}: no call went through, ${failed} failed; it said: ${proxy.process.said}`);
  return { calls, failed, rate, mean, cpu: (cpu * 1e6) / calls, busy: (cpu * 1000) / (performance.now() - begin) };
}

/**
 * Open loop by our own generator: latencies in µs from when each call was due.
 * @param {number} port @param {number} rate calls/s @param {number} seconds
 * @returns {Promise<{ calls: number, failed: number, p50: number, p99: number, p999: number, max: number, late: number }>}
 */
export async function openLoop(port, rate, seconds, connections = 4, warmUp = 0.5) {
  const numbers = [port, connections, rate, seconds, warmUp].map(String);
  const load = new Process(process.execPath, [path.join(bench, 'open-loop.mjs'), ...numbers], 'others');
  return JSON.parse(await load.output((seconds + warmUp) * 1000 + 20_000));
}

/**
 * The same by h2load: latencies from when each call was sent.
 * @param {Running} proxy @param {number} rate @param {number} seconds
 */
export async function openLoopByH2load(proxy, rate, seconds, connections = 4, warmUp = 0.5) {
  const log = path.join(scratch, 'h2load.log');
  // It appends.
  writeFileSync(log, '');
  const calls = Math.round((rate * (seconds + warmUp)) / connections) * connections;
  const load = ['-c', String(connections), '-m', '1000', '-n', String(calls), '--rps', String(rate / connections)];
  await h2load(proxy, [...load, '--log-file', log], 100).output((seconds + warmUp) * 1000 + 20_000);
  const { latencies, failed } = parseLog(readFileSync(log, 'utf8'), warmUp * 1e6);
  return { calls: latencies.length, failed, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
}

/**
 * A round that is not counted, so that what is compiled as it runs has been; on a busy machine it may see no call through.
 * @param {Running} proxy @param {Load} load @param {{ headers?: string, bytes?: number }} what
 * @returns {Promise<Round | null>}
 */
export async function warmUp(proxy, load, what = {}) {
  try {
    return await closedLoop(proxy, load, what);
  } catch (error) {
    if (proxy.process.exitCode !== null) throw error;
    return null;
  }
}

/** Until what was started a moment ago has had its time on the processor. @param {number} ms */
export function settle(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
