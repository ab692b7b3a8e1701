import { allOf, firstOf } from '../support/call-log.js';
import type { RunScript } from '../support/call-script.js';
import { answerBytes, answerKey } from '../support/virtual-backend.js';
import { requestBytes } from '../support/virtual-client.js';
import type { VirtualProxy } from '../support/virtual-proxy.js';
import {
  type CallFacts,
  directive,
  endOf,
  factsOf,
  hasPolicy,
  mostAttempts,
  recordOf,
  type StreamFacts,
  strictPin,
} from './whole-call-facts.js';
import { brokenHolds } from './whole-call-holds.js';
import { brokenOverflow } from './whole-call-overflow.js';
import { brokenReason } from './whole-call-reasons.js';
import { brokenTimes } from './whole-call-times.js';
import { brokenTokens } from './whole-call-tokens.js';
import { brokenTold } from './whole-call-told.js';

/** What of a finished run does not hold; empty where all does. */
export function brokenIn(script: RunScript, proxy: VirtualProxy): string[] {
  const broken: string[] = proxy.defects.map((error) => `a defect: ${error instanceof Error ? error.stack : error}`);
  const calls = factsOf(script, proxy);
  for (const facts of calls) {
    const complain = (what: string): void => void broken.push(`call ${facts.call}: ${what}`);
    checkEnd(facts, complain);
    checkAttempts(facts, complain);
    checkPlaces(facts, complain);
    checkSpread(facts, script, complain);
    checkAnswer(facts, proxy, complain);
    brokenTimes(facts, complain);
    brokenReason(facts, script, complain);
    brokenOverflow(facts, script, complain);
    brokenHolds(facts, complain);
    brokenTold(facts, proxy, complain);
  }
  checkRequests(script, proxy, broken);
  if (!mayHang(script)) for (const call of proxy.endless) broken.push(`call ${call}: never ended`);
  broken.push(...brokenTokens(script, proxy, calls));
  if (proxy.strayAlarms > 0) broken.push(`${proxy.strayAlarms} alarms more than calls`);
  for (const [what, count] of Object.entries(proxy.leaks))
    if (count !== 0) broken.push(`left behind: ${count} ${what}`);
  return broken;
}

export type Complain = (what: string) => void;

/** Exactly one end, and one record of it. */
function checkEnd(facts: CallFacts, complain: Complain): void {
  const { caller, told, gone, records } = facts;
  const ends = told.filter(({ endStream }) => endStream);
  if (ends.length > 1) complain(`told ${ends.length} ends`);
  const [end] = ends;
  if (end !== undefined && told.some(({ index }) => index > end.index)) complain('told something after the end');
  if (end === undefined && gone === null) complain('neither told an end nor gone');
  if (told.length > 2) complain(`told ${told.length} header blocks`);
  if (gone !== null && told.some(({ index }) => index > gone.index)) complain('told something after it was gone');
  if (records.length !== 1) complain(`${records.length} records`);
  const { answered, cancelled } = caller;
  const lost = caller.end?.kind === 'lost';
  if (!answered && !cancelled && !lost) complain(`its client got no end (${caller.end?.kind ?? 'nothing'})`);
  if (!answered) return;
  const statuses = allOf(caller.trailers ?? [], 'grpc-status');
  if (statuses.length !== 1) complain(`its client got ${statuses.length} statuses`);
  if (firstOf(caller.trailers ?? [], 'hedgerow-retries') === null) complain('trailers without hedgerow-retries');
}

/** A6: attempts within the policy, grpc-previous-rpc-attempts right, nothing started after the end or the commit. */
function checkAttempts(facts: CallFacts, complain: Complain): void {
  const { streams, plan } = facts;
  const end = endOf(facts);
  const most = mostAttempts(facts);
  const own = plan.previous === '3' ? 3 : 0;
  const byPrevious = new Map<number, StreamFacts[]>();
  for (const stream of streams) {
    const { opened, request, end: ended, dropped } = stream;
    if (end !== null && opened.index > end.index) complain(`stream ${stream.number} opened after the end`);
    const values = allOf(request, 'grpc-previous-rpc-attempts');
    if (values.length > 1) complain(`grpc-previous-rpc-attempts ${values.length} times`);
    let previous = 0;
    if (hasPolicy(facts)) {
      if (values[0] === '0') complain('grpc-previous-rpc-attempts: 0');
      previous = Number(values[0] ?? 0) - own;
      if (!(previous >= 0 && previous < most)) complain(`grpc-previous-rpc-attempts ${values[0]} with ${most} at most`);
    } else if ((values[0] ?? null) !== plan.previous) complain(`grpc-previous-rpc-attempts became ${values[0]}`);
    byPrevious.set(previous, [...(byPrevious.get(previous) ?? []), stream]);
    const over = ended === null || (dropped !== null && dropped.index < ended.index) ? dropped : ended;
    if (over === null) complain(`stream ${stream.number} neither ended nor was reset`);
    else if (end !== null && over.index > end.index && over.at > end.at)
      complain(`stream ${stream.number} outlived it`);
  }
  let refusals = 0;
  for (const list of byPrevious.values()) {
    list.forEach((later, i) => {
      const earlier = list[i - 1];
      if (earlier === undefined) return;
      const proof = earlier.dropped !== null && earlier.end === null ? 'none' : (earlier.end?.proof ?? 'none');
      if (proof === 'none' || (earlier.end?.index ?? 0) > later.opened.index)
        complain(`stream ${later.number} repeats ${earlier.number}, which is not proven unprocessed`);
      if (proof === 'refused') refusals += 1;
    });
  }
  if (refusals > 1) complain(`${refusals} repeats of refused attempts`);
  const answered = streams.find(
    ({ headers, dropped }) => headers !== null && (dropped === null || dropped.index > headers.index),
  );
  const committed = answered?.headers ?? null;
  if (committed !== null && streams.some(({ opened }) => opened.index > committed.index))
    complain('an attempt was opened after response headers');
  const counted = recordOf(facts)?.attempts.filter(({ cause }) => cause !== 'transparent').length ?? 0;
  if (counted > most) complain(`${counted} attempts of its policy, ${most} at most`);
}

