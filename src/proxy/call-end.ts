import { knows } from '../balance/bounds.js';
import type { BackendId } from '../grpc/backend-id.js';
import { decodeMessage } from '../grpc/percent.js';
import { Status } from '../grpc/status.js';
import type { Http2Connection, Http2Stream } from '../http2/types.js';
import type { CommitCause, Decision, Placement } from '../policy/types.js';
import { answerTooLarge, sendEnd } from './answer.js';
import type { Attempt } from './attempt.js';
import { recordOf } from './attempt-record.js';
import type { MeteredCall } from './meters.js';
import type { Story } from './notes.js';
import type { CallRecord } from './observer.js';
import type { ProxyParts } from './parts.js';
import { processedBy, retriesOf, storyOf } from './story.js';
import type { CallTrace } from './tracing.js';

/** What the end of a call is told from. */
export interface EndingCall extends MeteredCall {
  /** `now`: when what ends it happened (clock ms). */
  readonly machine: { readonly now: number };
  readonly id: string;
  readonly parts: ProxyParts;
  readonly home: { readonly connection: Http2Connection };
  readonly stream: Http2Stream;
  readonly request: { readonly path: string };
  readonly startedAt: number;
  readonly deadlineAt: number | null;
  readonly placement: Placement;
  readonly seat: { readonly key: string; readonly backend: BackendId | null } | null;
  readonly attempts: readonly Attempt[];
  readonly winner: Attempt | null;
  /** Its answer's metadata was larger than we, or the client, accept. */
  readonly refusedAnswer: Attempt | null;
  readonly headersForwarded: boolean;
  readonly commitCause: CommitCause | null;
  readonly relay: { readonly peakHeld: number };
  readonly trace: CallTrace | null;
}

type Finish = Extract<Decision, { type: 'finish' }>;
type Told = Pick<CallRecord, 'code' | 'message' | 'reason' | 'origin'>;

/** Tells the client, where it is still there, and whoever observes calls how this one ended. */
export function endCall(call: EndingCall, { with: source, reason }: Finish): void {
  const told = 'from' in source ? (call.attempts[source.from - 1] ?? null) : null;
  const end = told?.end ?? null;
  let ending: Told = {
    code: 'code' in source ? source.code : (end?.code ?? Status.INTERNAL),
    message: 'detail' in source ? source.detail : decodeMessage(end?.message ?? ''),
    reason,
    // A status that a backend stated, as against one that is made of what happened to its stream.
    origin: told !== null && told.trailers !== null ? 'backend' : 'proxy',
  };
  if (!call.stream.closed && !answer(call, told, ending)) ending = { ...answerTooLarge, origin: 'proxy' };
  const { observer, meters } = call.parts;
  const { now } = call.machine;
  meters.callEnded(call, ending.code, ending.reason, now);
  const observed = observer.wants(ending.code, call.attempts.length, now);
  const traced = call.trace?.recorded ?? false;
  if (!observed && !traced) return;
  const record = recordOfCall(call, told ?? call.winner, ending);
  if (observed) observer.onCallEnded(record);
  if (traced) call.trace?.ended(record);
}

/** False: the client was told `answerTooLarge` instead. */
function answer(call: EndingCall, told: Attempt | null, ending: Told): boolean {
  const { parts, attempts } = call;
  const { code, message } = ending;
  const speaker = told ?? (call.headersForwarded ? call.winner : call.refusedAnswer);
  const backend = speaker?.backend?.name ?? null;
  const plain = code === Status.OK && attempts.length === 1 && backend !== null;
  const story = (failure: Pick<Told, 'reason' | 'origin'> | null): Story =>
    storyOf(
      attempts,
      told,
      backend,
      failure === null
        ? null
        : { reason: failure.reason, origin: failure.origin, processed: processedBy(attempts), callId: call.id },
    );
  return sendEnd(call.home.connection, call.stream, parts, {
    trailers: told?.trailers ?? null,
    afterHeaders: call.headersForwarded,
    code,
    message: backend !== null && told !== null ? `backend ${backend}: ${message}` : message,
    notes: plain ? parts.notes.plain(backend) : parts.notes.trailers(story(code === Status.OK ? null : ending)),
    otherwise: () => parts.notes.trailers(story({ reason: answerTooLarge.reason, origin: 'proxy' })),
  });
}

function recordOfCall(call: EndingCall, speaker: Attempt | null, ending: Told): CallRecord {
  const { attempts, placement } = call;
  // What a client wrote belongs in no log; a pin that is known is a backend's name.
  const pinned =
    placement.kind !== 'any' && placement.by === 'pin' && knows(call.parts.pool.backends, placement.target);
  return {
    id: call.id,
    method: call.request.path,
    startedAt: call.startedAt,
    endedAt: call.parts.clock.now(),
    ...ending,
    message: ending.reason === 'pin_unknown' ? '' : ending.message,
    processed: processedBy(attempts),
    pin: placement.kind === 'any' || !pinned ? null : { target: placement.target, strict: placement.kind === 'only' },
    session: call.seat?.key ?? null,
    attempts: attempts.map((attempt) => recordOf(attempt, speaker)),
    retries: retriesOf(attempts),
    commit: call.commitCause,
    replayPeak: call.relay.peakHeld,
    deadlineAt: call.deadlineAt,
  };
}
