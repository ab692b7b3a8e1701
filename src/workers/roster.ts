/*
 * Which workers there are, and what follows when one starts, is ready, or ends. Pure: what is due stands in the roster, and is
 * done when the next event comes, `woke` at the latest. The roster is changed in place, by `stepRoster` alone.
 */

/** A worker that dies sooner after its ready than this died quickly, as does one that never was ready. Milliseconds. */
const quickDeath = 10_000;

/** One that has lived so long since its ready ends its place's row of quick deaths. Milliseconds. */
const longLife = 60_000;

/** The wait after the first quick death in a row; twice as long after each further one, up to the most. Milliseconds. */
const firstWait = 250;
const longestWait = 30_000;

interface Place {
  /** Quick deaths in a row. */
  row: number;
  holds: PlaceHolder;
}

type PlaceHolder =
  /** Its first worker is started when the very first is ready. */
  | { readonly kind: 'none' }
  | { readonly kind: 'due'; readonly at: number }
  | { readonly kind: 'starting'; readonly worker: number }
  | { readonly kind: 'ready'; readonly worker: number; readonly since: number };

/** All workers of a run, and those that are due. */
export interface Roster {
  readonly places: readonly Place[];
  lastId: number;
  /** All have been ready at one time: from now on one that ends is replaced, whatever it ended of. */
  started: boolean;
  /** None is started any more. */
  ending: boolean;
  /** The end has been told. */
  over: boolean;
}

export type RosterEvent =
  /** Once, first. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'ready'; readonly worker: number }
  /** It cannot start; its process ends by itself. @param problem a sentence, for people */
  | { readonly kind: 'failed'; readonly worker: number; readonly problem: string }
  /** Its process is gone. Once for each. */
  | { readonly kind: 'gone'; readonly worker: number; readonly code: number | null; readonly signal: string | null }
  /** Calls are finished, or the run is stopped: nobody is replaced. */
  | { readonly kind: 'ending' }
  /** The time of `wakeAt` has come. */
  | { readonly kind: 'woke' };

export type RosterDecision =
  /**
   * Start a process with this number; numbers go up from 1, none is used again.
   *
   * @param place from 0, less than the workers there are to be: who takes a place has the share that goes with it
   */
  | { readonly kind: 'fork'; readonly worker: number; readonly place: number }
  /** For the log. */
  | {
      readonly kind: 'tell';
      readonly level: 'debug' | 'info' | 'warn' | 'error';
      readonly worker: number;
      readonly message: string;
    }
  /** All are ready. Once. */
  | { readonly kind: 'ready' }
  /** The run cannot start, in a sentence: stop those that there are and end. Once, and never after `ready`. */
  | { readonly kind: 'giveUp'; readonly problem: string }
  /** The last one is gone and none is to come. Once. */
  | { readonly kind: 'allGone' };

export interface RosterStep {
  readonly decisions: readonly RosterDecision[];
  /** Clock milliseconds at which `woke` is due; null: nothing waits. */
  readonly wakeAt: number | null;
}

/** @param workers how many there are to be, 1 or more */
export function createRoster(workers: number): Roster {
  const places = Array.from({ length: workers }, (): Place => ({ row: 0, holds: { kind: 'none' } }));
  return { places, lastId: 0, started: false, ending: false, over: false };
}

/** @param now clock milliseconds, never less than the time before */
export function stepRoster(roster: Roster, event: RosterEvent, now: number): RosterStep {
  const decisions: RosterDecision[] = [];
  take(roster, event, now, decisions);
  startDue(roster, now, decisions);
  settle(roster, decisions);
  return { decisions, wakeAt: nextDue(roster) };
}

function take(roster: Roster, event: RosterEvent, now: number, decisions: RosterDecision[]): void {
  switch (event.kind) {
    case 'begun': {
      const [first] = roster.places;
      // Alone: it binds the addresses, and what is wrong with one is said once.
      if (first !== undefined) first.holds = { kind: 'due', at: now };
      return;
    }
    case 'ready':
      becomeReady(roster, event.worker, now, decisions);
      return;
    case 'failed':
      if (placeOf(roster, event.worker) === undefined || roster.ending) return;
      if (roster.started) {
        const message = `worker ${event.worker} cannot start: ${event.problem}`;
        decisions.push({ kind: 'tell', level: 'error', worker: event.worker, message });
      } else giveUp(roster, event.problem, decisions);
      return;
    case 'gone':
      leave(roster, event, now, decisions);
      return;
    case 'ending':
      roster.ending = true;
      return;
    case 'woke':
      return;
    default:
      event satisfies never;
  }
}

