/** p99 at half of what HAProxy can do at most, calls started by the clock. */
import { median } from '../figures/statistics.mjs';
import { figure, ranged } from '../figures/table.mjs';
import { h2loadVersion } from '../stage/accounts.mjs';
import { interleave, sideBySide, spreadOf } from '../stage/rounds.mjs';
import { against, picture } from '../stage/section.mjs';
import { closedLoop, openLoop, openLoopByH2load, startBackend, warmUp } from '../stage/stage.mjs';
import { shape } from './unary.mjs';

/** Calls/s where HAProxy is not here to say how many. */
const otherwise = 10_000;

/** @type {import('../stage/section.mjs').Row} */
export const open = {
  id: 'open',
  what: 'p99 at half of HAProxy’s saturation, open loop',
  async run(bench) {
    const backend = await startBackend();
    const { running, absent, end } = await sideBySide(bench, ['hedgerow', 'haproxy', 'splice'], backend.ports);
    const rate = Math.round((await saturation(bench, running)) / 2);
    const seconds = bench.smoke ? 0.5 : 3;
    const ours = await interleave(bench.rounds, running, ({ port }) => openLoop(port, rate, seconds));
    const foreign =
      h2loadVersion === null
        ? new Map()
        : await interleave(bench.rounds, running, (proxy) => openLoopByH2load(proxy, rate, seconds));
    await end();
    await backend.process.end();
    bench.raw.open = { rate, ours: Object.fromEntries(ours), h2load: Object.fromEntries(foreign) };
    const p99 = (/** @type {{ p99: number }} */ round) => round.p99;
    const haproxy = bench.contenders.find((one) => one.key === 'haproxy')?.name ?? '';
    const late = median([...ours.values()].flat().map((round) => round.late));
    return [
      {
        id: 'open',
        title: 'Latency at half of HAProxy’s saturation, open loop',
        notes: [
          `${figure(rate)} calls/s over 4 connections. Our generator counts from when a call was due, h2load from when it was sent; ` +
            `the splice's figures are those of generator and backend. Ours was behind its clock by ${figure(late)} µs at most (median of rounds).`,
          ...[...ours].flatMap(([name, rounds]) => {
            const failed = rounds.reduce((sum, round) => sum + round.failed, 0);
            return failed === 0 ? [] : [`${name}: ${failed} calls failed.`];
          }),
        ],
        columns: ['proxy', 'p50, µs', 'p99, µs', 'p99.9, µs', 'p50 by h2load', 'p99 by h2load'],
        rows: [
          ...running.map(({ name }) => [
            name,
            ranged(spreadOf(ours, name, (round) => round.p50)),
            ranged(spreadOf(ours, name, p99)),
            ranged(spreadOf(ours, name, (round) => round.p999)),
            ranged(spreadOf(foreign, name, (round) => round.p50)),
            ranged(spreadOf(foreign, name, p99)),
          ]),
          ...absent.map((one) => [one.name, one.why, '', '', '', '']),
        ],
        picture: picture(
          `p99 at ${figure(rate)} calls/s, open loop`,
          'µs',
          'less',
          running.map((proxy) => ({ label: proxy.name, spread: spreadOf(ours, proxy.name, p99), ours: proxy.ours })),
        ),
        verdicts: [
          against(
            'p99 at half of HAProxy’s saturation, open loop',
            { atMost: 1 },
            ours,
            { ours: 'hedgerow', theirs: haproxy },
            p99,
          ),
          ...(foreign.size === 0
            ? []
            : [
                against('the same by h2load --rps', { atMost: 1 }, foreign, { ours: 'hedgerow', theirs: haproxy }, p99),
              ]),
        ],
      },
    ];
  },
};

/** Calls/s of HAProxy, or a rate in its place. @param {import('../stage/rounds.mjs').Bench} bench @param {readonly import('../stage/stage.mjs').Running[]} running */
async function saturation(bench, running) {
  if (bench.smoke) return 2000;
  if (bench.haproxyRate !== null) return bench.haproxyRate;
  const haproxy = running.find(({ name }) => name.startsWith('HAProxy'));
  if (haproxy === undefined) return otherwise;
  await warmUp(haproxy, { ...shape, seconds: 1 });
  return (await closedLoop(haproxy, { ...shape, seconds: bench.seconds })).rate;
}
