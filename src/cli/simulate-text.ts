import { describePlan } from '../config/policy-words.js';
import { printable } from '../config/quote.js';
import { Status, type StatusCode, statusName } from '../grpc/status.js';
import type { Bucket } from '../sim/buckets.js';
import type { Summary } from '../sim/summary.js';
import { briefly } from '../text/words.js';
import { inBytes, percent, signedPercent, when } from './simulate-figures.js';
import { remarksOn } from './simulate-remarks.js';
import type { Side, Simulation } from './simulation.js';

/** What `hedgerow simulate` prints for a person. Ends with a line end. */
export function simulationInWords(simulation: Simulation, file: string): string {
  const blocks = [
    heading(simulation, file),
    [headline(simulation)],
    table(simulation),
    timeline(simulation),
    remarksOn(simulation),
  ];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function heading({ path, governing, notes, deadline, world, words }: Simulation, file: string): string[] {
  const { by, policy } = governing;
  const place =
    by === null ? `no entry of ${printable(file)}` : `methodConfig[${by.entry.index}], ${printable(file)}:${by.line}`;
  const chance = world.arrivals === 'poisson' ? 'by chance' : 'evenly';
  const parts = [
    `${world.calls} calls, ${world.rate} a second ${chance}, to ${world.backends === 1 ? '1 backend' : `${world.backends} backends`} (${world.balancing.kind})`,
    `answers ${printable(words.latency)}`,
    `failures ${printable(words.failures)}`,
    ...words.outages.map((text) => `outage ${printable(text)}`),
    ...words.slownesses.map((text) => `slow ${printable(text)}`),
    ...(world.pushback === null ? [] : [`pushback ${world.pushback} ms`]),
    ...(world.capacity === null ? [] : [`${world.capacity} at a time per backend`]),
    ...(world.cancelledWork === 'stops' ? [] : ['cancelled work goes on']),
    `requests of ${inBytes(world.requestBytes)}`,
    deadline === null ? 'no deadline' : `deadline ${briefly(deadline)}`,
    `seed ${world.seed}`,
  ];
  return [
    `${printable(path)} (${place})`,
    `policy: ${describePlan(policy.plan)}`,
    `model: ${parts.join('; ')}`,
    ...notes.map((note) => `note: ${note}`),
  ];
}

function headline({ governing, without, with: kept }: Simulation): string {
  const [bare, full] = [without.summary, kept.summary];
  if (governing.policy.plan.kind === 'none')
    return `No policy governs it: ${rate(bare)} of the calls succeed, p99 is ${briefly(bare.times.p99)}.`;
  const success =
    bare.ok === full.ok
      ? `With the policy as without it ${rate(full)} of the calls succeed`
      : `With the policy ${rate(full)} of the calls succeed, without it ${rate(bare)}`;
  const [after, before] = [briefly(full.times.p999), briefly(bare.times.p999)];
  const tail = after === before ? `p99.9 is ${after} either way` : `p99.9 is ${after}, without it ${before}`;
  if (bare.attempts === 0) return `${success}; ${tail}.`;
  const extra = full.attempts / bare.attempts - 1;
  const load =
    extra === 0
      ? 'the load is the same'
      : `backends get ${signedPercent(Math.abs(extra)).slice(1)} ${extra > 0 ? 'more' : 'fewer'} attempts`;
  return `${success}; ${tail}; ${load}.`;
}

function rate({ ok, calls }: Summary): string {
  return percent(ok / calls);
}

type Row = readonly [label: string, without: string, kept: string];

function table({ without, with: kept, governing }: Simulation): string[] {
  const { plan } = governing.policy;
  const both = (label: string, of: (side: Side) => string): Row => [label, of(without), of(kept)];
  const time = (label: string, of: (times: Summary['times']) => number): Row =>
    both(label, ({ summary }) => briefly(of(summary.times)));
  const extra =
    without.summary.attempts === 0 ? '' : signedPercent(kept.summary.attempts / without.summary.attempts - 1);
  const rows: Row[] = [
    ['', 'without policy', 'with policy'],
    both('success rate', ({ summary }) => rate(summary)),
    ...codesOf(without, kept).map((code) =>
      both(`  ${statusName(code)}`, ({ summary }) => String(callsWith(summary, code))),
    ),
    time('time to the end, p50', ({ p50 }) => p50),
    time('  p90', ({ p90 }) => p90),
    time('  p99', ({ p99 }) => p99),
    time('  p99.9', ({ p999 }) => p999),
    time('  max', ({ max }) => max),
    both('attempts per call', ({ summary }) => (summary.attempts / summary.calls).toFixed(3)),
    ...(plan.kind === 'none' ? [] : [['extra load', '', extra] as const]),
    ...(plan.kind === 'retry' ? [both('retries', ({ summary }) => String(summary.retries))] : []),
    ...(plan.kind === 'hedge'
      ? [
          both('hedges sent', ({ summary }) => String(summary.hedges)),
          both('  that answered first', ({ summary }) => String(summary.hedgesWon)),
        ]
      : []),
    ...(kept.run.tokens === null || plan.kind === 'none'
      ? []
      : [
          both('calls held back by the throttle', ({ run }) => String(run.suppressed)),
          both('lowest tokens', ({ run }) =>
            run.tokens === null ? '' : `${run.tokens.lowest / 1000} of ${run.tokens.limits.maxMilliTokens / 1000}`,
          ),
        ]),
    both('most attempts at one backend at a time', ({ summary }) => String(summary.peakInFlight)),
    both('most attempts in one second', ({ summary }) => String(summary.peakPerSecond)),
  ];
  // One column says it all where both are the same.
  return aligned(plan.kind === 'none' ? rows.slice(1).map(([label, bare]) => [label, bare, '']) : rows);
}

/** Labels to the left, figures to the right. */
function aligned(rows: readonly Row[]): string[] {
  const width = (column: 0 | 1 | 2): number => Math.max(...rows.map((row) => row[column].length));
  const [label, first, second] = [width(0), width(1) + 3, width(2) + 3];
  return rows.map((row) => `${row[0].padEnd(label)}${row[1].padStart(first)}${row[2].padStart(second)}`.trimEnd());
}

/** OK first, then what is most frequent without the policy. */
function codesOf(without: Side, kept: Side): readonly StatusCode[] {
  const all = [...without.summary.codes, ...kept.summary.codes].map(({ code }) => code);
  return [...new Set([Status.OK, ...all])];
}

function callsWith({ codes }: Summary, code: StatusCode): number {
  return codes.find((each) => each.code === code)?.calls ?? 0;
}

const barLength = 10;

/** Only where the run is not the same from beginning to end. */
function timeline({ world, without, with: kept, bucketWidth }: Simulation): string[] {
  const { tokens } = kept.run;
  const varies = world.outages.length > 0 || world.slownesses.length > 0 || (tokens?.shut.length ?? 0) > 0;
  if (!varies || without.buckets.length < 2) return [];
  const head: Row = ['from', 'OK without', 'OK with'];
  const rows = without.buckets.map(({ from, calls, ok }, index): Row => {
    const other = kept.buckets[index];
    return [when(from).padStart(7), share(ok, calls), other === undefined ? '' : share(other.ok, other.calls)];
  });
  const max = tokens?.limits.maxMilliTokens ?? null;
  const ends = kept.buckets.map(
    (bucket) => `   ${perCall(bucket).padStart(8)}${max === null ? '' : `   ${bar(bucket, max)}`}`,
  );
  const title = `   attempts${max === null ? '' : '   tokens, at the lowest'}`;
  return [
    `each ${when(bucketWidth)}: calls that start then, attempts per call with the policy`,
    ...aligned([head, ...rows]).map((line, index) => line + (index === 0 ? title : (ends[index - 1] ?? ''))),
  ];
}

function share(ok: number, calls: number): string {
  return calls === 0 ? '–' : percent(ok / calls);
}

function perCall({ attempts, calls }: Bucket): string {
  return calls === 0 ? '–' : (attempts / calls).toFixed(2);
}

function bar({ lowestMilliTokens }: Bucket, max: number): string {
  const level = lowestMilliTokens ?? 0;
  const full = Math.round((level / max) * barLength);
  const shut = level * 2 <= max ? ' shut' : '';
  return `${'█'.repeat(full)}${'░'.repeat(barLength - full)} ${level / 1000}${shut}`;
}
