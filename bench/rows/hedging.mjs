/** What hedging does for the slowest calls, where one call in a hundred stalls for a second. */
import { ratios, spread } from '../figures/statistics.mjs';
import { ranged } from '../figures/table.mjs';
import { armed } from '../stage/contender.mjs';
import { roundsOf, spreadOf } from '../stage/rounds.mjs';
import { picture, verdict } from '../stage/section.mjs';
import { openLoop, startBackend, startProxy } from '../stage/stage.mjs';

const rate = 1000;
const names = [{ service: 'bench.Echo' }];
const hedgingPolicy = { maxAttempts: 3, hedgingDelay: '0.02s', nonFatalStatusCodes: ['UNAVAILABLE'] };
const policies = [
  { name: 'retry policy', serviceConfig: armed },
  { name: 'hedging policy', serviceConfig: { methodConfig: [{ name: names, hedgingPolicy }] } },
];

/** @param {import('../stage/stage.mjs').Backend} backend */
async function attemptsAt({ process }) {
  process.forget();
  process.child.kill('SIGUSR2');
  return process.line((line) => (line.includes('"calls"') ? Number(JSON.parse(line).calls) : null), 'its count');
}

/** @type {import('../stage/section.mjs').Row} */
export const hedging = {
  id: 'hedging',
  what: 'p99.9 with a hedging policy against without, 1 % of calls stalling 1 s',
  async run(bench) {
    const hedgerow = bench.contenders.find(({ key }) => key === 'hedgerow');
    if (hedgerow === undefined) throw new Error('hedgerow is not among the peers asked for');
    // Two backends of one process: calls of both count towards the one in a hundred.
    const backend = await startBackend(['--ports', '2', '--stall', '0.01']);
    const seconds = bench.smoke ? 0.5 : 5;
    const warmUp = bench.smoke ? 0 : 1;
    /** @type {Map<string, { p50: number, p99: number, p999: number, failed: number, perCall: number }[]>} */
    const results = new Map();
    const running = [];
    for (const { name, serviceConfig } of policies)
      running.push({ ...(await startProxy(hedgerow, backend.ports, { serviceConfig })), name });
    for (let round = 0; round < Math.min(3, bench.rounds); round += 1) {
      for (const { name, port } of running) {
        const before = await attemptsAt(backend);
        const result = await openLoop(port, rate, seconds, 4, warmUp);
        const attempts = (await attemptsAt(backend)) - before;
        const perCall = attempts / Math.round(rate * (seconds + warmUp));
        results.set(name, [...(results.get(name) ?? []), { ...result, perCall }]);
      }
    }
    for (const { process } of running) await process.end();
    await backend.process.end();
    bench.raw.hedging = Object.fromEntries(results);
    const p999 = (/** @type {{ p999: number }} */ round) => round.p999;
    const [without = '', hedged = ''] = policies.map(({ name }) => name);
    const attempts = spread(roundsOf(results, hedged, (round) => round.perCall));
    return [
      {
        id: 'hedging',
        title: 'Hedging, 1 % of calls stalling for a second',
        notes: [
          `${rate} calls/s, open loop, two backends; the hedging policy: up to 3 attempts, 20 ms apart. Attempts are counted by the backends.`,
        ],
        columns: ['policy', 'p50, µs', 'p99, µs', 'p99.9, µs', 'attempts per call', 'failed'],
        rows: policies.map(({ name }) => [
          name,
          ranged(spreadOf(results, name, (round) => round.p50)),
          ranged(spreadOf(results, name, (round) => round.p99)),
          ranged(spreadOf(results, name, p999)),
          ranged(spreadOf(results, name, (round) => round.perCall)),
          ranged(spreadOf(results, name, (round) => round.failed)),
        ]),
        picture: picture(
          'p99.9, 1 % of calls stalling for a second',
          'µs',
          'less',
          policies.map(({ name }) => ({ label: name, spread: spreadOf(results, name, p999), ours: name === hedged })),
        ),
        verdicts: [
          verdict(
            'hedging: p99.9 with against without',
            { atMost: 0.1 },
            ratios(roundsOf(results, hedged, p999), roundsOf(results, without, p999)),
          ),
          verdict('hedging: attempts per call', { atMost: 1.05 }, attempts),
        ],
      },
    ];
  },
};
