import type { StopReason } from '../../src/grpc/stop-reason.js';
import { allOf, firstOf, type Lines } from '../support/call-log.js';
import { answerKey } from '../support/virtual-backend.js';
import type { VirtualProxy } from '../support/virtual-proxy.js';
import { endsSeen } from './whole-call-ends.js';
import {
  type CallFacts,
  endOf,
  hasPolicy,
  type Moment,
  previousOf,
  recordOf,
  type StreamFacts,
} from './whole-call-facts.js';

/*
 * What the client is told in our own keys (docs/semantics.md, KEY-01 to KEY-10), reckoned from the wire: what was sent to
 * backends, what they said, and what their applications were given.
 */

type Complain = (what: string) => void;

/** Keys of our own in a block, all that there may be. */
const keys = ['backend', 'retries', 'backends', 'hedged', 'stop-reason', 'origin', 'processed', 'call-id'] as const;
const onFailure = ['stop-reason', 'origin', 'processed', 'call-id'] as const;

/** The proxy ends the call itself: no attempt's end is told. */
const ownEnds: ReadonlySet<StopReason> = new Set<StopReason>([
  ...(['deadline_exceeded', 'client_cancelled', 'no_backend', 'pin_unknown', 'invalid_directive'] as const),
  ...(['malformed_request', 'message_too_large', 'drain_timeout', 'session_lost', 'headers_too_large'] as const),
  'internal',
]);

export function brokenTold(facts: CallFacts, proxy: VirtualProxy, complain: Complain): void {
  const record = recordOf(facts);
  const end = endOf(facts);
  if (record === null || end === null) return;
  const processed = mayHaveBeenSeen(facts, end) ? 'unknown' : 'no';
  if (record.processed !== processed) complain(`recorded processed ${record.processed}, reckoned ${processed}`);
  if (record.processed === 'no') askApplications(facts, proxy, complain);
  const retries = record.attempts.filter(({ cause }) => cause === 'retry' || cause === 'hedge').length;
  if (record.retries !== retries) complain(`recorded ${record.retries} retries of ${retries}`);
  checkRetries(facts, retries, complain);
  const told = facts.told.find(({ endStream }) => endStream);
  if (told === undefined) return;

  const { lines } = told;
  const want = (key: (typeof keys)[number], value: string | null): void => {
    const values = allOf(lines, `hedgerow-${key}`);
    if (values.length > 1 || (values[0] ?? null) !== value)
      complain(`told hedgerow-${key} ${values.join(' and ') || 'nothing'}, reckoned ${value ?? 'nothing'}`);
  };
  const source = sourceOf(facts, record.reason);
  const failed = record.code !== 0;
  want('backend', (source ?? forwarded(facts))?.backend ?? null);
  want('retries', String(retries));
  want('backends', backendsOf(facts, end, source));
  want('hedged', wasHedged(facts, end) ? 'true' : null);
  if (failed) {
    want('stop-reason', record.reason);
    want('origin', source?.end?.stated === true ? 'backend' : 'proxy');
    want('processed', processed);
    want('call-id', record.id);
  } else for (const key of onFailure) want(key, null);
  checkOrigin(lines, source, complain);
  for (const [name] of lines) if (isStray(name)) complain(`told ${name}`);
  checkInitial(facts, complain);
}

/** Of the attempts that were sent, one that no proof clears: its HEADERS can have reached application code (KEY-08, KEY-09). */
function mayHaveBeenSeen({ streams }: CallFacts, over: Moment): boolean {
  return streams.some(({ opened, headers, end }) => {
    if (opened.index > over.index) return false;
    if (headers !== null && headers.index < over.index) return true;
    return end === null || end.index > over.index || end.proof === 'none';
  });
}

/** Told `no`: what an application of a backend was given, its backend has disclaimed. Asked of the backends themselves. */
function askApplications({ call, streams }: CallFacts, proxy: VirtualProxy, complain: Complain): void {
  for (const { served } of proxy.backends) {
    const given = served.filter((one) => one.call === call && !one.ignored);
    const [first] = given;
    if (first === undefined) continue;
    const disclaimed = streams.filter(({ backend, end }) => backend === first.backend && end?.proof === 'refused');
    if (given.length > disclaimed.length)
      complain(`processed no, and an application at ${first.backend} got ${given.length} times what it refused`);
  }
}

