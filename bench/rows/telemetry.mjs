/** What metrics and the default log cost (at most 15 % of a call). */
import { ratios } from '../figures/statistics.mjs';
import { ranged } from '../figures/table.mjs';
import { busyRounds, failures, roundsOf, sideBySide, spreadOf } from '../stage/rounds.mjs';
import { picture, verdict } from '../stage/section.mjs';
import { startBackend } from '../stage/stage.mjs';
import { shape } from './unary.mjs';

/** @type {import('../stage/section.mjs').Row} */
export const telemetry = {
  id: 'telemetry',
  what: 'metrics and the default log against neither, CPU',
  async run(bench) {
    const backend = await startBackend();
    const { running, absent, end } = await sideBySide(bench, ['hedgerow', 'bare'], backend.ports);
    for (const { name, why } of absent) throw new Error(`${name}: ${why}`);
    const results = await busyRounds(bench, running, shape);
    await end();
    await backend.process.end();
    bench.raw.telemetry = Object.fromEntries(results);
    const cpu = (/** @type {import('../stage/stage.mjs').Round} */ round) => round.cpu;
    const [on = '', off = ''] = running.map(({ name }) => name);
    const factor = ratios(roundsOf(results, on, cpu), roundsOf(results, off, cpu));
    return [
      {
        id: 'telemetry',
        title: 'What telemetry costs',
        notes: [
          'Without: the same parts with nothing counted and no log (bench/peers/hedgerow-bare.mjs), which no setting gives.',
          ...failures(results),
        ],
        columns: ['hedgerow', 'CPU µs/call', 'calls/s'],
        rows: running.map(({ name }) => [
          name,
          ranged(spreadOf(results, name, cpu)),
          ranged(spreadOf(results, name, (round) => round.rate)),
        ]),
        picture: picture(
          'What telemetry costs',
          'CPU µs per call',
          'less',
          running.map(({ name, ours }) => ({ label: name, spread: spreadOf(results, name, cpu), ours })),
        ),
        verdicts: [verdict('metrics and the default log on against off, CPU', { atMost: 1.15 }, factor)],
      },
    ];
  },
};
