import { printable } from '../config/quote.js';
import { type Millis, millis } from '../grpc/millis.js';
import { reasonInWords } from '../grpc/reason-words.js';
import { helpFor } from '../grpc/remedies.js';
import { Status, statusName } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import type { CallEvent, CancelCause, CommitCause, Decision } from '../policy/types.js';
import type { AttemptRun, CallResult, CallRun, TimelineEntry } from '../sim/run-call.js';
import type { Draw, Explanation, Timeline } from './explanation.js';

/** `12.5 ms`, to a thousandth. */
export function inMs(time: Millis | number): string {
  return `${rounded(time)} ms`;
}

/** From thousandths: `9.1`. */
export function tokens(milliTokens: number): string {
  return String(milliTokens / 1000);
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** What happened to one scripted call, one line an event, and how it ended. */
export function timelineLines(timeline: Timeline, { deadline, throttle, governing }: Explanation): string[] {
  const { run, draw, script, outcomes } = timeline;
  const waits = governing.policy.plan.kind === 'retry' ? drawInWords(draw) : [];
  const level = throttle === null ? [] : [`${tokens(throttle.milliTokens)} tokens at the start`];
  const terms = [...waits, ...level];
  const told: { readonly at: string; readonly text: string }[] = [];
  let before: TimelineEntry | null = null;
  for (const entry of run.timeline) {
    for (const text of entryLines(entry, before, timeline)) told.push({ at: inMs(entry.at), text });
    before = entry;
  }
  const width = Math.max(8, ...told.map(({ at }) => at.length));
  const unused = outcomes - run.attempts.length;
  return [
    `timeline for ${printable(script)}${terms.length === 0 ? '' : `; ${terms.join(', ')}`}`,
    ...told.map(({ at, text }) => `  ${at.padStart(width)}  ${text}`),
    run.result === null ? openEnd(run, deadline) : endInWords(run.result, run),
    ...(unused > 0
      ? [`not used: the script's last ${unused === 1 ? 'outcome' : `${unused} outcomes`}, for want of attempts`]
      : []),
  ];
}

function entryLines(entry: TimelineEntry, before: TimelineEntry | null, timeline: Timeline): string[] {
  const lines: string[] = [];
  const head = eventInWords(entry);
  const news = [head, debit(entry), whatNext(entry, before)].filter((part) => part !== null);
  if (news.length > 0) lines.push(news.join('; '));
  for (const decision of entry.decisions) {
    const text = decisionInWords(decision, entry, timeline);
    if (text !== null) lines.push(text);
  }
  return lines;
}

function eventInWords({ event, decisions }: TimelineEntry): string | null {
  // At the deadline nothing else counts any more (D12, row 2).
  if (decisions.some((decision) => decision.type === 'finish' && decision.reason === 'deadline_exceeded'))
    return 'the deadline passes';
  switch (event.type) {
    case 'attemptEnded':
      return `attempt ${event.attempt} ends ${statusName(event.code)}${howItEnded(event)}`;
    case 'headersReceived':
      return `the response headers of attempt ${event.attempt} come`;
    case 'aborted':
      return event.by === 'client' ? 'the client cancels' : 'the proxy shuts down';
    case 'bufferOverflowed':
      return 'the request outgrows the replay buffer';
    case 'rejected':
      return `the proxy ends the call: ${event.detail}`;
    case 'attemptPlaced':
      return `attempt ${event.attempt} goes to ${event.backend}`;
    case 'started':
    case 'woke':
      return null;
    default:
      return event satisfies never;
  }
}

function howItEnded({ reach, pushback, by }: Extract<CallEvent, { type: 'attemptEnded' }>): string {
  const parts: string[] = [];
  if (reach === 'refused') parts.push('refused, so no application saw it');
  else if (reach === 'unsent') parts.push('its connection was lost before it was sent');
  else if (reach === 'unplaced') parts.push('no backend could be reached');
  else if (reach === 'dropped') parts.push('dropped on purpose');
  else if (by === 'loss') parts.push('its connection was lost');
  if (pushback.kind === 'never') parts.push('pushback: do not retry');
  else if (pushback.kind === 'after') parts.push(`pushback: not before ${inMs(pushback.ms)} from now`);
  return parts.length === 0 ? '' : ` (${parts.join('; ')})`;
}

function debit({ tokens: level, decisions }: TimelineEntry): string | null {
  if (level === null || !decisions.some(({ type }) => type === 'countThrottle')) return null;
  const { before, after } = level;
  if (before !== after) return `tokens ${tokens(before)} → ${tokens(after)}`;
  return `tokens stay ${tokens(after)}${after === 0 ? ', empty' : ', full'}`;
}

/** What an attempt's end, or a hedge that may not start, means for those that were to come. */
function whatNext(entry: TimelineEntry, before: TimelineEntry | null): string | null {
  const { event, held, dueAt, at, random, decisions } = entry;
  if (decisions.some(({ type }) => type === 'finish')) return null;
  if (held !== null && before !== null && before.held === null)
    return `${event.type === 'woke' ? 'a hedge is due; ' : ''}no further hedge, ${holding[held] ?? held}; those in flight go on`;
  if (event.type !== 'attemptEnded' || dueAt === null || decisions.some(({ type }) => type === 'startAttempt'))
    return null;
  const wait = `the next attempt in ${inMs(dueAt - at)}`;
  if (random !== null) return `${wait} (jitter ${factor(random)})`;
  const { pushback } = event;
  if (pushback.kind === 'after' && millis(at + pushback.ms) === dueAt) return `${wait}, as the pushback says`;
  return entry.pushedUntil === null ? wait : `${wait}, as an earlier pushback says`;
}

const holding: Partial<Readonly<Record<StopReason, string>>> = {
  pushback: 'as the pushback says',
  throttled: 'as the throttle is shut',
  attempts_exhausted: 'as maxAttempts are out',
  backoff_beyond_deadline: 'as it would start after the deadline',
  overloaded: 'as the attempt was dropped on purpose',
};

function decisionInWords(decision: Decision, entry: TimelineEntry, { run, unscripted }: Timeline): string | null {
  switch (decision.type) {
    case 'startAttempt': {
      const { attempt, cause, previous } = decision;
      const last = entry.decisions.findLast(({ type }) => type === 'startAttempt') === decision;
      const next = last && entry.dueAt !== null ? `; the next in ${inMs(entry.dueAt - entry.at)}` : '';
      const unheard = unscripted.includes(attempt) ? '; it has no outcome in the script: silent' : '';
      const sent = previous === 0 ? '' : `, grpc-previous-rpc-attempts: ${previous}`;
      const as = cause === 'first' ? '' : ` (${cause === 'transparent' ? 'transparent, not counted' : cause}${sent})`;
      return `attempt ${attempt} starts${as}${next}${unheard}`;
    }
    case 'commit':
      return `the call is committed to attempt ${decision.attempt}: ${commitWords[decision.cause]}, no further attempt`;
    case 'cancelAttempt':
      return `attempt ${decision.attempt} is cancelled: ${cancelWords(decision.why, run)}`;
    case 'countThrottle': // told with the event
    case 'finish': // told below the events
      return null;
    default:
      return decision satisfies never;
  }
}

const commitWords: Readonly<Record<CommitCause, string>> = {
  headers: 'its answer has begun',
  ok: 'it is answered',
  buffer_call: 'the request is no longer kept',
  buffer_client: 'the request is no longer kept',
  buffer_total: 'the request is no longer kept',
};

function cancelWords(why: CancelCause, { commit }: CallRun): string {
  switch (why) {
    case 'superseded':
      return commit === null ? 'the call is over' : `attempt ${commit.attempt} has won`;
    case 'client':
      return 'the client cancelled';
    case 'shutdown':
      return 'the proxy shuts down';
    case 'deadline':
      return 'the deadline passed';
    case 'rejected':
      return 'the proxy ended the call';
    default:
      return why satisfies never;
  }
}

function endInWords({ at, code, attempt, reason }: CallResult, { attempts }: CallRun): string {
  const counted = attempts.filter(isCounted).length;
  const words = `${reason} (${reasonInWords({ reason, code, attempts: counted })})`;
  const more = `; more: ${helpFor(reason)}`;
  if (reason === 'client_cancelled')
    return `the client is told nothing, it cancelled after ${inMs(at)}: ${words}${more}`;
  const whose = attempt === null ? '' : ` of attempt ${attempt}`;
  const end = `the client gets ${statusName(code)}${whose} after ${inMs(at)}`;
  return code === Status.OK ? end : `${end}: ${words}${more}`;
}

function isCounted({ cause }: AttemptRun): boolean {
  return cause !== 'transparent';
}

function openEnd({ attempts }: CallRun, deadline: Millis | null): string {
  const open = attempts.filter(({ endedAt }) => endedAt === null).map(({ id }) => id);
  const which = `attempt${open.length === 1 ? '' : 's'} ${open.join(', ')}`;
  return `the call stays open: nothing more is heard of ${which}${deadline === null ? ', and there is no deadline (--deadline sets one)' : ''}`;
}

function drawInWords(draw: Draw): string[] {
  return draw.kind === 'fixed'
    ? [`jitter ${factor(draw.value)} on each backoff (--random ${draw.value})`]
    : [`jitter drawn with --seed ${draw.value}`];
}

/** The jitter that a random number makes. */
function factor(random: number): number {
  return rounded(0.8 + 0.4 * random);
}
