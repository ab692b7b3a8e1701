/** CPU per call as work grows: calls in flight, backends, methodConfig entries. */
import { ratios } from '../figures/statistics.mjs';
import { ranged } from '../figures/table.mjs';
import { armed, retryPolicy } from '../stage/contender.mjs';
import { failures, interleave, roundsOf, spreadOf } from '../stage/rounds.mjs';
import { picture, verdict } from '../stage/section.mjs';
import { closedLoop, startBackend, startProxy, warmUp } from '../stage/stage.mjs';

/** @typedef {{ label: string, connections: number, streams: number, backends: number, methods: number }} Point */

/** @type {readonly { axis: string, points: readonly Point[] }[]} */
const axes = [
  {
    axis: 'calls in flight',
    points: [10, 1000, 10_000].map((streams) => ({
      label: `${streams} calls in flight`,
      connections: 1,
      streams,
      backends: 1,
      methods: 1,
    })),
  },
  {
    axis: 'backends',
    points: [1, 10, 100].map((backends) => ({
      label: backends === 1 ? '1 backend' : `${backends} backends`,
      connections: 4,
      streams: 250,
      backends,
      methods: 1,
    })),
  },
  {
    axis: 'methodConfig entries',
    points: [1, 100, 10_000].map((methods) => ({
      label: methods === 1 ? '1 methodConfig entry' : `${methods} methodConfig entries`,
      connections: 4,
      streams: 25,
      backends: 1,
      methods,
    })),
  },
];

/** The entry that applies is the last. @param {number} entries */
function configOf(entries) {
  const others = Array.from({ length: entries - 1 }, (_, i) => ({
    name: [{ service: `bench.Other${i}`, method: 'Unary' }],
    retryPolicy,
  }));
  return { methodConfig: [...others, ...armed.methodConfig] };
}

/** @type {import('../stage/section.mjs').Row} */
export const scale = {
  id: 'scale',
  what: 'CPU per call as calls in flight, backends and methodConfig entries grow',
  async run(bench) {
    const hedgerow = bench.contenders.find(({ key }) => key === 'hedgerow');
    if (hedgerow === undefined) throw new Error('hedgerow is not among the peers asked for');
    const backend = await startBackend(['--ports', '100']);
    const sections = [];
    for (const { axis, points: all } of axes) {
      const points = bench.smoke ? all.filter((_, i) => i !== 1) : all;
      const running = [];
      for (const point of points) {
        const changes = {
          serviceConfig: configOf(bench.smoke ? Math.min(100, point.methods) : point.methods),
          flags: ['--max-concurrent-streams', '10000'],
        };
        running.push({
          ...(await startProxy(hedgerow, backend.ports.slice(0, point.backends), changes)),
          name: point.label,
        });
      }
      const loadOf = (/** @type {string} */ name) => {
        const { connections = 1, streams = 1 } = points.find(({ label }) => label === name) ?? {};
        return { connections, streams: bench.smoke ? Math.min(500, streams) : streams, seconds: bench.seconds };
      };
      /** @type {Map<string, number>} */
      const counts = new Map();
      const measure = (/** @type {import('../stage/stage.mjs').Running} */ proxy) => {
        const calls = counts.get(proxy.name);
        return closedLoop(proxy, { ...loadOf(proxy.name), ...(calls === undefined ? {} : { calls }) });
      };
      // By number: of rounds cut off by time, the calls in flight at the end would have cost and not count.
      for (const proxy of running) {
        const warm = await warmUp(proxy, loadOf(proxy.name));
        if (warm !== null && !bench.smoke) {
          const { connections, streams } = loadOf(proxy.name);
          counts.set(proxy.name, Math.max(Math.ceil(warm.rate * bench.seconds), 5 * connections * streams));
        }
      }
      // Medians of nine, where the machine counts no instructions.
      const results = await interleave(bench.smoke ? 1 : 9, running, measure);
      for (const { process } of running) await process.end();
      bench.raw[`scale ${axis}`] = Object.fromEntries(results);
      const cpu = (/** @type {import('../stage/stage.mjs').Round} */ round) => round.cpu;
      const [least, ...more] = points.map(({ label }) => label);
      const factors = more.map((label) => ratios(roundsOf(results, label, cpu), roundsOf(results, least ?? '', cpu)));
      const most = factors.reduce((a, b) => (b.median > a.median ? b : a));
      sections.push({
        id: `scale-${axis.replaceAll(' ', '-')}`,
        title: `CPU per call as ${axis} grow`,
        notes: [
          `${points[0]?.connections === 1 ? '1 connection' : `${points[0]?.connections} connections`}; medians of ${bench.smoke ? 1 : 9} interleaved rounds.`,
          ...failures(results),
        ],
        columns: [axis, 'CPU µs/call', 'calls/s'],
        rows: points.map(({ label }) => [
          label,
          ranged(spreadOf(results, label, cpu)),
          ranged(spreadOf(results, label, (round) => round.rate)),
        ]),
        picture: picture(
          `CPU per call as ${axis} grow`,
          'µs',
          'less',
          points.map(({ label }) => ({ label, spread: spreadOf(results, label, cpu), ours: true })),
        ),
        verdicts: [
          verdict(
            `cost as work grows: ${points.map(({ label }) => label.split(' ')[0]).join(', ')} ${axis}, CPU against the first`,
            { atMost: 1.2 },
            most,
          ),
        ],
      });
    }
    await backend.process.end();
    return sections;
  },
};
