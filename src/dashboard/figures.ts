import type { LiveSnapshot, RecentCall } from '../admin/live.js';
import {
  judged,
  mostMethods,
  percent,
  quantile,
  quantileUnhedged,
  type Span,
  successShare,
  successShareWithout,
} from '../admin/live-math.js';
import { amount, quantileWords, shortMethod, span } from '../text/words.js';
import { count } from './count.js';

/* What the page says in figures. Pure. */

/** One figure with its name and what it means. */
export interface Figure {
  readonly value: string;
  readonly note: string;
}

/** What clients got, and what they would have had without the policy. */
export interface Felt {
  readonly success: Figure;
  readonly successWithout: Figure;
  readonly p99: Figure;
  readonly p99Without: Figure;
}

export function feltOf(period: Span | null): Felt {
  if (period === null || period.calls.ended === 0) {
    const none: Figure = { value: '–', note: 'no calls yet' };
    return { success: none, successWithout: none, p99: none, p99Without: none };
  }
  const { calls, latency } = period;
  const failed = Math.max(0, judged(calls) - calls.ok);
  return {
    success: {
      value: share(successShare(period)),
      note: failed === 0 ? 'all of them' : `${count(failed, 'call')} ended otherwise`,
    },
    successWithout: {
      value: share(successShareWithout(period)),
      note: calls.saved === 0 ? 'nothing had to be saved' : `${count(calls.saved, 'call')} saved by a further attempt`,
    },
    p99: {
      value: quantileWords(quantile(latency.calls, 0.99)),
      note: `p50 ${quantileWords(quantile(latency.calls, 0.5))}`,
    },
    p99Without:
      calls.hedged === 0
        ? { value: '–', note: 'no call was hedged' }
        : {
            value: quantileWords(quantileUnhedged(latency, 0.99)),
            note: `${count(calls.hedged, 'hedged call')}; ${calls.hedges_won} won by the hedge`,
          },
  };
}

function share(value: number | null): string {
  return value === null ? '–' : percent(value);
}

/** `since the start, 42 s ago`, `over the last 5 min`. */
export function periodWords(period: Span | null, fromStart: boolean): string {
  if (period === null) return '';
  const length = span(period.seconds * 1000);
  return fromStart ? `since the start, ${length} ago` : `over the last ${length}`;
}

/** One row of a short list: something, and how often. */
export interface Tally {
  readonly name: string;
  readonly count: number;
}

/** Why calls ended as they did, OK aside, most frequent first. */
export function endsOf({ reasons }: Span, most: number): readonly Tally[] {
  return Object.entries(reasons)
    .flatMap(([name, times]) => (name === 'ok' ? [] : [{ name, count: times }]))
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))
    .slice(0, most);
}

/** What made further attempts of a method necessary, and how often. */
export interface Cause {
  readonly method: string;
  /** `UNAVAILABLE`, `connection lost`, `slow`. */
  readonly why: string;
  readonly count: number;
}

/** Of the calls that are kept: why an attempt was followed by another one, most frequent first. */
export function causesOf(calls: readonly RecentCall[], most: number): readonly Cause[] {
  const causes = new Map<string, Cause>();
  for (const { method, attempts } of calls) {
    for (const [index, attempt] of attempts.entries()) {
      const next = attempts[index + 1];
      if (next === undefined) continue;
      const why = causeOf(attempt, next);
      const key = `${method} ${why}`;
      causes.set(key, { method, why, count: (causes.get(key)?.count ?? 0) + 1 });
    }
  }
  return [...causes.values()].sort((a, b) => b.count - a.count || (a.method < b.method ? -1 : 1)).slice(0, most);
}

type Attempt = RecentCall['attempts'][number];

function causeOf({ result, code }: Attempt, { cause, trigger }: Attempt): string {
  // A hedge that its delay sent says of the attempt before it that it was slow, whatever became of that one.
  if (cause === 'hedge' && trigger !== 'nonfatal') return 'slow';
  if (result === 'lost') return 'connection lost';
  return result === 'unplaced' ? 'no connection' : code;
}

/** One row of the table of methods. */
export interface MethodRow {
  /** As the metrics have it, and short. */
  readonly method: string;
  readonly name: string;
  readonly calls: string;
  readonly success: string;
  readonly successWithout: string;
  readonly retried: string;
  readonly hedged: string;
}

const noFigures = { calls: '–', success: '–', successWithout: '–', retried: '–', hedged: '–' } as const;

/**
 * One that has come among those that are told of since `previous` has no figures: how many of its calls are older is unknown.
 *
 * @param previous where the span begins; null: at the start
 */
export function methodRows({ methods }: LiveSnapshot, previous: LiveSnapshot | null): readonly MethodRow[] {
  const before = new Map((previous?.methods ?? []).map((one) => [one.method, one]));
  return methods.flatMap((now) => {
    const past = before.get(now.method);
    const name = shortMethod(`/${now.method}`).replace(/^\//, '');
    if (past === undefined && before.size >= mostMethods) return [{ method: now.method, name, ...noFigures }];
    const ended = now.ended - (past?.ended ?? 0);
    if (ended <= 0) return [];
    const of = (key: 'ok' | 'cancelled' | 'saved' | 'retried' | 'hedged'): number => now[key] - (past?.[key] ?? 0);
    const all = judged({ ended, cancelled: of('cancelled') });
    return [
      {
        method: now.method,
        name,
        calls: amount(ended),
        success: share(all === 0 ? null : of('ok') / all),
        successWithout: share(all === 0 ? null : Math.max(0, of('ok') - of('saved')) / all),
        retried: percent(of('retried') / ended),
        hedged: percent(of('hedged') / ended),
      },
    ];
  });
}
