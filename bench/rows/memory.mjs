/** Memory of what is open and idle; 100 000 open streams. */
import { spread } from '../figures/statistics.mjs';
import { figure, ranged } from '../figures/table.mjs';
import { residentOf } from '../stage/accounts.mjs';
import { Process } from '../stage/processes.mjs';
import { sideBySide } from '../stage/rounds.mjs';
import { picture, verdict } from '../stage/section.mjs';
import { closedLoop, settle, startBackend, warmUp } from '../stage/stage.mjs';

/** @typedef {import('../stage/stage.mjs').Running} Running */

const kibi = 1024;
const probe = new URL('../stage/memory-probe.cjs', import.meta.url).pathname;
const holder = new URL('../hold.mjs', import.meta.url).pathname;
const memoryNode = ['--expose-gc', '--require', probe];

/**
 * So many of each that the steps in which V8 takes memory from the system, of some 15 MiB together, do not show.
 */
const kinds = [
  {
    id: 'connection',
    title: 'idle connection',
    most: 24,
    hope: '12 KiB',
    connections: 6000,
    streams: 0,
    flags: [],
    backend: [],
  },
  {
    id: 'stream',
    title: 'open idle stream',
    most: 3,
    hope: '1.5 KiB',
    connections: 60,
    streams: 1000,
    flags: ['--answered'],
    backend: ['--answer-early'],
  },
  {
    id: 'call',
    title: 'uncommitted 1 KB call',
    most: 4,
    hope: '2 KiB',
    connections: 40,
    streams: 1000,
    flags: ['--bytes', '1000'],
    backend: [],
  },
];

/** After a garbage collection, in bytes. @param {Running} proxy */
async function look(proxy) {
  const { process } = proxy;
  if (!proxy.ours) return { resident: residentOf(process.pid), held: Number.NaN };
  process.forget();
  process.child.kill('SIGUSR2');
  const memory = await process.line(
    (line) => (line.includes('"memory"') ? JSON.parse(line).memory : null),
    'its memory',
  );
  return { resident: memory.rss, held: memory.heapUsed + memory.external };
}

/** @param {Running} proxy @param {number} connections @param {number} streams @param {readonly string[]} flags */
async function hold(proxy, connections, streams, flags) {
  const numbers = [proxy.port, connections, streams].map(String);
  const held = new Process(process.execPath, [holder, ...numbers, ...flags], 'others');
  await held.line((line) => (line === 'held' ? true : null), 'all that is to be held', 30_000);
  // The backend's side may be a turn behind.
  await settle(200);
  return held;
}

