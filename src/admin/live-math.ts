import type { LiveCalls, LiveHistogram, LiveSnapshot } from './live.js';

/*
 * What is read off two snapshots: rates, shares and quantiles of the span between them. Pure, and without imports but for
 * types: `hedgerow top` and the dashboard in the browser both take it as it is.
 */

/** Methods that a snapshot tells of, those with most calls. */
export const mostMethods = 50;

/** What happened between two snapshots of one run. */
export interface Span {
  /** Seconds, more than 0. */
  readonly seconds: number;
  /** Differences of the totals. */
  readonly calls: LiveCalls;
  readonly codes: LiveSnapshot['codes'];
  readonly reasons: LiveSnapshot['reasons'];
  readonly attempts: readonly number[];
  readonly latency: LiveSnapshot['latency'];
  /** Calls whose next attempt the throttle held back. */
  readonly suppressed: number;
}

/** A quantile as far as a histogram tells it. */
export type Quantile =
  | { readonly kind: 'known'; readonly ms: number }
  /** It lies above so many ms: in the bucket without a bound, or beyond everything that was seen to its end. */
  | { readonly kind: 'above'; readonly ms: number }
  /** Nothing was counted. */
  | { readonly kind: 'none' };

/**
 * What happened since `previous`; since the start of the program where that is null. Null where the two are not of one
 * run, or no time is between them.
 */
export function spanOf(snapshot: LiveSnapshot, previous: LiveSnapshot | null): Span | null {
  if (previous !== null && previous.instance !== snapshot.instance) return null;
  const seconds = (snapshot.uptime_ms - (previous?.uptime_ms ?? 0)) / 1000;
  if (!(seconds > 0)) return null;
  const { calls, latency } = snapshot;
  const past = previous?.calls;
  return {
    seconds,
    calls: {
      ended: calls.ended - (past?.ended ?? 0),
      ok: calls.ok - (past?.ok ?? 0),
      cancelled: calls.cancelled - (past?.cancelled ?? 0),
      saved: calls.saved - (past?.saved ?? 0),
      retried: calls.retried - (past?.retried ?? 0),
      hedged: calls.hedged - (past?.hedged ?? 0),
      hedges_won: calls.hedges_won - (past?.hedges_won ?? 0),
    },
    codes: countsSince(snapshot.codes, previous?.codes ?? {}),
    reasons: countsSince(snapshot.reasons, previous?.reasons ?? {}),
    attempts: snapshot.attempts.map((count, index) => count - (previous?.attempts[index] ?? 0)),
    latency: {
      calls: histogramSince(latency.calls, previous?.latency.calls),
      first_ended: histogramSince(latency.first_ended, previous?.latency.first_ended),
      first_cut: histogramSince(latency.first_cut, previous?.latency.first_cut),
    },
    suppressed: (snapshot.throttle?.suppressed ?? 0) - (previous?.throttle?.suppressed ?? 0),
  };
}

type Counted<Name extends string> = Readonly<Partial<Record<Name, number>>>;

function countsSince<Name extends string>(now: Counted<Name>, past: Counted<Name>): Record<Name, number> {
  const changed = {} as Record<Name, number>;
  // The keys are of these names by their type; Object.keys only forgets it.
  for (const name of Object.keys(now) as Name[]) {
    const count = (now[name] ?? 0) - (past[name] ?? 0);
    if (count > 0) changed[name] = count;
  }
  return changed;
}

/** Their difference, bucket by bucket; `now` itself where the past is not known or had other bounds. */
export function histogramSince(now: LiveHistogram, past: LiveHistogram | undefined): LiveHistogram {
  if (past === undefined || past.counts.length !== now.counts.length) return now;
  return { bounds_ms: now.bounds_ms, counts: now.counts.map((count, index) => count - (past.counts[index] ?? 0)) };
}

/** Calls a second. */
export function callRate({ seconds, calls }: Span): number {
  return calls.ended / seconds;
}

/** Calls whose end says something: a client that cancels its call judges nobody. */
export function judged({ ended, cancelled }: Pick<LiveCalls, 'ended' | 'cancelled'>): number {
  return Math.max(0, ended - cancelled);
}

/** Share of the judged calls that ended OK, 0 to 1; null where there were none. */
export function successShare(span: Span): number | null {
  const all = judged(span.calls);
  return all === 0 ? null : Math.min(1, span.calls.ok / all);
}

