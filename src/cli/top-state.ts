import type { LiveSnapshot, RecentCall } from '../admin/live.js';
import type { Key } from './top-keys.js';

/** Columns and rows. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** What is seen: the last read, and the one where the span of its rates begins. */
export interface Shown {
  readonly snapshot: LiveSnapshot;
  /** Null: the start of the program. */
  readonly previous: LiveSnapshot | null;
  /** Newest first. */
  readonly calls: readonly RecentCall[];
}

/** How it stands with the proxy. */
export type Link =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'up' }
  /** `since`: clock ms of the first failure in a row. */
  | { readonly kind: 'lost'; readonly why: string; readonly since: number };

export interface TopState {
  readonly link: Link;
  /** Of one run of the proxy, oldest first; the last is the latest. */
  readonly history: readonly LiveSnapshot[];
  readonly calls: readonly RecentCall[];
  /** What stands still on the screen; null: nothing does. */
  readonly paused: Shown | null;
  /** Calls must hold it; empty: any. */
  readonly filter: string;
  /** What is being typed after `/`; null: nothing is. */
  readonly typing: string | null;
  /** Calls that ended OK at their first attempt are shown too. */
  readonly all: boolean;
  /** `seq` of the call whose end is told in words; null: the newest one that is shown. */
  readonly chosen: number | null;
  readonly over: boolean;
}

export type TopEvent =
  | { readonly type: 'read'; readonly snapshot: LiveSnapshot; readonly calls: readonly RecentCall[] }
  /** `now`: clock ms. */
  | { readonly type: 'failed'; readonly why: string; readonly now: number }
  | { readonly type: 'key'; readonly key: Key };

export const firstState: TopState = {
  link: { kind: 'waiting' },
  history: [],
  calls: [],
  paused: null,
  filter: '',
  typing: null,
  all: false,
  chosen: null,
  over: false,
};

/** Rates are those of so long a time (ms), or of one interval where that is longer. */
const spanMs = 10_000;
/** Calls that a page moves by. */
const page = 10;

/** What the screen shows; null before anything was read. */
export function shownOf({ paused, history, calls }: TopState): Shown | null {
  if (paused !== null) return paused;
  const snapshot = history.at(-1);
  if (snapshot === undefined) return null;
  return { snapshot, previous: history.length > 1 ? (history[0] ?? null) : null, calls };
}

/** Those of the calls that are listed, newest first. */
export function listed({ filter, all }: Pick<TopState, 'filter' | 'all'>, calls: readonly RecentCall[]): RecentCall[] {
  const wanted = filter.toLowerCase();
  return calls.filter((call) => {
    if (!all && call.code === 'OK' && call.attempts.length <= 1) return false;
    return wanted === '' || wordsOf(call).some((word) => word.toLowerCase().includes(wanted));
  });
}

function wordsOf({ call, method, code, reason, attempts }: RecentCall): string[] {
  return [call, method, code, reason, ...attempts.flatMap(({ backend, code: end }) => [backend ?? '', end])];
}

/** What `hedgerow top` makes of an event. Pure. */
export function step(state: TopState, event: TopEvent): TopState {
  switch (event.type) {
    case 'read':
      return {
        ...state,
        link: { kind: 'up' },
        history: remember(state.history, event.snapshot),
        calls: [...event.calls].sort((a, b) => b.seq - a.seq),
        // Another run counts from 1 again.
        chosen: event.snapshot.instance === state.history.at(-1)?.instance ? state.chosen : null,
      };
    case 'failed': {
      const since = state.link.kind === 'lost' ? state.link.since : event.now;
      return { ...state, link: { kind: 'lost', why: event.why, since } };
    }
    case 'key':
      return state.typing === null ? press(state, event.key) : type(state, event.key, state.typing);
    default:
      return event satisfies never;
  }
}

/** Keeps one snapshot that is as old as the span, and those after it. */
function remember(history: readonly LiveSnapshot[], snapshot: LiveSnapshot): readonly LiveSnapshot[] {
  const last = history.at(-1);
  if (last === undefined || last.instance !== snapshot.instance) return [snapshot];
  if (snapshot.uptime_ms <= last.uptime_ms) return history;
  const begins = snapshot.uptime_ms - spanMs;
  const first = history.findLastIndex(({ uptime_ms }) => uptime_ms <= begins);
  return [...history.slice(Math.max(0, first)), snapshot];
}

function press(state: TopState, key: Key): TopState {
  switch (key) {
    case 'q':
    case 'interrupt':
      return { ...state, over: true };
    case 'p':
    case ' ':
      return { ...state, paused: state.paused === null ? shownOf(state) : null };
    case 'a':
      return { ...state, all: !state.all };
    case '/':
      return { ...state, typing: state.filter };
    case 'escape':
      return { ...state, filter: '', chosen: null };
    case 'j':
    case 'down':
      return move(state, 1);
    case 'k':
    case 'up':
      return move(state, -1);
    case 'pagedown':
      return move(state, page);
    case 'pageup':
      return move(state, -page);
    case 'g':
    case 'home':
      return { ...state, chosen: null };
    case 'G':
    case 'end':
      return move(state, Number.POSITIVE_INFINITY);
    default:
      return state;
  }
}

/** The list moves under the reader as calls come: it is the call that stays chosen, not the line. */
function move(state: TopState, by: number): TopState {
  const calls = listed(state, shownOf(state)?.calls ?? []);
  const to = Math.min(calls.length - 1, Math.max(0, indexOf(calls, state.chosen) + by));
  return { ...state, chosen: to <= 0 ? null : (calls[to]?.seq ?? null) };
}

/** Where the chosen call is; of one that is listed no more, where it would be. */
export function indexOf(calls: readonly RecentCall[], chosen: number | null): number {
  if (chosen === null) return 0;
  const at = calls.findIndex(({ seq }) => seq <= chosen);
  return at === -1 ? Math.max(0, calls.length - 1) : at;
}

function type(state: TopState, key: Key, typing: string): TopState {
  switch (key) {
    case 'interrupt':
      return { ...state, over: true };
    case 'enter':
      return { ...state, filter: typing.trim(), typing: null, chosen: null };
    case 'escape':
      return { ...state, typing: null };
    case 'backspace':
      return { ...state, typing: [...typing].slice(0, -1).join('') };
    default:
      return [...key].length === 1 && typing.length < 60 ? { ...state, typing: typing + key } : state;
  }
}
