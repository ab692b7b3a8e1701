/** 1 MiB messages, in either direction. */
import { ratios } from '../figures/statistics.mjs';
import { ranged } from '../figures/table.mjs';
import { failures, interleave, roundsOf, sideBySide, spreadOf } from '../stage/rounds.mjs';
import { picture, verdict } from '../stage/section.mjs';
import { closedLoop, startBackend, warmUp } from '../stage/stage.mjs';

const mebi = 2 ** 20;
const keys = ['hedgerow', 'haproxy', 'nginx'];
const shape = { connections: 4, streams: 4 };
const directions = [
  { name: 'to the backend', request: mebi, answer: 100 },
  { name: 'to the client', request: 100, answer: mebi },
];

/** @type {import('../stage/section.mjs').Row} */
export const large = {
  id: 'large',
  what: '1 MiB messages, both directions, bytes/s',
  async run(bench) {
    const sections = [];
    for (const { name: direction, request, answer } of directions) {
      const backend = await startBackend(['--bytes', String(answer)]);
      const { running, absent, end } = await sideBySide(bench, keys, backend.ports, { answerBytes: answer });
      const seconds = Math.min(2, bench.seconds);
      const load = { ...shape, seconds };
      for (const proxy of running) await warmUp(proxy, load, { bytes: request });
      const results = await interleave(bench.rounds, running, (proxy) => closedLoop(proxy, load, { bytes: request }));
      await end();
      await backend.process.end();
      bench.raw[`large ${direction}`] = Object.fromEntries(results);
      const rate = (/** @type {{ rate: number }} */ round) => round.rate;
      const cpu = (/** @type {{ cpu: number }} */ round) => round.cpu;
      const best = running
        .filter((proxy) => !proxy.ours)
        .map(({ name }) => ({ name, rate: spreadOf(results, name, rate).median }))
        .reduce((a, b) => (b.rate > a.rate ? b : a), { name: 'HAProxy or nginx', rate: 0 });
      const factor = ratios(roundsOf(results, 'hedgerow', rate), roundsOf(results, best.name, rate));
      sections.push({
        id: `large-${request === mebi ? 'upload' : 'download'}`,
        title: `1 MiB messages ${direction}`,
        notes: ['4 connections × 4 streams, one message a call.', ...failures(results)],
        columns: ['proxy', 'MiB/s', 'CPU µs per MiB'],
        rows: [
          ...running.map(({ name }) => [
            name,
            ranged(spreadOf(results, name, rate)),
            ranged(spreadOf(results, name, cpu)),
          ]),
          ...absent.map((one) => [one.name, one.why, '']),
        ],
        picture: picture(
          `1 MiB messages ${direction}`,
          'MiB/s',
          'more',
          running.map(({ name, ours }) => ({ label: name, spread: spreadOf(results, name, rate), ours })),
        ),
        verdicts: [
          verdict(
            `1 MiB messages ${direction}, bytes/s against the better of HAProxy and nginx`,
            { atLeast: 1 },
            factor,
            {
              absent: 'neither is here',
            },
          ),
        ],
      });
    }
    return sections;
  },
};