/** The stream whose end the client is told: the last that a backend spoke for or that was lost (A6; D12, No backend). */
function sourceOf(facts: CallFacts, reason: StopReason): StreamFacts | null {
  if (ownEnds.has(reason)) return null;
  return endsSeen(facts).findLast(({ end }) => end.proof !== 'unsent')?.stream ?? null;
}

/** The stream whose headers the client has. */
function forwarded({ told, streams }: CallFacts): StreamFacts | null {
  const first = told.find(({ endStream }) => !endStream);
  if (first === undefined) return null;
  const mark = markOf(first.lines);
  return streams.find((stream) => mark !== null && stream.mark === mark) ?? null;
}

/** HEADERS of it have left, as far as anybody knew when the call ended. */
function isSent({ opened, end }: StreamFacts, over: Moment): boolean {
  return opened.index < over.index && !(end !== null && end.index < over.index && end.proof === 'unsent');
}

/** KEY-03. */
function backendsOf({ streams }: CallFacts, over: Moment, source: StreamFacts | null): string | null {
  const sent = streams.filter((stream) => isSent(stream, over));
  if (sent.length < 2) return null;
  const rest = sent.filter((stream) => stream !== source);
  return [...rest, ...sent.filter((stream) => stream === source)].map(({ backend }) => backend).join(',');
}

/** KEY-04, by what the backends were told: a hedge, and the repeat of one, has attempts before it. */
function wasHedged(facts: CallFacts, over: Moment): boolean {
  if (facts.policy.kind !== 'hedge' || !hasPolicy(facts)) return false;
  return facts.streams.some((stream) => isSent(stream, over) && previousOf(facts, stream) > 0);
}

/** KEY-02, by what the backends were told: each policy attempt has a number of its own; those without a place told it nobody. */
function checkRetries(facts: CallFacts, retries: number, complain: Complain): void {
  const attempts = recordOf(facts)?.attempts ?? [];
  if (!hasPolicy(facts)) {
    if (retries !== 0) complain(`${retries} retries without a policy`);
    return;
  }
  const numbers = new Set(facts.streams.map((stream) => previousOf(facts, stream)));
  const silent = attempts.filter(({ backend }) => backend === null).length;
  const least = Math.max(0, ...numbers);
  const most = Math.max(0, numbers.size + silent - 1);
  if (retries < least || (retries > most && !missedDeadline(facts)))
    complain(`${retries} retries, backends were told of ${least}, ${silent} attempts found none`);
}

/** An attempt's place came when the deadline had passed: it has a backend and no stream. */
export function missedDeadline({ streams, records }: CallFacts): boolean {
  const placed = records[0]?.record.attempts.filter(({ backend }) => backend !== null) ?? [];
  return placed.length > streams.length;
}

/** What bears a backend's own trailers says so, and nothing else does (KEY-06, KEY-07). */
function checkOrigin(lines: Lines, source: StreamFacts | null, complain: Complain): void {
  const mark = markOf(lines);
  const want = source?.end?.stated === true ? source.mark : null;
  if (mark !== want) complain(`told the trailers of answer ${mark}, reckoned ${want}`);
}

function checkInitial(facts: CallFacts, complain: Complain): void {
  const first = facts.told.find(({ endStream }) => !endStream);
  if (first === undefined) return;
  const told = first.lines.filter(([name]) => name.startsWith('hedgerow-'));
  const want = `hedgerow-backend,${forwarded(facts)?.backend}`;
  if (told.join(';') !== want) complain(`initial metadata with ${told.join(';') || 'none of ours'}, reckoned ${want}`);
}

function markOf(lines: Lines): string | null {
  return firstOf(lines, answerKey);
}

function isStray(name: string): boolean {
  return name.startsWith('hedgerow-') && !keys.some((key) => name === `hedgerow-${key}`);
}
