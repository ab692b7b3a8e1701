/**
 * Where the backends of the chaos live, and how one is cut off. In network namespaces, each at the far end of a cable of its own,
 * which is cut by taking the far end down: nothing is told to either side. Elsewhere behind a relay that passes nothing.
 */
import { fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const backendFile = path.join(here, 'backend.mjs');
const prefix = 'hgchaos';

function ip(...args) {
  const { status, stderr } = spawnSync('ip', args, { encoding: 'utf8' });
  return { ok: status === 0, stderr };
}

function must(...args) {
  const { ok, stderr } = ip(...args);
  if (!ok) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
}

/** Namespaces that a run left behind which was killed. */
function sweep() {
  const { stdout } = spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' });
  for (const name of (stdout ?? '').split('\n').map((line) => line.split(' ')[0] ?? '')) {
    const pid = new RegExp(`^${prefix}-(\\d+)-\\d+$`).exec(name)?.[1];
    if (pid !== undefined && !lives(Number(pid))) ip('netns', 'del', name);
  }
}

function lives(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/**
 * @typedef {object} Home where one backend lives
 * @property {string} target for `--backend`
 * @property {string} other another address of the same backend
 * @property {(name: string, file: string) => import('node:child_process').ChildProcess} start
 * @property {(cut: boolean) => void} cut
 * @property {() => void} remove
 */

/** @param {number} nth @returns {Home} throws where the machine has no namespaces for us */
function namespaceHome(nth) {
  const space = `${prefix}-${process.pid}-${nth}`;
  const near = `hgc${process.pid}n${nth}`.slice(0, 15);
  const far = `hgc${process.pid}f${nth}`.slice(0, 15);
  // A network of four addresses a run and backend, in a range that nobody is likely to use.
  const base = `10.213.${process.pid % 250}`;
  const [nearAddress, address] = [`${base}.${4 * nth + 1}`, `${base}.${4 * nth + 2}`];
  const remove = () => {
    ip('netns', 'del', space);
  };
  must('netns', 'add', space);
  try {
    must('link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', space);
    must('addr', 'add', `${nearAddress}/30`, 'dev', near);
    must('link', 'set', near, 'up');
    must('-n', space, 'addr', 'add', `${address}/30`, 'dev', far);
    must('-n', space, 'link', 'set', far, 'up');
  } catch (error) {
    remove();
    throw error;
  }
  return {
    target: `${address}:50051`,
    other: `${address}:50052`,
    start: (name, file) =>
      spawn('ip', ['netns', 'exec', space, process.execPath, backendFile, name, address, '50051,50052', file], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      }),
    cut: (cut) => must('-n', space, 'link', 'set', far, cut ? 'down' : 'up'),
    remove,
  };
}

/** @returns {Promise<Home>} */
async function relayHome() {
  const probe = net.createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  const relay = fork(path.join(here, 'relay.mjs'), [String(port)]);
  const [{ ports }] = await once(relay, 'message');
  const [target, other] = ports.map((door) => `127.0.0.1:${door}`);
  return {
    target,
    other,
    start: (name, file) => fork(backendFile, [name, '127.0.0.1', String(port), file]),
    cut: (cut) => relay.send({ cut }),
    remove: () => relay.kill('SIGKILL'),
  };
}

/**
 * @param {number} count
 * @param {'auto' | 'namespaces' | 'relay'} kind
 * @returns {Promise<{ kind: string, homes: Home[] }>}
 */
export async function makeHomes(count, kind) {
  const homes = [];
  if (kind !== 'relay') {
    try {
      sweep();
      for (let nth = 0; nth < count; nth += 1) homes.push(namespaceHome(nth));
      return { kind: 'namespaces', homes };
    } catch (error) {
      for (const home of homes.splice(0)) home.remove();
      if (kind === 'namespaces') throw error;
    }
  }
  for (let nth = 0; nth < count; nth += 1) homes.push(await relayHome());
  return { kind: 'relay', homes };
}
