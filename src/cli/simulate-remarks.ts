import { describeCodes, showMillis } from '../config/policy-words.js';
import type { StopReason } from '../grpc/stop-reason.js';
import { briefly } from '../text/words.js';
import { inBytes, percent, when } from './simulate-figures.js';
import type { Side, Simulation } from './simulation.js';

/** From so many times as much on, a peak is told. */
const notablePeak = 1.2;
/** Below so many calls hardly one lies beyond p99.9. */
const enoughCalls = 10_000;
const told = 3;

/** What the numbers come to, a sentence each; nothing that they do not show. */
export function remarksOn(simulation: Simulation): readonly string[] {
  return [
    ...beyondTheEnd(simulation),
    ...onSaved(simulation),
    ...onHedges(simulation),
    ...onThrottle(simulation),
    ...onPeak(simulation),
    ...onFailures(simulation),
    ...onParks(simulation),
    ...onFewCalls(simulation),
  ];
}

function beyondTheEnd({ without, world, words }: Simulation): string[] {
  const last = without.run.calls.at(-1)?.startedAt ?? 0;
  const late = (kind: string, spells: readonly { readonly from: number }[], texts: readonly string[]): string[] =>
    spells.flatMap(({ from }, index) =>
      from > last ? [`--${kind} ${texts[index] ?? ''} touches no call: the last one starts at ${when(last)}.`] : [],
    );
  return [...late('outage', world.outages, words.outages), ...late('slow', world.slownesses, words.slownesses)];
}

function onSaved({ difference, governing, without }: Simulation): string[] {
  const { saved, spoilt } = difference;
  const failed = without.summary.calls - without.summary.ok;
  if (governing.policy.plan.kind === 'none' || (failed === 0 && spoilt === 0)) return [];
  const lines =
    failed === 0
      ? []
      : [`The policy saves ${saved === 0 ? 'none' : saved} of the ${calls(failed)} that fail without it.`];
  if (spoilt > 0)
    lines.push(
      `${calls(spoilt)} that ${spoilt === 1 ? 'succeeds without it fails' : 'succeed without it fail'} with it.`,
    );
  return lines;
}

function onHedges({ governing, without, with: kept }: Simulation): string[] {
  const { plan } = governing.policy;
  if (plan.kind !== 'hedge') return [];
  const { summary } = kept;
  if (summary.hedges === 0) return ['No hedge was sent.'];
  const [before, after] = [without.summary.times.p999, summary.times.p999];
  const effect =
    briefly(before) === briefly(after)
      ? `left p99.9 at ${briefly(after)}`
      : `${after < before ? 'cut' : 'raised'} p99.9 from ${briefly(before)} to ${briefly(after)}`;
  const slower = without.run.calls.filter(({ startedAt, endedAt }) => endedAt - startedAt > plan.delay).length;
  return [
    `${summary.hedges} hedges, ${percent(summary.hedges / summary.calls)} of the calls, ${effect}; ${summary.hedgesWon} of them answered first.`,
    ...(plan.delay === 0
      ? []
      : [
          `hedgingDelay ${showMillis(plan.delay)}: without the policy ${percent(slower / summary.calls)} of the calls take longer.`,
        ]),
  ];
}

function onThrottle({ with: { run, summary }, without, governing, unthrottled }: Simulation): string[] {
  const { tokens, suppressed, calls: facts } = run;
  if (governing.policy.plan.kind === 'none') return [];
  if (tokens === null) {
    const failing = without.summary.ok < without.summary.calls;
    return failing ? ['Nothing throttles: the service config has no retryThrottling.'] : [];
  }
  const { shut } = tokens;
  const { maxMilliTokens } = tokens.limits;
  if (shut.length === 0) {
    const level =
      tokens.lowest === maxMilliTokens
        ? 'stayed full'
        : `went down to ${tokens.lowest / 1000} of ${maxMilliTokens / 1000}`;
    return [`The throttle was never shut: the bucket ${level}, and it shuts at ${maxMilliTokens / 2000}.`];
  }
  const end = facts.reduce((latest, { endedAt }) => Math.max(latest, endedAt), 0);
  const lasted = shut.reduce((sum, { from, to }) => sum + (to ?? end) - from, 0);
  const spans = shut.slice(0, told).map(({ from, to }) => spanOf(from, to));
  const rest = shut.length > told ? `, and ${shut.length - told} times more` : '';
  const total = shut.length > 1 ? `, ${briefly(lasted)} in all` : '';
  const lines = [`The throttle was shut ${spans.join(', ')}${rest}${total}; it held back ${calls(suppressed)}.`];
  if (unthrottled !== null)
    lines.push(
      `Without retryThrottling: ${percent(unthrottled.ok / unthrottled.calls)} of the calls succeed, and backends get ${unthrottled.attempts} attempts instead of ${summary.attempts}, at the worst ${unthrottled.peakPerSecond} in one second instead of ${summary.peakPerSecond}.`,
    );
  return lines;
}