/** What that share would have been without retries and hedges: calls that a further attempt saved count as failed. */
export function successShareWithout(span: Span): number | null {
  const all = judged(span.calls);
  return all === 0 ? null : Math.max(0, Math.min(1, (span.calls.ok - span.calls.saved) / all));
}

/** Mean attempts of a call; null without calls. The last count is of that many attempts or more, and counts as that many. */
export function attemptsPerCall({ attempts }: Span): number | null {
  let calls = 0;
  let sum = 0;
  for (const [index, count] of attempts.entries()) {
    calls += count;
    sum += count * (index + 1);
  }
  return calls === 0 ? null : sum / calls;
}

/** @param q 0 to 1. Within a bucket counts are taken as spread evenly, as Prometheus does it. */
export function quantile({ bounds_ms, counts }: LiveHistogram, q: number): Quantile {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total <= 0) return { kind: 'none' };
  const rank = q * total;
  let below = 0;
  for (const [index, count] of counts.entries()) {
    if (count > 0 && below + count >= rank) return within(bounds_ms, index, (rank - below) / count);
    below += count;
  }
  return { kind: 'above', ms: bounds_ms.at(-1) ?? 0 };
}

/**
 * How long first attempts would have taken, had none been cut: Kaplan and Meier's estimate, in its form for counts by
 * bucket, where those cut in a bucket were at risk for half of it. Both histograms have the same bounds.
 *
 * @returns `above` X where the attempts that were seen to their end do not tell: the quantile lies beyond what was seen
 */
export function quantileUncut(ended: LiveHistogram, cut: LiveHistogram, q: number): Quantile {
  const { bounds_ms, counts } = ended;
  let atRisk = [...counts, ...cut.counts].reduce((sum, count) => sum + count, 0);
  if (atRisk <= 0) return { kind: 'none' };
  let surviving = 1;
  let seen = 0;
  for (const [index, died] of counts.entries()) {
    const left = cut.counts[index] ?? 0;
    if (died > 0) {
      const after = surviving * Math.max(0, 1 - died / (atRisk - left / 2));
      // A millionth is rounding: q of 0.99 must not miss a curve that ends at 0.01.
      if (after <= 1 - q + 1e-6) return within(bounds_ms, index, (surviving - (1 - q)) / (surviving - after));
      surviving = after;
    }
    if (died + left > 0) seen = index;
    atRisk -= died + left;
  }
  return { kind: 'above', ms: seen === 0 ? 0 : (bounds_ms[seen - 1] ?? 0) };
}

/**
 * The quantile of all calls, had none been hedged. Calls whose first attempt was cut are known to have taken at least as long
 * as they did, and no more: they count as cut when they ended. Of the same calls as `quantile(latency.calls, q)`, so that the
 * two can be compared. It takes slow calls of all methods to be alike, which an estimate for a whole proxy has to.
 */
export function quantileUnhedged({ calls, first_cut }: LiveSnapshot['latency'], q: number): Quantile {
  const counts = calls.counts.map((count, index) => Math.max(0, count - (first_cut.counts[index] ?? 0)));
  const found = quantileUncut({ bounds_ms: calls.bounds_ms, counts }, first_cut, q);
  const least = quantile(calls, q);
  // Without hedges no call is sooner: where the estimate ends, what calls did take is known still.
  return found.kind === 'above' && least.kind !== 'none' ? { kind: 'above', ms: Math.max(found.ms, least.ms) } : found;
}

function within(bounds: readonly number[], index: number, share: number): Quantile {
  const from = index === 0 ? 0 : (bounds[index - 1] ?? 0);
  const to = bounds[index];
  // The bucket without a bound.
  if (to === undefined) return { kind: 'above', ms: from };
  return { kind: 'known', ms: from + (to - from) * Math.min(1, Math.max(0, share)) };
}

/** How things are, in one sentence. */
export interface Headline {
  /** `bad`: clients feel it, or would at the next failure. `warn`: something needs a look. */
  readonly level: 'ok' | 'warn' | 'bad';
  readonly text: string;
}

/** Shares of judged calls from which failures are told as such. */
const failing = { warn: 0.01, bad: 0.05 } as const;

/**
 * Statuses that say of a server that it is in trouble, whoever ended the call and why; with the others an application answers
 * what it was asked. Those of HedgerowCallsFail in deploy/alerts.yml: who is woken finds the same told here.
 */
