import type { Verdict } from '../../../src/balance/blame.js';
import type { Standing } from '../../../src/balance/types.js';

/** What happened to one backend, in order. */
export type Happening = { readonly at: number } & (
  | { readonly kind: 'began'; readonly attempt: number }
  | { readonly kind: 'answered'; readonly attempt: number }
  | { readonly kind: 'ended'; readonly attempt: number; readonly verdict: Verdict }
  | { readonly kind: 'connected' }
  | { readonly kind: 'checked'; readonly serving: boolean }
  | { readonly kind: 'parked'; readonly ms: number | null }
  | { readonly kind: 'unparked' }
);

/** How a backend stands. */
export interface Reckoned {
  readonly standing: Standing;
  readonly rate: number;
  readonly consecutive: number;
  readonly hard: number;
  readonly streak: number;
  /** The latest end of what parks it; 0 where nothing does any more. */
  readonly until: number;
}

interface Span {
  /** After how many happenings it was set. */
  readonly set: number;
  readonly until: number;
}

const forever = Number.POSITIVE_INFINITY;

/**
 * A second, naive reckoning of D20 and 4.3, by the defaults: the whole history again for each question, attempts by their
 * numbers, no marks, nothing kept between.
 */
export function reckon(history: readonly Happening[], now: number): Reckoned {
  const beganAt = new Map<number, number>();
  let failures: { at: number; hard: boolean; transport: boolean }[] = [];
  let forgiven = 0;
  /** Where the row begins: a probe's headers forgive some of it and leave the rest of one row. */
  let rowFrom = 0;
  let rate = 0;
  let lastSuccess = -forever;
  let park: Span | null = null;
  let lastPark: Span | null = null;
  let streak = 0;
  let limit: Span | null = null;
  const limitSets: number[] = [];
  let lastLimit = -forever;
  let limitStreak = 0;
  let hand: number | null = null;
  let refused = false;
  let probe: { attempt: number; at: number } | null = null;

  const hardOnes = () => failures.filter(({ hard }) => hard).slice(forgiven);
  const forgiveAll = () => {
    forgiven += hardOnes().length;
    rowFrom = forgiven;
  };
  const standingAt = (time: number): Standing => {
    if (refused || (hand !== null && time < hand) || (park !== null && time < park.until)) return 'parked';
    if (limit !== null && time < limit.until) return 'rate_limited';
    const last = failures.at(-1)?.at ?? -forever;
    if (park !== null || hardOnes().length >= 3) {
      if (park === null && time < last + 30_000) return 'breached';
      return probe !== null && time < probe.at + 30_000 ? 'probing' : 'lapsed';
    }
    return time < last + 30_000 ? 'recent' : 'clean';
  };

  history.forEach((happening, index) => {
    const { at } = happening;
    switch (happening.kind) {
      case 'began':
        beganAt.set(happening.attempt, index);
        if (standingAt(at) === 'lapsed') probe = { attempt: happening.attempt, at };
        return;
      case 'answered':
        if (probe?.attempt !== happening.attempt) return;
        probe = null;
        park = null;
        forgiven += Math.max(0, hardOnes().length - 2);
        return;
      case 'connected': {
        const row = failures.filter(({ hard }) => hard).slice(rowFrom);
        if (hardOnes().length === 0 || row.some(({ transport }) => !transport)) return;
        forgiveAll();
        park = null;
        probe = null;
        return;
      }
      case 'checked':
        refused = !happening.serving;
        if (happening.serving) {
          if (park !== null) forgiveAll();
          park = null;
          probe = null;
        }
        return;
      case 'parked':
        hand = happening.ms === null ? forever : at + happening.ms;
        return;
      case 'unparked':
        hand = null;
        refused = false;
        limit = null;
        limitStreak = 0;
        park = null;
        probe = null;
        streak = 0;
        forgiveAll();
        return;
      case 'ended':
        break;
      default:
        happening satisfies never;
        return;
    }
    const { verdict, attempt } = happening;
    const began = beganAt.get(attempt) ?? 0;
    if (probe?.attempt === attempt) probe = null;
    switch (verdict.kind) {
      case 'success':
        if (verdict.counts) rate *= 0.9;
        lastSuccess = at;
        failures = [];
        forgiven = 0;
        rowFrom = 0;
        park = null;
        probe = null;
        streak = 0;
        limitStreak = 0;
        return;
      case 'neutral':
        return;
      case 'failure': {
        rate = rate * 0.9 + 0.1;
        failures.push({ at, hard: true, transport: verdict.cause === 'transport' });
        const dead = at >= lastSuccess + 60_000;
        const later = lastPark === null || began > lastPark.set;
        const lasts = park !== null && at < park.until;
        if (hardOnes().length < 3 || !later || lasts || !(dead || rate >= 0.5)) return;
        park = { set: index, until: at + (streak === 0 ? 30_000 : streak === 1 ? 60_000 : 120_000) };
        lastPark = park;
        probe = null;
        streak += 1;
        return;
      }
      case 'rateLimited': {
        failures.push({ at, hard: false, transport: false });
        if (at >= lastLimit + 120_000) limitStreak = 0;
        lastLimit = at;
        const early = limitSets.some((set) => set > began);
        if (early && verdict.ms === null) return;
        const ms = Math.min(verdict.ms ?? [10_000, 20_000, 40_000][limitStreak] ?? 60_000, 60_000);
        if (at + ms <= Math.max(at, limit !== null && limit.until > at ? limit.until : 0)) return;
        if (!early || limitStreak === 0) limitStreak += 1;
        limit = { set: index, until: at + ms };
        limitSets.push(index);
        return;
      }
      default:
        verdict satisfies never;
    }
  });
  const ends = [refused ? forever : 0, hand ?? 0, untilOf(park), untilOf(limit)].filter((end) => end > now);
  return {
    standing: standingAt(now),
    rate,
    consecutive: failures.length,
    hard: hardOnes().length,
    streak,
    until: Math.max(0, ...ends),
  };
}

function untilOf(span: Span | null): number {
  return span?.until ?? 0;
}