/** @type {import('../stage/section.mjs').Row} */
export const memory = {
  id: 'memory',
  what: 'memory per idle connection, open idle stream, uncommitted 1 KB call',
  async run(bench) {
    const rows = [];
    const verdicts = [];
    const bars = [];
    for (const kind of kinds) {
      const connections = bench.smoke ? 5 : kind.connections;
      const streams = Math.min(kind.streams, bench.smoke ? 20 : kind.streams);
      const count = Math.max(1, streams) * connections;
      /** @type {Map<string, { resident: number, held: number }[]>} */
      const results = new Map();
      // Of fresh processes: a heap that has been larger is not measured by how it grows.
      for (let round = 0; round < Math.min(3, bench.rounds); round += 1) {
        const backend = await startBackend(kind.backend);
        const { running, absent, end } = await sideBySide(bench, ['hedgerow', 'haproxy'], backend.ports, {
          node: memoryNode,
          streaming: true,
        });
        for (const proxy of running) {
          await warmUp(proxy, { connections: 4, streams: 25, seconds: Math.min(0.5, bench.seconds) });
          const before = await look(proxy);
          const held = await hold(proxy, connections, streams, kind.flags);
          const after = await look(proxy);
          await held.end();
          const each = {
            resident: (after.resident - before.resident) / count / kibi,
            held: (after.held - before.held) / count / kibi,
          };
          results.set(proxy.name, [...(results.get(proxy.name) ?? []), each]);
        }
        await end();
        await backend.process.end();
        for (const one of absent) results.set(`${one.name}: ${one.why}`, []);
      }
      bench.raw[`memory ${kind.id}`] = Object.fromEntries(results);
      for (const [name, rounds] of results) {
        const resident = spread(rounds.map((each) => each.resident));
        const held = spread(rounds.map((each) => each.held).filter(Number.isFinite));
        rows.push([kind.title, name, figure(count), ranged(resident), ranged(held)]);
        bars.push({ label: `${kind.title}, ${name.split(',')[0]}`, spread: resident, ours: name === 'hedgerow' });
        if (name === 'hedgerow')
          verdicts.push(
            verdict(`memory: ${kind.title}`, { atMost: kind.most }, resident, { unit: ' KiB', hope: kind.hope }),
          );
      }
    }
    return [
      {
        id: 'memory',
        title: 'Memory',
        notes: [
          'What RSS grew by, divided by how many were opened; of hedgerow also what heap and buffers grew by. Both after a garbage collection, in fresh processes that had served some calls. The kernel’s socket buffers are in neither. HAProxy does not wait for whole requests here: calls that stay open would not reach the backend.',
        ],
        columns: ['of each', 'proxy', 'opened', 'RSS, KiB', 'held, KiB'],
        rows,
        picture: picture('Memory of each', 'KiB of RSS', 'less', bars),
        verdicts,
      },
    ];
  },
};

/** @type {import('../stage/section.mjs').Row} */
export const many = {
  id: 'many',
  what: '100 000 open streams, and a new call’s latency',
  async run(bench) {
    const streams = 1000;
    const connections = bench.smoke ? 2 : 100;
    const backend = await startBackend();
    const { running, end } = await sideBySide(bench, ['hedgerow'], backend.ports);
    const [proxy] = running;
    if (proxy === undefined) throw new Error('hedgerow is not built: npm run build');
    const alone = { connections: 1, streams: 1, seconds: Math.min(1, bench.seconds) };
    const measure = async () => {
      const rounds = [];
      for (let round = 0; round < bench.rounds; round += 1) rounds.push(await closedLoop(proxy, alone));
      return rounds;
    };
    await warmUp(proxy, { connections: 4, streams: 25, seconds: alone.seconds });
    const before = await measure();
    const resident = residentOf(proxy.process.pid);
    const begin = performance.now();
    const held = await hold(proxy, connections, streams, []);
    const opening = (performance.now() - begin) / 1000;
    const after = await measure();
    const grown = (residentOf(proxy.process.pid) - resident) / 2 ** 20;
    await held.end();
    await end();
    await backend.process.end();
    bench.raw.many = { before, after };
    const mean = (/** @type {{ mean: number }[]} */ rounds) => spread(rounds.map((round) => round.mean));
    const [few, full] = [mean(before), mean(after)];
    const failed = [...before, ...after].reduce((sum, round) => sum + round.failed, 0);
    return [
      {
        id: 'many',
        title: `${figure(connections * streams)} open streams`,
        notes: [
          `Over ${connections} connections, opened in ${figure(opening)} s, RSS grew by ${figure(grown)} MiB; ${failed} calls failed beside them.`,
        ],
        columns: ['open streams', 'latency of a call, one at a time, µs'],
        rows: [
          ['none', ranged(few)],
          [figure(connections * streams), ranged(full)],
        ],
        picture: picture('Latency of a new call', 'µs', 'less', [
          { label: 'no stream open', spread: few, ours: true },
          { label: `${figure(connections * streams)} open`, spread: full, ours: true },
        ]),
        verdicts: [
          verdict('100 000 open streams: a new call’s latency grows', { atMost: 2 }, full.median / few.median, {
            unit: ' ×',
          }),
        ],
      },
    ];
  },
};
