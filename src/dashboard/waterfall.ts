import type { RecentCall } from '../admin/live.js';
import { outcomeWords } from '../text/words.js';

/* Where the parts of a call's waterfall stand. Pure: shares of the call's time, for whoever draws it. */

type Attempt = RecentCall['attempts'][number];

/** From and length as shares of the axis, 0 to 1. */
export interface Stretch {
  readonly from: number;
  readonly length: number;
}

/** How a bar is filled. */
export type BarKind = 'ok' | 'failed' | 'lost' | 'cancelled' | 'unplaced';

/** One attempt's line. */
export interface Lane {
  /** From 1. */
  readonly number: number;
  readonly backend: string | null;
  readonly cause: Attempt['cause'];
  readonly bar: Stretch & { readonly kind: BarKind };
  /** What lay between it and what came before: a backoff after a failure, or a hedge's delay. Null: nothing to see. */
  readonly gap: (Stretch & { readonly kind: 'backoff' | 'hedge'; readonly ms: number }) | null;
  /** What the backend said of a further attempt, at the bar's end. */
  readonly pushback: Attempt['pushback'];
  /** The client was told its end. */
  readonly told: boolean;
  readonly ms: number;
  /** In words: `OK`, `UNAVAILABLE`, `cancelled`. */
  readonly outcome: string;
}

export interface Tick {
  /** 0 to 1. */
  readonly at: number;
  readonly ms: number;
}

export interface Waterfall {
  /** The axis' length (ms), more than 0. */
  readonly ms: number;
  readonly lanes: readonly Lane[];
  readonly ticks: readonly Tick[];
}

/** The shortest bar that is still seen, as a share of the axis. */
const leastBar = 0.006;
/** A gap narrower than this is not worth a mark. */
const leastGap = 0.01;

export function waterfallOf({ ms, attempts }: Pick<RecentCall, 'ms' | 'attempts'>): Waterfall {
  const length = Math.max(0.001, ms, ...attempts.map((attempt) => attempt.at + attempt.ms));
  return {
    ms: length,
    lanes: attempts.map((attempt, index) => laneOf(attempt, index, attempts, length)),
    ticks: ticksOf(length),
  };
}

function laneOf(attempt: Attempt, index: number, all: readonly Attempt[], length: number): Lane {
  const { backend, cause, at, ms, result, code, pushback, told } = attempt;
  const share = Math.min(1, Math.max(leastBar, ms / length));
  return {
    number: index + 1,
    backend,
    cause,
    bar: { from: Math.min(at / length, 1 - share), length: share, kind: result },
    gap: gapOf(attempt, all.slice(0, index), length),
    pushback,
    told: told === true,
    ms,
    outcome: outcomeWords(result, code),
  };
}

/** A retry waits from the end of the attempt before, a hedge from the start of the one before. */
function gapOf({ cause, at }: Attempt, before: readonly Attempt[], length: number): Lane['gap'] {
  const previous = before.at(-1);
  if (previous === undefined) return null;
  const kind = cause === 'hedge' ? 'hedge' : 'backoff';
  const from = kind === 'hedge' ? previous.at : previous.at + previous.ms;
  const ms = at - from;
  return ms / length < leastGap ? null : { kind, ms, from: from / length, length: ms / length };
}

/** Round marks, three to five of them: their words must have room beside each other. */
function ticksOf(length: number): Tick[] {
  const step = roundStep(length / 4);
  const ticks: Tick[] = [];
  for (let index = 0; index * step <= length * 1.0001; index += 1) {
    ticks.push({ at: Math.min(1, (index * step) / length), ms: index * step });
  }
  return ticks;
}

/** The next of 1, 2, 5, 10, … from there up. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((one) => one * power >= least * 0.9999) ?? 10;
  return factor * power;
}
