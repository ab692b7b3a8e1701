/** CPU per call against HAProxy where the calls, or what carries them, differ from those of the first table. */
import { ranged } from '../figures/table.mjs';
import { busyRounds, failures, sideBySide, spreadOf } from '../stage/rounds.mjs';
import { against, picture } from '../stage/section.mjs';
import { startBackend, tlsFiles } from '../stage/stage.mjs';
import { shape } from './unary.mjs';

/** @typedef {import('../stage/rounds.mjs').Bench} Bench @typedef {import('../stage/stage.mjs').Round} Round */
/** @typedef {{ id: string, title: string, measure: string, notes: string[], hope: string }} Words */

/**
 * @param {Bench} bench @param {Words} words
 * @param {{ backendFlags?: string[], changes?: Partial<import('../stage/contender.mjs').Setting>, headers?: string }} how
 * @returns {Promise<import('../stage/section.mjs').Section>}
 */
async function section(
  bench,
  { id, title, measure, notes, hope },
  { backendFlags = [], changes = {}, headers = 'same' },
) {
  const backend = await startBackend(backendFlags);
  const { running, absent, end } = await sideBySide(bench, ['hedgerow', 'haproxy'], backend.ports, changes);
  const results = await busyRounds(bench, running, shape, { headers });
  await end();
  await backend.process.end();
  bench.raw[id] = Object.fromEntries(results);
  const cpu = (/** @type {Round} */ round) => round.cpu;
  const haproxy = bench.contenders.find((one) => one.key === 'haproxy')?.name ?? '';
  return {
    id,
    title,
    notes: [...notes, ...failures(results)],
    columns: ['proxy', 'CPU µs/call', 'calls/s'],
    rows: [
      ...running.map(({ name }) => [
        name,
        ranged(spreadOf(results, name, cpu)),
        ranged(spreadOf(results, name, (round) => round.rate)),
      ]),
      ...absent.map((one) => [one.name, one.why, '']),
    ],
    picture: picture(
      title,
      'CPU µs per call',
      'less',
      running.map(({ name, ours }) => ({ label: name, spread: spreadOf(results, name, cpu), ours })),
    ),
    verdicts: [
      against(measure, { atMost: 1 }, results, { ours: 'hedgerow', theirs: haproxy }, cpu, hope === '' ? {} : { hope }),
    ],
  };
}

/** @type {import('../stage/section.mjs').Row} */
export const headers = {
  id: 'headers',
  what: 'header sets that vary per call, CPU',
  async run(bench) {
    const load = 'Load by our own generator: h2load cannot vary headers.';
    const traced = {
      id: 'headers-traceparent',
      title: 'CPU per call, a traceparent of its own in each',
      measure: 'a traceparent that varies, CPU against HAProxy',
      notes: [load],
      hope: '',
    };
    const authorized = {
      id: 'headers-authorization',
      title: 'CPU per call, a 1 KB token in each',
      measure: 'a 1 KB authorization token that varies, CPU against HAProxy',
      notes: [`${load} 64 clients behind each connection take turns; tokens are sent without indexing.`],
      hope: '',
    };
    return [
      await section(bench, traced, { headers: 'traceparent' }),
      await section(bench, authorized, { headers: 'authorization' }),
    ];
  },
};

/** @type {import('../stage/section.mjs').Row} */
export const tls = {
  id: 'tls',
  what: 'TLS on both sides, CPU',
  async run(bench) {
    const files = tlsFiles();
    const words = {
      id: 'tls',
      title: 'CPU per call, TLS with client and backend',
      measure: 'TLS on both sides, CPU against HAProxy',
      notes: ['Certificates of EC P-256; the ciphers are what each negotiates by default.'],
      hope: '0.75',
    };
    const backendFlags = ['--tls', `${files.cert},${files.key}`];
    return [await section(bench, words, { backendFlags, changes: { tls: files } })];
  },
};
