import type { RecentCall } from './live.js';

/*
 * One stream of server-sent events, as a function of its state, what is known and the time: what to send when. The shell is
 * event-hub.ts.
 */

/** What is known of a stream's reader. */
export interface StreamState {
  /** The newest call that it has been told of. */
  readonly told: number;
  /** Bytes that the kernel had taken from us, and when that was last more than before, or all (clock ms). */
  readonly taken: number;
  readonly takenAt: number;
}

/** What is so when a stream is looked at. */
export interface StreamSight {
  /** Clock milliseconds. */
  readonly now: number;
  /** The newest call of the ring; 0: there is none. */
  readonly newest: number;
  /** A snapshot is due. */
  readonly live: boolean;
  /** Bytes that wait in this process for the reader, and those that the kernel has taken. */
  readonly unsent: number;
  readonly taken: number;
}

export type StreamDecision =
  | { readonly type: 'live' }
  /** Calls after `since`, newest first. */
  | { readonly type: 'calls'; readonly since: number }
  /** It reads nothing any more. */
  | { readonly type: 'end' };

/** Time between two looks (ms): at most five batches of calls a second. */
export const streamEvery = 200;
/** Time between two snapshots (ms). */
export const liveEvery = 1000;

/** With more unsent (bytes) a reader gets nothing new. Snapshots are lost to it, calls come later. */
const mostUnsent = 1024 * 1024;
/** A reader that takes nothing for so long is sent away (ms). */
const patience = 15_000;
/** What one event with calls has, at most; older calls are left out, and are at `/calls` (characters). */
const mostText = 1024 * 1024;

/**
 * A stream that begins.
 *
 * @param lastEventId as the reader sends it; undefined: it is new
 * @param instance of this run: ids of another run mean other calls
 */
export function openStream(
  lastEventId: string | undefined,
  instance: string,
  newest: number,
  now: number,
): StreamState {
  const match = /^([a-z0-9]{1,20}):(\d{1,15})$/.exec(lastEventId ?? '');
  const told = match !== null && match[1] === instance ? Number(match[2]) : 0;
  return { told: told > newest ? 0 : told, taken: 0, takenAt: now };
}

/** What a stream is sent first: how things are, and the calls that its reader does not know. */
export function greet(state: StreamState): readonly StreamDecision[] {
  return [{ type: 'live' }, { type: 'calls', since: state.told }];
}

export function stepStream(
  state: StreamState,
  sight: StreamSight,
): { readonly state: StreamState; readonly decisions: readonly StreamDecision[] } {
  const { now, newest, live, unsent, taken } = sight;
  const moved = unsent === 0 || taken > state.taken;
  const takenAt = moved ? now : state.takenAt;
  if (now - takenAt >= patience) return { state, decisions: [{ type: 'end' }] };
  const next = { ...state, taken, takenAt };
  if (unsent > mostUnsent) return { state: next, decisions: [] };
  const decisions: StreamDecision[] = [];
  if (live) decisions.push({ type: 'live' });
  if (newest > state.told) decisions.push({ type: 'calls', since: state.told });
  return { state: { ...next, told: newest }, decisions };
}

/** The first lines of a stream: how long a reader waits before it comes again (ms). */
export const opening = 'retry: 1000\n\n';

export function liveEvent(snapshot: object): string {
  return `event: live\ndata: ${JSON.stringify(snapshot)}\n\n`;
}

/** @param calls newest first; those are left out that are too much for one event */
export function callsEvent(calls: Iterable<RecentCall>, instance: string, newest: number): string {
  const texts: string[] = [];
  let length = 0;
  for (const call of calls) {
    const text = JSON.stringify(call);
    length += text.length + 1;
    if (length > mostText && texts.length > 0) break;
    texts.push(text);
  }
  return `id: ${instance}:${newest}\nevent: calls\ndata: {"calls":[${texts.join(',')}]}\n\n`;
}
