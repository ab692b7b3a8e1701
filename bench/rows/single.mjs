/** Latency of one call at a time. */
import { ranged } from '../figures/table.mjs';
import { failures, interleave, sideBySide, spreadOf } from '../stage/rounds.mjs';
import { against, picture } from '../stage/section.mjs';
import { closedLoop, startBackend, warmUp } from '../stage/stage.mjs';

const keys = ['hedgerow', 'haproxy', 'envoy', 'nginx', 'grpc-js', 'http2', 'splice'];
const shape = { connections: 1, streams: 1 };

/** @type {import('../stage/section.mjs').Row} */
export const single = {
  id: 'single',
  what: 'latency, one call at a time',
  async run(bench) {
    const backend = await startBackend();
    const { running, absent, end } = await sideBySide(bench, keys, backend.ports);
    const seconds = Math.min(1, bench.seconds);
    for (const proxy of running) await warmUp(proxy, { ...shape, seconds });
    const results = await interleave(bench.rounds, running, (proxy) => closedLoop(proxy, { ...shape, seconds }));
    await end();
    await backend.process.end();
    bench.raw.single = Object.fromEntries(results);
    const mean = (/** @type {import('../stage/stage.mjs').Round} */ round) => round.mean;
    const haproxy = bench.contenders.find((one) => one.key === 'haproxy')?.name ?? '';
    return [
      {
        id: 'single',
        title: 'Latency, one call at a time',
        notes: [
          'Mean over a round of one 100-byte unary call after the other on one connection.',
          ...failures(results),
        ],
        columns: ['proxy', 'latency, µs'],
        rows: [
          ...running.map(({ name }) => [name, ranged(spreadOf(results, name, mean))]),
          ...absent.map((one) => [one.name, one.why]),
        ],
        picture: picture(
          'Latency, one call at a time',
          'µs',
          'less',
          running.map(({ name, ours }) => ({ label: name, spread: spreadOf(results, name, mean), ours })),
        ),
        verdicts: [
          against(
            'latency, one call at a time, against HAProxy',
            { atMost: 1 },
            results,
            { ours: 'hedgerow', theirs: haproxy },
            mean,
            { hope: '0.9' },
          ),
        ],
      },
    ];
  },
};
