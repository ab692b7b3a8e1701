import { type StopReason, stopReasons } from '../../src/grpc/stop-reason.js';
import { firstOf } from '../support/call-log.js';
import type { RunScript } from '../support/call-script.js';
import {
  type CallFacts,
  directive,
  endOf,
  hasPolicy,
  recordOf,
  type StreamFacts,
  strictPin,
  throttlingOf,
} from './whole-call-facts.js';

const known: ReadonlySet<string> = new Set(stopReasons);

/** The reason that is told fits what happened (D12). */
export function brokenReason(facts: CallFacts, script: RunScript, complain: (what: string) => void): void {
  const record = recordOf(facts);
  if (record === null) return;
  const { reason, code } = record;
  const end = endOf(facts);
  const toldLines = facts.told.find(({ endStream }) => endStream)?.lines ?? null;
  if (toldLines !== null) {
    const told = firstOf(toldLines, 'hedgerow-stop-reason');
    const status = firstOf(toldLines, 'grpc-status');
    if (status !== String(code)) complain(`told status ${status}, recorded ${code}`);
    if ((told === null) !== (status === '0')) complain(`status ${status} with stop reason ${told}`);
    if (told !== null && (!known.has(told) || told === 'ok' || told === 'client_cancelled'))
      complain(`told stop reason ${told}`);
    if (told !== null && told !== reason) complain(`told stop reason ${told}, recorded ${reason}`);
    if (firstOf(toldLines, 'hedgerow-retries') !== String(record.retries)) complain('told other retries than recorded');
  }
  if ((reason === 'ok') !== (code === 0)) complain(`status ${code} for reason ${reason}`);
  const [last] = heard(facts).filter(({ end: one }) => one?.proof !== 'unsent');
  if (lastWords.has(reason) && last !== undefined && last.end?.code !== code)
    complain(`told status ${code}, the last attempt that was answered ended ${last.end?.code}`);
  const why = misfit(reason, facts, script, end?.at ?? 0);
  if (why !== null) complain(`stop reason ${reason}: ${why}`);
}

/** Reasons for which the client is told the status of the last attempt that a backend spoke for (A6; D12, No backend). */
const lastWords: ReadonlySet<StopReason> = new Set<StopReason>([
  ...(['fatal_status', 'no_policy', 'attempts_exhausted', 'throttled', 'pushback', 'buffer_exceeded'] as const),
  ...(['backoff_beyond_deadline', 'pinned', 'backend_lost', 'committed'] as const),
]);

/** Ends that the proxy heard, the last one first. */
function heard({ streams }: CallFacts): StreamFacts[] {
  return streams
    .filter(({ end, dropped }) => end !== null && (dropped === null || dropped.index > end.index))
    .sort((a, b) => (b.end?.index ?? 0) - (a.end?.index ?? 0));
}

/** Null where the reason fits. */
function misfit(reason: StopReason, facts: CallFacts, script: RunScript, endedAt: number): string | null {
  const { policy, plan, deadline, streams, requestBytes } = facts;
  const attempts = recordOf(facts)?.attempts ?? [];
  const counted = attempts.filter(({ cause }) => cause !== 'transparent').length;
  const [last] = heard(facts);
  const unless = (holds: boolean, why: string): string | null => (holds ? null : why);
  const received = requestBytes.reduce((sum, { bytes }) => sum + bytes, 0);
  const answered = streams.some(({ headers }) => headers !== null);
  switch (reason) {
    case 'ok':
      return unless(last?.end?.code === 0, 'no attempt ended OK');
    case 'fatal_status':
      return unless(
        (hasPolicy(facts) && heard(facts).some(({ end }) => !policy.codes.has(end?.code ?? -1))) ||
          (attempts.some(({ result }) => result === 'unplaced') && !policy.codes.has(14)),
        'every code is listed',
      );
    case 'no_policy':
      return unless(!hasPolicy(facts), 'there is one');
    case 'attempts_exhausted':
      return unless(hasPolicy(facts) && counted === policy.maxAttempts, `${counted} of ${policy.maxAttempts}`);
    case 'throttled':
      return unless(throttlingOf(script.config) !== null, 'nothing throttles');
    case 'pushback':
      return unless(
        streams.some(({ end }) => end?.pushback === 'never'),
        'no attempt was pushed back for good',
      );
    case 'buffer_exceeded': {
      const { call, client, total } = script.limits;
      return unless(received > Math.min(call, client) || total < 1_000_000 || client < 1_000_000, 'every byte fitted');
    }
    case 'backoff_beyond_deadline':
      return unless(deadline !== Number.POSITIVE_INFINITY && endedAt < deadline, 'there was time');
    case 'deadline_exceeded':
      if (facts.late === 0 && attempts.length > 0 && attempts.every((attempt) => attempt.endedAt < deadline))
        return 'nothing was in flight: the call waited for what it could not do in time';
      return unless(endedAt >= deadline && endedAt <= deadline + facts.late, `${deadline - endedAt} ms were left`);
    case 'client_cancelled':
      return unless(facts.gone !== null, 'its client was there');
    case 'no_backend':
      return unless(
        (attempts.length > 0 || excludesAll(facts, script)) &&
          attempts.every(({ result, backend }) => backend === null && result !== 'ok'),
        'a backend was found',
      );
    case 'pinned':
    case 'pinned_backend_unavailable':
    case 'pinned_backend_busy':
      return unless(strictPin(facts) !== null, 'it was not pinned');
    case 'pin_unknown':
      return unless(!isBackend(directive(facts, 'pin'), script) && streams.length === 0, 'the pin is known');
    case 'invalid_directive':
      return unless(!isName(directive(facts, 'pin')) && streams.length === 0, 'the directives are valid');
    case 'backend_lost':
      return unless(last?.end?.lost === true, 'no connection was lost');
    case 'malformed_request':
      return 'no request is malformed';
    case 'message_too_large':
      return unless(
        tooLong(plan.messages, policy.maxRequest) ||
          plan.outcomes.some((one) => one.kind === 'answer' && tooLong(one.messages, policy.maxResponse)) ||
          tooLong([3], policy.maxResponse),
        'no message is',
      );
    case 'overloaded':
      return unless(script.limits.queue < 1000, 'the queues are long');
    case 'drain_timeout':
      return unless(script.abandonAt !== null, 'nobody drained');
    case 'committed':
      return unless(answered, 'no response headers came');
    case 'headers_too_large':
    case 'session_lost':
    case 'internal':
      return 'nothing of the kind is in the script';
    default:
      return reason satisfies never;
  }
}

function tooLong(messages: readonly number[], limit: number | null): boolean {
  return limit !== null && messages.some((length) => length > limit);
}

function isName(pin: string | null): boolean {
  return pin === null || (pin.length > 0 && pin.length <= 256);
}

function excludesAll(facts: CallFacts, { backends }: RunScript): boolean {
  const names = (directive(facts, 'exclude') ?? '').split(',').map((name) => name.trim().toLowerCase());
  return ['a', 'b', 'c'].slice(0, backends.length).every((name) => names.includes(name));
}

function isBackend(name: string | null, { backends }: RunScript): boolean {
  return ['a', 'b', 'c'].slice(0, backends.length).includes(name?.toLowerCase() ?? '');
}