/** Pins bind, what is excluded gets nothing. */
function checkPlaces(facts: CallFacts, complain: Complain): void {
  const pin = strictPin(facts);
  const excluded = (directive(facts, 'exclude') ?? '').split(',').map((name) => name.trim().toLowerCase());
  for (const { backend, request } of facts.streams) {
    if (pin !== null && backend !== pin) complain(`is pinned to ${pin} and reached ${backend}`);
    if (excluded.includes(backend)) complain(`excludes ${backend} and reached it`);
    if (request.some(([name]) => name.startsWith('hedgerow-'))) complain('a key of ours reached a backend');
  }
}

/** The client gets one attempt's answer, whole where the status is the backend's. */
function checkAnswer({ caller, plan }: CallFacts, proxy: VirtualProxy, complain: Complain): void {
  const headersMark = caller.headers === null ? null : firstOf(caller.headers, answerKey);
  const trailersMark = caller.trailers === null ? null : firstOf(caller.trailers, answerKey);
  if (headersMark !== null && trailersMark !== null && headersMark !== trailersMark)
    complain(`headers of answer ${headersMark}, trailers of answer ${trailersMark}`);
  const mark = headersMark ?? trailersMark;
  const { bytes } = caller;
  if (mark === null) {
    if (bytes.length > 0) complain('answer bytes of no attempt');
    return;
  }
  const outcome = proxy.log.answers[Number(mark)];
  const meant = outcome?.kind === 'answer' ? answerBytes(Number(mark), outcome.messages) : Buffer.alloc(0);
  if (!meant.subarray(0, bytes.length).equals(bytes) || bytes.length > meant.length)
    complain(`the answer's bytes are not those of answer ${mark}`);
  if (trailersMark === null) return;
  if (bytes.length < meant.length) complain(`${bytes.length} of the answer's ${meant.length} bytes, and its trailers`);
  const code = outcome !== undefined && 'code' in outcome && outcome.kind !== 'reset' ? outcome.code : null;
  if (firstOf(caller.trailers ?? [], 'grpc-status') !== String(code)) complain(`the status is not answer ${mark}'s`);
  const pushbacks = allOf(caller.trailers ?? [], 'grpc-retry-pushback-ms');
  const sent = outcome !== undefined && 'pushback' in outcome ? outcome.pushback : [];
  if (pushbacks.join() !== sent.join()) complain(`the pushback is not answer ${mark}'s`);
  if (plan.outcomes.length > 0 && outcome === undefined) complain('an answer that nobody gave');
}

/** What a backend got is a prefix of what the client sent, whole where END_STREAM came. */
function checkRequests(script: RunScript, proxy: VirtualProxy, broken: string[]): void {
  for (const { served } of proxy.backends) {
    for (const { call, backend, bytes, ended } of served) {
      const plan = script.calls[call];
      const caller = proxy.callers[call];
      const meant = requestBytes(call, plan?.messages ?? []).subarray(0, caller?.sent ?? 0);
      if (bytes.length > meant.length || !meant.subarray(0, bytes.length).equals(bytes))
        broken.push(`call ${call}: what ${backend} got is no prefix of what its client sent`);
      if (ended && (caller?.complete !== true || bytes.length < meant.length))
        broken.push(`call ${call}: ${backend} got END_STREAM before its time`);
    }
  }
}

/** What has no end of its own: what a backend never answers, what waits for a backend for ever, what nobody reads. */
function mayHang({ config, limits, calls, backends }: RunScript): boolean {
  const outcomes = calls.flatMap((call) => call.outcomes);
  const silent = outcomes.some(({ kind }) => kind === 'silence');
  const endless = calls.some((call) => call.halfClose === null && call.outcomes.some(({ waits }) => waits));
  const unread = outcomes.some(({ reads }) => !reads);
  // Bytes that nobody takes keep the relay budget from giving others their window.
  const stuck = unread && (outcomes.some(({ waits }) => waits) || limits.relay < 1000);
  const away = backends.some(({ events }) => events.some(({ kind }) => kind === 'refuse' || kind === 'hang'));
  const nowhere = away || calls.some(({ directives }) => directives.length > 0);
  return silent || endless || stuck || (nowhere && config.includes('"waitForReady":true'));
}

/**
 * Where nothing is ever wrong with a backend, a call tries them all before it tries one again (D16), and a hedge leaves alone those
 * at which others of its call wait (D5). Where each waits its turn for a stream, only while there is a backend for each.
 */
function checkSpread(facts: CallFacts, { backends, calls, warmup, limits }: RunScript, complain: Complain): void {
  const calm =
    warmup >= 20 &&
    backends.every(({ events }) => events.length === 0) &&
    calls.every(({ outcomes }) => outcomes.every(({ kind }) => kind !== 'goaway' && kind !== 'lose'));
  if (!calm || facts.plan.directives.length > 0) return;
  const roomy = backends.every(({ streams }) => streams === 100);
  const repeated = recordOf(facts)?.attempts.some(({ cause }) => cause === 'transparent') ?? false;
  if (!roomy && (limits.queue < 1000 || repeated || facts.policy.maxAttempts > backends.length)) return;
  const sent = facts.streams.slice(0, backends.length).map(({ backend }) => backend);
  if (new Set(sent).size < sent.length) complain(`went to ${sent.join(', ')}`);
}
