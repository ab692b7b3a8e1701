import { type Millis, millis } from '../grpc/millis.js';
import { decodeMessage } from '../grpc/percent.js';
import type { IncomingCall } from '../grpc/request.js';
import { attemptFields } from '../grpc/rewrite.js';
import { Status, type StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import {
  ErrorCode,
  type Http2Connection,
  type Http2Stream,
  type StreamEnd,
  type StreamEvents,
} from '../http2/types.js';
import { transition } from '../policy/call.js';
import { type CallState, createCall } from '../policy/call-state.js';
import type { AttemptId, CallEvent, CommitCause, Decision, Env, Plan } from '../policy/types.js';
import type { ReplayBudget } from '../replay/types.js';
import type { AlarmHandle } from '../runtime/ports.js';
import { answerTooLarge, initialAnswer, sendEnd } from './answer.js';
import { Attempt, type AttemptOwner } from './attempt.js';
import { recordOf } from './attempt-record.js';
import { authorityFor } from './authority.js';
import type { CallRecord } from './observer.js';
import type { ProxyParts } from './parts.js';
import { RequestRelay } from './request-relay.js';

/** Where a call came from: its client's connection. */
export interface CallHome {
  readonly connection: Http2Connection;
  /** The client connection's share of replay bytes. */
  readonly replay: ReplayBudget;
  /** The call is over: forget it. */
  callEnded(call: Call): void;
}

/** The most repeats of an attempt that never left (D12, No backend). */
const maxTransparent = 1000;

/**
 * One call: feeds the machine of policy/ with what the wire says, and does what it decides. Decides nothing itself.
 * Owner of the client's stream, the request's bytes, the attempts and one alarm.
 */
export class Call implements StreamEvents, AttemptOwner {
  readonly stream: Http2Stream;
  private readonly home: CallHome;
  private readonly parts: ProxyParts;
  private readonly request: IncomingCall;
  private readonly plan: Plan;
  private readonly state: CallState;
  private readonly relay: RequestRelay;
  private readonly startedAt: number;
  private readonly deadlineAt: Millis | null;
  /** Every attempt, in order of start; an attempt's id is its index + 1 (policy/types.ts). */
  private readonly attempts: Attempt[] = [];
  private winner: Attempt | null = null;
  private commitCause: CommitCause | null = null;
  private headersForwarded = false;
  /** Its answer's metadata was larger than we, or the client, accept. */
  private refusedAnswer: Attempt | null = null;
  private done = false;
  private alarm: AlarmHandle | null = null;
  private running = false;
  private backlog: CallEvent[] | null = null;
  private callId: string | null = null;
  /** Lent to the machine: one object for the call's life. */
  private readonly env: { -readonly [Key in keyof Env]: Env[Key] };
  private now: Millis;
  private readonly ring = (): void => this.dispatch({ type: 'woke' });

  constructor(home: CallHome, parts: ProxyParts, stream: Http2Stream, request: IncomingCall) {
    this.home = home;
    this.parts = parts;
    this.stream = stream;
    this.request = request;
    this.now = millis(parts.clock.now());
    this.startedAt = this.now;
    this.deadlineAt = request.timeout === null ? null : millis(this.startedAt + request.timeout);
    this.plan = parts.planFor(request.path);
    this.state = createCall(this.plan, { maxTransparent });
    this.relay = new RequestRelay(home.connection, stream, parts, home.replay);
    this.env = { now: this.now, random: () => parts.random.next(), throttled: () => false };
  }

  /** The id in the log; made on demand. */
  get id(): string {
    this.callId ??= this.parts.nextCallId();
    return this.callId;
  }

  /** @param endStream the request has no bytes */
  start(endStream: boolean): void {
    if (endStream) this.relay.end();
    this.dispatch({
      type: 'started',
      deadlineAt: this.deadlineAt,
      placement: { kind: 'any' },
      policy: this.request.retry,
    });
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
      if (!this.relay.receive(chunk, start, end, endStream)) {
        this.reject(Status.INTERNAL, 'malformed_request', 'the request ended in the middle of a message');
        return;
      }
      this.tellOverflow();
      for (const attempt of this.attempts) this.pump(attempt);
    } catch (error) {
      this.attemptFailed(error);
    }
  }

  onTrailers(): void {
    this.reject(Status.INTERNAL, 'malformed_request', 'a gRPC request has no trailers');
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
    else if (end.kind === 'headersTooLarge')
      this.reject(
        Status.RESOURCE_EXHAUSTED,
        'headers_too_large',
        'request trailers are larger than --max-header-list-size',
      );
    else this.dispatch({ type: 'aborted', by: 'client' });
  }

  // === The attempts ===

  attemptOpened(attempt: Attempt): void {
    const { connection, stream, backend } = attempt;
    if (connection === null || stream === null || backend === null) return;
    if (this.done) {
      attempt.cancel();
      return;
    }
    this.now = millis(this.parts.clock.now());
    const rest = this.deadlineAt === null ? null : millis(this.deadlineAt - this.now);
    if (rest !== null && rest <= 0) {
      // Its place came free too late (PRX-02: start nothing with nothing left).
      attempt.cancel();
      this.dispatch({ type: 'woke' });
      return;
    }
    const fields = attemptFields(this.request, {
      scheme: this.parts.scheme,
      authority: authorityFor(this.parts.authority, this.request.authority, backend.endpoint),
      timeout: rest,
      previous: attempt.previous,
      policy: this.plan.kind !== 'none' && this.request.retry === 'on',
    });
    const { bodiless } = this.relay;
    if (!connection.sendHeaders(stream, fields, bodiless)) {
      connection.reset(stream, ErrorCode.CANCEL);
      this.reject(
        Status.RESOURCE_EXHAUSTED,
        'headers_too_large',
        `the request's metadata is larger than backend ${backend.name} accepts`,
      );
      return;
    }
    attempt.requestEnded = bodiless;
    this.dispatch({ type: 'attemptPlaced', attempt: attempt.id, backend: backend.id });
    // The deadline may have passed between two looks at the clock: then all is over and freed (CAN-04).
    if (this.done) return;
    this.relay.open(attempt);
    if (this.winner === attempt) this.relay.commit(attempt);
    this.pump(attempt);
  }

  attemptAnswered(attempt: Attempt): void {
    this.dispatch({ type: 'headersReceived', attempt: attempt.id });
    if (this.done || this.winner !== attempt || attempt.initial === null || this.headersForwarded) return;
    this.headersForwarded = true;
    const fields = initialAnswer(this.parts, attempt.initial, attempt.backend?.name ?? null);
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

  attemptWritable(attempt: Attempt): void {
    this.pump(attempt);
  }

  attemptEnded(attempt: Attempt): void {
    const { end } = attempt;
    if (end === null) return;
    this.dispatch({
      type: 'attemptEnded',
      attempt: attempt.id,
      code: end.code,
      reach: end.reach,
      pushback: end.pushback,
      by: end.by,
    });
  }

  attemptTooLarge(attempt: Attempt): void {
    this.refusedAnswer = attempt;
    this.reject(
      Status.RESOURCE_EXHAUSTED,
      'headers_too_large',
      `the metadata from backend ${attempt.backend?.name ?? ''} is larger than --max-header-list-size`,
    );
  }

  /** A defect of ours: told once, the call ends INTERNAL, other calls feel nothing. */
  attemptFailed(error: unknown): void {
    this.parts.onDefect(error, this.id);
    if (this.done) return;
    this.running = false;
    this.backlog = null;
    for (const attempt of this.attempts) attempt.cancel();
    this.finish({
      type: 'finish',
      with: { code: Status.INTERNAL, detail: 'a defect of the proxy' },
      reason: 'internal',
    });
  }

  // === The machine ===

  private dispatch(event: CallEvent): void {
    if (this.done) return;
    // Run to completion: a decision that fires an event at once enqueues it (design, The call machine).
    if (this.running) {
      this.backlog ??= [];
      this.backlog.push(event);
      return;
    }
    this.running = true;
    try {
      let next: CallEvent | undefined = event;
      let wakeAt: Millis | null = null;
      while (next !== undefined && !this.done) {
        this.now = millis(this.parts.clock.now());
        this.env.now = this.now;
        const step = transition(this.state, next, this.env);
        wakeAt = step.wakeAt;
        for (const decision of step.decisions) this.apply(decision);
        next = this.backlog?.shift();
      }
      this.running = false;
      if (!this.done) this.arm(wakeAt);
    } catch (error) {
      this.attemptFailed(error);
    }
  }

  private apply(decision: Decision): void {
    switch (decision.type) {
      case 'startAttempt': {
        const attempt = new Attempt(this, this.parts, {
          id: decision.attempt,
          cause: decision.cause,
          previous: decision.previous,
          avoid: decision.avoid,
        });
        this.attempts.push(attempt);
        // A committed call whose attempt never left is placed again, and stays committed.
        if (this.commitCause !== null) this.winner = attempt;
        attempt.place();
        return;
      }
      case 'commit':
        this.commitCause = decision.cause;
        this.winner = this.attempt(decision.attempt);
        this.relay.commit(this.winner);
        return;
      case 'cancelAttempt':
        this.attempt(decision.attempt)?.cancel();
        return;
      case 'countThrottle':
        return;
      case 'finish':
        this.finish(decision);
        return;
      default:
        decision satisfies never;
    }
  }

  private attempt(id: AttemptId): Attempt | null {
    return this.attempts[id - 1] ?? null;
  }

  private arm(at: Millis | null): void {
    if (this.alarm !== null) {
      if (this.alarm.at === at) return;
      this.parts.alarms.cancel(this.alarm);
      this.alarm = null;
    }
    if (at !== null) this.alarm = this.parts.alarms.set(at, this.ring);
  }

  private reject(code: StatusCode, reason: StopReason, detail: string): void {
    this.dispatch({ type: 'rejected', code, reason, detail });
  }

  private tellOverflow(): void {
    const limit = this.relay.takeOverflow();
    if (limit === null) return;
    const sent = new Map<AttemptId, number>();
    for (const attempt of this.attempts)
      if (attempt.end === null && !attempt.cancelled) sent.set(attempt.id, attempt.reader?.position ?? 0);
    this.dispatch({ type: 'bufferOverflowed', limit, sent });
  }

  private pump(attempt: Attempt): void {
    this.relay.pump(attempt, this.winner === attempt);
  }

  // === The end ===

  private finish(decision: Extract<Decision, { type: 'finish' }>): void {
    this.done = true;
    if (this.alarm !== null) {
      this.parts.alarms.cancel(this.alarm);
      this.alarm = null;
    }
    this.relay.dispose();
    const told = 'from' in decision.with ? this.attempt(decision.with.from) : null;
    const end = told?.end ?? null;
    let code = 'code' in decision.with ? decision.with.code : (end?.code ?? Status.INTERNAL);
    let message = 'detail' in decision.with ? decision.with.detail : decodeMessage(end?.message ?? '');
    let { reason } = decision;
    let origin: CallRecord['origin'] = end?.by === 'backend' ? 'backend' : 'proxy';
    if (!this.stream.closed && !this.answer(told, code, message, reason)) {
      ({ code, message, reason } = answerTooLarge);
      origin = 'proxy';
    }
    const { observer } = this.parts;
    if (observer.wants(code, this.attempts.length)) {
      observer.onCallEnded({
        id: this.id,
        method: this.request.path,
        startedAt: this.startedAt,
        endedAt: this.now,
        code,
        message,
        reason,
        origin,
        attempts: this.attempts.map(recordOf),
        retries: this.retries(),
        commit: this.commitCause,
        replayPeak: this.relay.peakHeld,
        deadlineAt: this.deadlineAt,
      });
    }
    this.home.callEnded(this);
  }

  /** False: the client was told `answerTooLarge` instead. */
  private answer(told: Attempt | null, code: StatusCode, message: string, reason: StopReason): boolean {
    const speaker = told ?? (this.headersForwarded ? this.winner : this.refusedAnswer);
    return sendEnd(this.home.connection, this.stream, this.parts, {
      trailers: told?.trailers ?? null,
      afterHeaders: this.headersForwarded,
      code,
      message: speaker?.backend && told !== null ? `backend ${speaker.backend.name}: ${message}` : message,
      backend: speaker?.backend?.name ?? null,
      retries: this.retries(),
      reason,
    });
  }

  private retries(): number {
    return this.attempts.reduce((count, { cause }) => (cause === 'retry' ? count + 1 : count), 0);
  }
}