function becomeReady(roster: Roster, worker: number, now: number, decisions: RosterDecision[]): void {
  const place = placeOf(roster, worker);
  if (place?.holds.kind !== 'starting') return;
  place.holds = { kind: 'ready', worker, since: now };
  const level = roster.started ? 'info' : 'debug';
  decisions.push({ kind: 'tell', level, worker, message: `worker ${worker} is ready` });
  for (const other of roster.places) if (other.holds.kind === 'none') other.holds = { kind: 'due', at: now };
}

function leave(
  roster: Roster,
  { worker, code, signal }: Extract<RosterEvent, { kind: 'gone' }>,
  now: number,
  decisions: RosterDecision[],
): void {
  const place = placeOf(roster, worker);
  if (place === undefined) return;
  const lived = place.holds.kind === 'ready' ? now - place.holds.since : null;
  const end = `worker ${worker} ${endInWords(code, signal)}`;
  const age = lived === null ? 'before it was ready' : `${seconds(lived)} after it was ready`;
  place.holds = { kind: 'none' };
  if (roster.ending) {
    const level = code === 0 ? 'debug' : 'warn';
    decisions.push({ kind: 'tell', level, worker, message: end });
    return;
  }
  if (!roster.started && lived === null) {
    giveUp(roster, `${end} ${age}`, decisions);
    return;
  }
  const wait = waitAfter(place, lived);
  place.holds = { kind: 'due', at: now + wait };
  const when = wait === 0 ? 'now' : `in ${seconds(wait)}`;
  const message = `${end} ${age}; another takes its place ${when}`;
  decisions.push({ kind: 'tell', level: 'error', worker, message });
}

/** Notes a death in its place's row. @param lived since its ready; null: it never was */
function waitAfter(place: Place, lived: number | null): number {
  if (lived !== null && lived >= longLife) place.row = 0;
  if (lived !== null && lived >= quickDeath) return 0;
  const wait = Math.min(firstWait * 2 ** place.row, longestWait);
  place.row += 1;
  return wait;
}

function giveUp(roster: Roster, problem: string, decisions: RosterDecision[]): void {
  roster.ending = true;
  decisions.push({ kind: 'giveUp', problem });
}

function startDue(roster: Roster, now: number, decisions: RosterDecision[]): void {
  for (const [index, place] of roster.places.entries()) {
    if (place.holds.kind !== 'due') continue;
    if (roster.ending) place.holds = { kind: 'none' };
    else if (now >= place.holds.at) {
      roster.lastId += 1;
      place.holds = { kind: 'starting', worker: roster.lastId };
      decisions.push({ kind: 'fork', worker: roster.lastId, place: index });
    }
  }
}

/** Says what has come about. */
function settle(roster: Roster, decisions: RosterDecision[]): void {
  if (roster.ending) {
    if (roster.over || roster.places.some(({ holds }) => holds.kind !== 'none')) return;
    roster.over = true;
    decisions.push({ kind: 'allGone' });
  } else if (!roster.started && roster.places.every(({ holds }) => holds.kind === 'ready')) {
    roster.started = true;
    decisions.push({ kind: 'ready' });
  }
}

function nextDue(roster: Roster): number | null {
  const times = roster.places.flatMap(({ holds }) => (holds.kind === 'due' ? [holds.at] : []));
  return times.length === 0 ? null : Math.min(...times);
}

function placeOf(roster: Roster, worker: number): Place | undefined {
  return roster.places.find(({ holds }) => 'worker' in holds && holds.worker === worker);
}

function endInWords(code: number | null, signal: string | null): string {
  if (signal !== null) return `was killed by ${signal}`;
  return code === null ? 'ended' : `ended with exit code ${code}`;
}

function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
