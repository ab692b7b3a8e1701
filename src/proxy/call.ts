import { appended } from '../grpc/append.js';
import type { BackendId } from '../grpc/backend-id.js';
import { type Millis, millis } from '../grpc/millis.js';
import type { IncomingCall } from '../grpc/request.js';
import { attemptFields } from '../grpc/rewrite.js';
import { Status, type StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import type { HeaderField, Http2Connection, Http2Stream, StreamEnd, StreamEvents } from '../http2/types.js';
import type { AttemptId, CallEvent, CallPolicy, CommitCause, Decision, Placement } from '../policy/types.js';
import type { ReplayBudget } from '../replay/types.js';
import type { UpstreamBackend } from '../upstream/types.js';
import { initialAnswer } from './answer.js';
import type { Attempt } from './attempt.js';
import type { AttemptOwner } from './attempt-owner.js';
import { authorityFor } from './authority.js';
import { avoidedAmong } from './avoided.js';
import { type EndingCall, endCall } from './call-end.js';
import { CallLosses } from './call-losses.js';
import { CallMachine, type MachineOwner } from './call-machine.js';
import { gateOf, type Refusal } from './gate.js';
import { least } from './least.js';
import type { MeteredCall, MethodIndex } from './meters.js';
import type { ProxyParts } from './parts.js';
import { placementOf } from './placement.js';
import { RequestRelay } from './request-relay.js';
import { findSeat, leaveSeat, SessionSeat } from './session-seat.js';
import { attemptFor } from './start-attempt.js';
import type { CallTrace } from './tracing.js';

/** Where a call came from: its client's connection. */
export interface CallHome {
  readonly connection: Http2Connection;
  /** The client connection's share of replay bytes. */
  readonly replay: ReplayBudget;
  /** The call is over: forget it. */
  callEnded(call: Call): void;
}

/**
 * One call: feeds the machine of policy/ with what the wire says, and does what it decides. Decides nothing itself.
 * Owner of the client's stream, the request's bytes, the attempts and one alarm.
 */
export class Call implements StreamEvents, AttemptOwner<Attempt>, MachineOwner, EndingCall, MeteredCall {
  readonly stream: Http2Stream;
  readonly home: CallHome;
  readonly parts: ProxyParts;
  readonly request: IncomingCall;
  readonly policy: CallPolicy;
  readonly method: MethodIndex;
  readonly placement: Placement;
  /** Null: the call is of no session. */
  seat: SessionSeat | null = null;
  /** Bytes of one message of an answer; null: no limit. */
  readonly responseLimit: number | null;
  readonly relay: RequestRelay;
  readonly startedAt: number;
  readonly deadlineAt: Millis | null;
  /** Every attempt, in order of start; an attempt's id is its index + 1. Replaced, not pushed to, which makes room for 17. */
  attempts: readonly Attempt[] = [];
  winner: Attempt | null = null;
  /** Where it stands among its connection's calls; the connection's own. */
  place = 0;
  commitCause: CommitCause | null = null;
  headersForwarded = false;
  /** Its answer's metadata was larger than we, or the client, accept. */
  refusedAnswer: Attempt | null = null;
  /** Attempts whose HEADERS were handed to the wire. */
  private dispatched = 0;
  private done = false;
  private callId: string | null = null;
  private readonly losses: CallLosses;
  readonly machine: CallMachine;
  /** Null: the call is not traced. */
  readonly trace: CallTrace | null;

  constructor(home: CallHome, parts: ProxyParts, stream: Http2Stream, request: IncomingCall) {
    this.home = home;
    this.parts = parts;
    this.stream = stream;
    this.request = request;
    this.startedAt = parts.clock.now();
    this.trace = parts.tracing === null ? null : parts.tracing.begin(request, this.startedAt);
    this.policy = parts.policyFor(request.path);
    this.method = parts.meters.method(request.path, this.policy.named);
    const timeout = least(request.timeout, this.policy.timeout);
    this.deadlineAt = timeout === null ? null : millis(this.startedAt + timeout);
    this.placement = placementOf(request.directives, parts);
    this.responseLimit = least(this.policy.maxResponseMessageBytes, parts.maxMessageSize);
    const requestLimit = least(this.policy.maxRequestMessageBytes, parts.maxMessageSize);
    this.relay = new RequestRelay(home.connection, stream, parts, home.replay, requestLimit);
    this.losses = new CallLosses(parts.losses);
    this.machine = new CallMachine(this.policy.plan, parts, this);
  }

  /** A retry or hedging policy is in force. */
  get guarded(): boolean {
    return this.policy.plan.kind !== 'none' && this.request.directives.retry === 'on';
  }

  /** The id in the log; made on demand. */
  get id(): string {
    this.callId ??= this.parts.nextCallId();
    return this.callId;
  }

  /** @param endStream the request has no bytes */
  start(endStream: boolean): void {
    if (endStream) this.relay.end();
    // A message too large that comes with its HEADERS reaches no backend at all (CFG-85).
    if (this.relay.limited && !endStream) this.parts.turn.atEnd(() => this.begin());
    else this.begin();
  }

  private begin(): void {
    // It may have been refused, or cancelled, in the turn that it began in.
    if (this.done) return;
    const { placement } = this;
    const { directives } = this.request;
    const refusal = this.takeSeat(directives.session) ?? gateOf(placement, directives, this.parts);
    if (refusal === null)
      this.dispatch({ type: 'started', deadlineAt: this.deadlineAt, placement, policy: directives.retry });
    else this.reject(refusal.code, refusal.reason, refusal.detail);
  }

  /** Finds the call's session, where it is of one: a pin goes before it (D3). */
  private takeSeat(session: string | null): Refusal | null {
    const { placement } = this;
    if (session === null || placement.kind === 'any' || placement.by !== 'session') return null;
    const found = findSeat(session, this.parts);
    if (!(found instanceof SessionSeat)) return found;
    this.seat = found;
    return null;
  }

  /** The proxy is going down and has waited long enough (D35). */
  abandon(): void {
    this.dispatch({ type: 'aborted', by: 'shutdown' });
  }

  /** Never: the request's HEADERS came by onRequest, and a second block is trailers. */
  onHeaders(): void {}

  onData(_stream: Http2Stream, chunk: Uint8Array, start: number, end: number, endStream: boolean): void {
    if (this.done) return;
    try {
      const problem = this.relay.receive(chunk, start, end, endStream);
      if (problem !== null) {
        this.reject(problem.code, problem.reason, problem.detail);
        return;
      }
      this.tellOverflow();
      for (const attempt of this.attempts) this.pump(attempt);
    } catch (error) {
      this.attemptFailed(error);
    }
  }

  onTrailers(_stream: Http2Stream, _fields: readonly HeaderField[], tooLarge: boolean): void {
    const large = 'request trailers are larger than --max-header-list-size';
    if (tooLarge) this.reject(Status.RESOURCE_EXHAUSTED, 'headers_too_large', large);
    else this.reject(Status.INTERNAL, 'malformed_request', 'a gRPC request has no trailers');
  }

  onWritable(): void {
    try {
      this.winner?.flush();
    } catch (error) {
      this.attemptFailed(error);
    }
  }

  onEnd(_stream: Http2Stream, end: StreamEnd): void {
    // Nobody is left to be told; the record says whose fault it was.
    if (end.kind === 'streamError') this.reject(Status.INTERNAL, 'malformed_request', end.detail);
    else this.dispatch({ type: 'aborted', by: 'client' });
  }

  // === The attempts ===

  attemptOpened(attempt: Attempt): void {
    const { connection, stream, backend } = attempt;
    if (connection === null || stream === null || backend === null) return;
    // One that waited gets the stream of a sibling that is cancelled just before it (A6, Commit: no further attempts).
    if (this.done || !this.machine.wants(attempt.id)) {
      attempt.cancel();
      return;
    }
    const rest = this.deadlineAt === null ? null : millis(this.deadlineAt - this.parts.clock.now());
    if (rest !== null && rest <= 0) {
      // Its place came free too late (PRX-02: start nothing with nothing left).
      attempt.cancel();
      this.dispatch({ type: 'woke' });
      return;
    }
    const fields = attemptFields(this.request, {
      scheme: this.parts.scheme,
      authority: authorityFor(this.parts.authority, this.request.authority, backend.authority),
      timeout: rest,
      previous: attempt.previous,
      policy: this.guarded,
    });
    if (this.trace !== null) this.trace.attemptFields(fields, attempt);
    const { bodiless } = this.relay;
    if (!connection.sendHeaders(stream, fields, bodiless)) {
      // No further attempt would fare better (CON-13), and one that runs elsewhere is none the worse.
      attempt.drop(
        Status.RESOURCE_EXHAUSTED,
        'headers_too_large',
        `the request's metadata is larger than backend ${backend.name} accepts`,
      );
      return;
    }
    if (bodiless) attempt.endRequest();
    this.dispatched += 1;
    attempt.sent(this.dispatched);
    this.losses.sent();
    this.dispatch({ type: 'attemptPlaced', attempt: attempt.id, backend: backend.id });
    // The deadline may have passed between two looks at the clock: then all is over and freed (CAN-04).
    if (this.done) return;
    this.relay.open(attempt);
    this.pump(attempt);
  }

  attemptAnswered(attempt: Attempt): void {
    this.noteReached(attempt);
    this.dispatch({ type: 'headersReceived', attempt: attempt.id });
    if (this.done || this.winner !== attempt || this.headersForwarded) return;
    this.headersForwarded = true;
    const fields = initialAnswer(this.parts, attempt.takeInitial(), attempt.backend?.name ?? null);
    if (!this.home.connection.sendHeaders(this.stream, fields, false)) {
      this.headersForwarded = false;
      this.refusedAnswer = attempt;
      this.reject(
        Status.RESOURCE_EXHAUSTED,
        'headers_too_large',
        `the initial metadata from backend ${attempt.backend?.name ?? ''} is larger than the client accepts`,
      );
    }
  }

  attemptOffers(chunk: Uint8Array, start: number, end: number): number {
    if (this.done) return 0;
    return this.home.connection.sendData(this.stream, chunk, start, end, false);
  }

  messageBytes(bytes: number): number {
    return this.relay.messageBytes(bytes);
  }

  attemptWritable(attempt: Attempt): void {
    this.pump(attempt);
  }

  attemptEnded(attempt: Attempt): void {
    const { id, end, backend, breached } = attempt;
    if (end === null) return;
    const { code, reach, pushback, by, reason } = end;
    if (reach === 'processed') this.noteReached(attempt);
    const event = { type: 'attemptEnded', attempt: id, code, reach, pushback, by, reason, breached } as const;
    if (by !== 'loss' || backend === null) this.dispatch(event);
    else this.dispatchLoss(attempt, backend, event);
  }

  /** D19: what becomes of an attempt whose backend was lost is counted. */
  private dispatchLoss(attempt: Attempt, backend: UpstreamBackend, event: CallEvent): void {
    const terminated = this.headersForwarded && attempt === this.winner;
    const loss = this.losses.open(attempt, backend.id, this.attempts, terminated);
    this.dispatch(event);
    if (!this.done) loss.follow();
  }

  private noteReached({ backend }: Attempt): void {
    if (this.seat !== null && backend !== null) this.seat.reached(backend.id, this.parts.clock.now());
  }

  avoidedBy(attempt: Attempt): readonly BackendId[] {
    return this.attempts.length === 1 ? attempt.avoid : avoidedAmong(attempt, this.attempts);
  }

  attemptOverweight(attempt: Attempt, bytes: number): void {
    this.reject(
      Status.RESOURCE_EXHAUSTED,
      'message_too_large',
      `backend ${attempt.backend?.name ?? ''} answered with a message of ${bytes} bytes, more than the ${this.responseLimit} permitted`,
    );
  }

  attemptTooLarge(attempt: Attempt): void {
    this.refusedAnswer = attempt;
    this.reject(
      Status.RESOURCE_EXHAUSTED,
      'headers_too_large',
      `the metadata from backend ${attempt.backend?.name ?? ''} is larger than --max-header-list-size`,
    );
  }

  /** MachineOwner. */
  get over(): boolean {
    return this.done;
  }

  throttled(): void {
    this.trace?.throttled(this.machine.now);
  }

  machineFailed(error: unknown): void {
    this.attemptFailed(error);
  }

  /** A defect of ours: told once, the call ends INTERNAL, other calls feel nothing. */
  attemptFailed(error: unknown): void {
    this.parts.onDefect(error, this.id);
    if (this.done) return;
    for (const attempt of this.attempts) attempt.cancel();
    this.finish({
      type: 'finish',
      with: { code: Status.INTERNAL, detail: 'a defect of the proxy' },
      reason: 'internal',
    });
  }

  // === The machine ===

  private dispatch(event: CallEvent): void {
    if (!this.done) this.machine.dispatch(event);
  }

  apply(decision: Decision): void {
    switch (decision.type) {
      case 'startAttempt': {
        const attempt = attemptFor(this, decision, this.seatFor(decision));
        this.attempts = appended(this.attempts, attempt);
        // A committed call whose attempt never left is placed again, and stays committed.
        if (this.commitCause !== null) this.winner = attempt;
        attempt.place();
        if (this.trace !== null && attempt.stream === null) this.trace.delayed(attempt.id);
        return;
      }
      case 'commit':
        this.commitCause = decision.cause;
        this.trace?.committed(this.machine.now);
        this.parts.meters.committed(decision.cause);
        this.winner = this.attempt(decision.attempt);
        this.relay.commit(this.winner);
        return;
      case 'cancelAttempt':
        this.trace?.cancelled(decision.attempt, decision.why);
        this.attempt(decision.attempt)?.cancel(decision.why === 'deadline');
        return;
      case 'countThrottle':
        this.parts.throttle.count(decision.as);
        return;
      case 'finish':
        this.finish(decision);
        return;
      default:
        decision satisfies never;
    }
  }

  /** D29: a claim that nothing can depend on is given back when its first call is proven not to have been processed. */
  private seatFor({ cause, onlyOn }: Extract<Decision, { type: 'startAttempt' }>): SessionSeat | null {
    if (this.seat === null || onlyOn === null) return null;
    if (cause === 'transparent') this.seat.release();
    return this.seat;
  }

  private attempt(id: AttemptId): Attempt | null {
    return this.attempts[id - 1] ?? null;
  }

  private reject(code: StatusCode, reason: StopReason, detail: string): void {
    this.dispatch({ type: 'rejected', code, reason, detail });
  }

  private tellOverflow(): void {
    const limit = this.relay.takeOverflow();
    if (limit === null) return;
    const sent = new Map<AttemptId, number>();
    for (const { id, end, cancelled, reader } of this.attempts)
      if (end === null && !cancelled && reader !== null) sent.set(id, reader.position);
    this.dispatch({ type: 'bufferOverflowed', limit, sent });
  }

  private pump(attempt: Attempt): void {
    this.relay.pump(attempt, this.winner === attempt);
  }

  // === The end ===

  private finish(decision: Extract<Decision, { type: 'finish' }>): void {
    this.done = true;
    this.machine.stop();
    this.losses.over(decision.reason, this.attempts);
    if (this.seat !== null) leaveSeat(this.seat, this.attempts, this.parts.clock.now());
    this.relay.dispose();
    endCall(this, decision);
    this.home.callEnded(this);
  }
}