/** @param to null: to the end of the run */
function spanOf(from: number, to: number | null): string {
  if (to === null) return `from ${when(from)} to the end`;
  return to - from < 1000 ? `at ${when(from)} for ${briefly(to - from)}` : `from ${when(from)} to ${when(to)}`;
}

function onPeak({ with: kept, without }: Simulation): string[] {
  const [more, than] = [kept.summary.peakPerSecond, without.summary.peakPerSecond];
  if (than === 0 || more / than < notablePeak) return [];
  return [
    `At the worst, backends get ${more} attempts in one second, ${than} without the policy: ${(more / than).toFixed(1)} times as many.`,
  ];
}

function onFailures({ with: kept, without, governing, world, deadline }: Simulation): string[] {
  const { plan } = governing.policy;
  if (plan.kind === 'none') return [];
  const ended = (reason: StopReason, side: Side = kept): number =>
    side.summary.reasons.find((each) => each.reason === reason)?.calls ?? 0;
  const lines: string[] = [];
  const fatal = kept.run.calls.filter(({ reason }) => reason === 'fatal_status').map(({ code }) => code);
  if (fatal.length > 0)
    lines.push(`${failing(fatal.length)} with ${describeCodes(new Set(fatal))}, which the policy does not try again.`);
  const exhausted = ended('attempts_exhausted');
  if (exhausted > 0) lines.push(`${failing(exhausted)} in all of ${plan.maxAttempts} attempts.`);
  const buffered = ended('buffer_exceeded');
  if (buffered > 0)
    lines.push(
      `${failing(buffered)} and ${buffered === 1 ? 'is' : 'are'} not tried again: requests of ${inBytes(world.requestBytes)} are more than is kept for it.`,
    );
  const pushed = ended('pushback');
  if (pushed > 0) lines.push(`${failing(pushed)} at once as the pushback says so.`);
  const beyond = ended('backoff_beyond_deadline');
  if (beyond > 0) lines.push(`${failing(beyond)} as the next attempt would come after the deadline.`);
  const [late, before] = [ended('deadline_exceeded'), ended('deadline_exceeded', without)];
  if ((late > 0 || before > 0) && deadline !== null)
    lines.push(
      `${calls(late)} ${late === 1 ? 'runs' : 'run'} into the deadline of ${briefly(deadline)}, ${before} without the policy.`,
    );
  return lines;
}

function onParks({ with: { run } }: Simulation): string[] {
  const { parks } = run;
  if (parks.length === 0) return [];
  const shown = parks.slice(0, told).map(({ backend, from, to }) => `${backend} ${when(from)}–${when(to)}`);
  const rest = parks.length > told ? `, and ${parks.length - told} more` : '';
  return [`Backends were parked for failing: ${shown.join(', ')}${rest}.`];
}

function onFewCalls({ without: { summary }, world }: Simulation): string[] {
  if (world.calls >= enoughCalls) return [];
  const beyond = Math.floor(summary.calls / 1000);
  return [`p99.9 rests on ${beyond === 0 ? 'less than one call' : calls(beyond)}: make more, like --calls 100000.`];
}

function calls(number: number): string {
  return number === 1 ? '1 call' : `${number} calls`;
}

function failing(number: number): string {
  return `${calls(number)} ${number === 1 ? 'fails' : 'fail'}`;
}
