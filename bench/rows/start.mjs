/** From the start of the process to the line that says that it is ready. */
import { spread } from '../figures/statistics.mjs';
import { ranged } from '../figures/table.mjs';
import { sideBySide } from '../stage/rounds.mjs';
import { picture, verdict } from '../stage/section.mjs';
import { startBackend } from '../stage/stage.mjs';

/** @type {import('../stage/section.mjs').Row} */
export const start = {
  id: 'start',
  what: 'start to ready',
  async run(bench) {
    const backend = await startBackend();
    /** @type {Map<string, number[]>} */
    const times = new Map();
    const rounds = bench.smoke ? 1 : Math.max(9, bench.rounds);
    for (let round = 0; round < rounds; round += 1) {
      for (const key of ['hedgerow', 'bare']) {
        const { running, end } = await sideBySide(bench, [key], backend.ports);
        for (const { name, readyAfter } of running) times.set(name, [...(times.get(name) ?? []), readyAfter]);
        await end();
      }
    }
    await backend.process.end();
    bench.raw.start = Object.fromEntries(times);
    const all = [...times].map(([name, ms]) => ({ name, spread: spread(ms) }));
    return [
      {
        id: 'start',
        title: 'Start to ready',
        notes: ['From the spawn of the process to its ready line, on one core.'],
        columns: ['proxy', 'ms'],
        rows: all.map((one) => [one.name, ranged(one.spread)]),
        picture: picture(
          'Start to ready',
          'ms',
          'less',
          all.map((one) => ({ label: one.name, spread: one.spread, ours: one.name === 'hedgerow' })),
          250,
        ),
        verdicts: [verdict('start to ready', { atMost: 250 }, spread(times.get('hedgerow') ?? []), { unit: ' ms' })],
      },
    ];
  },
};