export const failureCodes: readonly string[] = [
  'UNAVAILABLE',
  'INTERNAL',
  'UNKNOWN',
  'DEADLINE_EXCEEDED',
  'RESOURCE_EXHAUSTED',
  'DATA_LOSS',
];

/**
 * The sentence that comes first: what keeps calls from being answered, else what keeps them from being retried, else what
 * fails, else what a backend has, else that all is well and what retries and hedges did for it.
 *
 * @param previous where the span begins whose calls count; null: at the start of the program
 */
export function headline(snapshot: LiveSnapshot, previous: LiveSnapshot | null): Headline {
  const span = spanOf(snapshot, previous);
  return (
    unanswered(snapshot) ??
    unretried(snapshot) ??
    failures(span) ??
    troubles(snapshot) ?? { level: 'ok', text: calm(span) }
  );
}

function unanswered({ backends, draining, drained, ready }: LiveSnapshot): Headline | null {
  if (drained) return { level: 'warn', text: 'Drained: it waits for the signal to end.' };
  if (draining) return { level: 'warn', text: 'Draining: no new clients are let in, calls in flight finish.' };
  if (backends.length === 0) return { level: 'bad', text: 'No backends are known: every call ends UNAVAILABLE.' };
  if (!ready) return { level: 'bad', text: 'No backend can be reached: calls end UNAVAILABLE.' };
  const parked = backends.filter(({ state }) => state === 'parked');
  if (parked.length > 0 && !backends.some(({ state }) => state === 'ready' || state === 'rate_limited'))
    return { level: 'bad', text: 'Every backend that is connected is parked: calls go to them all the same.' };
  return null;
}

function unretried({ throttle }: LiveSnapshot): Headline | null {
  if (throttle === null || !throttle.shut) return null;
  const { tokens, threshold } = throttle;
  const text = `Retries are held back: too many attempts fail (${round(tokens)} tokens; above ${round(threshold)} they go on).`;
  return { level: 'bad', text };
}

function failures(span: Span | null): Headline | null {
  if (span === null) return null;
  const all = judged(span.calls);
  let failed = 0;
  let most: { code: string; count: number } | null = null;
  for (const code of failureCodes) {
    const count = span.codes[code] ?? 0;
    failed += count;
    if (count > (most?.count ?? 0)) most = { code, count };
  }
  const share = all === 0 ? 0 : Math.min(1, failed / all);
  if (most === null || share < failing.warn) return null;
  const text = `${percent(share)} of calls fail, most often with ${most.code}.`;
  return { level: share >= failing.bad ? 'bad' : 'warn', text };
}

function troubles({ backends, config }: LiveSnapshot): Headline | null {
  if (config.rejected)
    return { level: 'warn', text: 'The service config was changed and refused: the last good one is in force.' };
  const amiss = backends.filter(({ state }) => state !== 'ready');
  if (amiss.length === 0) return null;
  const well = backends.length - amiss.length;
  const named = amiss.slice(0, 2).map(({ name, state }) => `${name} is ${state.replace('_', ' ')}`);
  const who = `${named.join(', ')}${amiss.length > 2 ? `, and ${amiss.length - 2} more` : ''}`;
  return { level: 'warn', text: `${well} of ${backends.length} backends are ready: ${who}.` };
}

function calm(span: Span | null): string {
  if (span === null || span.calls.ended === 0) return 'All is well; no calls just now.';
  const { saved, hedges_won } = span.calls;
  const all = judged(span.calls);
  const parts: string[] = [];
  if (saved > 0 && all > 0) parts.push(`retries saved ${percent(saved / all)} of the calls`);
  if (hedges_won > 0 && all > 0)
    parts.push(`hedges answered ${percent(hedges_won / all)} ${saved > 0 ? 'of them' : 'of the calls'} first`);
  return parts.length === 0 ? 'All is well; nothing had to be retried.' : `All is well: ${parts.join(', ')}.`;
}

/** 0.2 %, 12 %; never a round 0 or 100 for what is not. @param share 0 to 1 */
export function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 0.01) return 'under 0.01 %';
  if (value < 100 && value > 99.99) return 'over 99.99 %';
  const digits = value < 1 || value > 99 ? 2 : value < 10 || value > 90 ? 1 : 0;
  return `${String(Number(value.toFixed(digits)))} %`;
}

function round(tokens: number): string {
  return String(Math.round(tokens * 10) / 10);
}
