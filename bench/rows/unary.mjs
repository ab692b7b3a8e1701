/** CPU per call and calls/s on one core, against everything that one could run instead. */
import { ratios } from '../figures/statistics.mjs';
import { ranged } from '../figures/table.mjs';
import { busyRounds, failures, roundsOf, sideBySide, spreadOf } from '../stage/rounds.mjs';
import { against, picture } from '../stage/section.mjs';
import { startBackend } from '../stage/stage.mjs';

const keys = ['hedgerow', 'haproxy', 'envoy', 'nginx', 'grpc-js', 'http2', 'splice'];
export const shape = { connections: 4, streams: 25 };

/** @type {import('../stage/section.mjs').Row} */
export const unary = {
  id: 'unary',
  what: 'CPU per call and calls/s on one core, against each peer',
  async run(bench) {
    const backend = await startBackend();
    const { running, absent, end } = await sideBySide(bench, keys, backend.ports);
    const results = await busyRounds(bench, running, shape);
    await end();
    await backend.process.end();
    bench.raw.unary = Object.fromEntries(results);
    const cpu = (/** @type {import('../stage/stage.mjs').Round} */ round) => round.cpu;
    const rate = (/** @type {import('../stage/stage.mjs').Round} */ round) => round.rate;
    const name = (/** @type {string} */ key) => bench.contenders.find((one) => one.key === key)?.name ?? key;
    const ours = name('hedgerow');
    const haproxy = spreadOf(results, name('haproxy'), rate);
    if (haproxy.rounds > 0) bench.haproxyRate = haproxy.median;
    const versions = new Map(bench.contenders.map((one) => [one.name, one.version]));
    const versus = (/** @type {string} */ key) => ({ ours, theirs: name(key) });
    return [
      {
        id: 'unary',
        title: 'CPU per call, calls/s on one core',
        notes: [
          '100-byte unary calls over 4 connections × 25 streams. Ratios are taken round by round.',
          'Who is busy less than 0.95 of the time was not what limited the calls/s: the client and the backend were.',
          ...failures(results),
        ],
        columns: ['proxy', 'version', 'CPU µs/call', 'hedgerow’s ÷ its', 'calls/s', 'busy'],
        rows: [
          ...running.map((proxy) => [
            proxy.name,
            versions.get(proxy.name) ?? '',
            ranged(spreadOf(results, proxy.name, cpu)),
            proxy.ours ? '' : ranged(ratios(roundsOf(results, ours, cpu), roundsOf(results, proxy.name, cpu))),
            ranged(spreadOf(results, proxy.name, rate)),
            ranged(spreadOf(results, proxy.name, (round) => round.busy)),
          ]),
          ...absent.map((one) => [one.name, one.why, '', '', '', '']),
        ],
        picture: picture('CPU per unary call', 'µs', 'less', [
          ...running.map((proxy) => ({
            label: proxy.name,
            spread: spreadOf(results, proxy.name, cpu),
            ours: proxy.ours,
          })),
          ...absent.map((one) => ({
            label: one.name,
            spread: spreadOf(results, one.name, cpu),
            ours: false,
            missing: one.why,
          })),
        ]),
        verdicts: [
          against('CPU per call against HAProxy', { atMost: 1 }, results, versus('haproxy'), cpu, { hope: '0.7' }),
          against('against Envoy', { atMost: 0.25 }, results, versus('envoy'), cpu, { hope: '0.18' }),
          against('against a grpc-js passthrough', { atMost: 1 / 12 }, results, versus('grpc-js'), cpu, {
            hope: '0.05',
          }),
          against('against a net splice', { atMost: 4 }, results, versus('splice'), cpu, { hope: '2.5' }),
          against('calls/s on one core against HAProxy', { atLeast: 1 }, results, versus('haproxy'), rate, {
            hope: '1.5',
          }),
        ],
      },
    ];
  },
};
