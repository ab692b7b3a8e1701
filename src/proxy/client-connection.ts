import { type Forwarding, withForwarding } from '../grpc/forwarding.js';
import type { MetadataField } from '../grpc/metadata.js';
import { readRequest } from '../grpc/request.js';
import { Status, type StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import {
  ErrorCode,
  type HeaderField,
  type Http2Connection,
  type Http2Stream,
  type StreamEvents,
} from '../http2/types.js';
import { createReplayBudget } from '../replay/budget.js';
import type { ReplayBudget } from '../replay/types.js';
import { refusal } from './answer.js';
import { Call, type CallHome } from './call.js';
import type { CallRecord } from './observer.js';
import type { ProxyParts } from './parts.js';
import { answerShort } from './short-answer.js';

/** One client's connection: turns its requests into calls and knows which are open. */
export class ClientConnection implements CallHome {
  readonly connection: Http2Connection;
  readonly replay: ReplayBudget;
  private readonly parts: ProxyParts;
  /** Each knows its place here: a Set that changes with each call keeps dead ones alive (see http2/id-table.ts). */
  private readonly calls: Call[] = [];
  private readonly ended: () => void;
  private readonly forwarding: Forwarding | null;

  /**
   * @param ended a call is over; asked by whoever waits for the last one
   * @param forwarding what its calls tell backends of it; null: nothing
   */
  constructor(connection: Http2Connection, parts: ProxyParts, ended: () => void, forwarding: Forwarding | null = null) {
    this.connection = connection;
    this.parts = parts;
    this.replay = createReplayBudget(parts.clientLimit, 'client', parts.replay);
    this.ended = ended;
    this.forwarding = forwarding;
  }

  get openCalls(): number {
    return this.calls.length;
  }

  onRequest(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean, tooLarge: boolean): void {
    if (tooLarge) {
      const detail = "the request's metadata is larger than --max-header-list-size";
      this.refuseCall(stream, fields, Status.RESOURCE_EXHAUSTED, detail, 'headers_too_large');
      return;
    }
    const read = readRequest(fields, this.parts.prefix, this.parts.directives);
    const verdict = this.forwarding === null ? read : withForwarding(read, this.forwarding);
    switch (verdict.kind) {
      case 'call': {
        const call = new Call(this, this.parts, stream, verdict.call);
        stream.events = call;
        call.place = this.calls.push(call) - 1;
        call.start(endStream);
        return;
      }
      case 'status':
        this.refuseCall(stream, fields, verdict.code, verdict.detail, verdict.reason);
        return;
      case 'http':
        this.refuse(stream, verdict.headers, verdict.body);
        return;
      default:
        verdict satisfies never;
    }
  }

  callEnded(call: Call): void {
    const { calls } = this;
    const last = calls.pop();
    if (last !== undefined && last !== call) {
      calls[call.place] = last;
      last.place = call.place;
    }
    this.ended();
  }

  /** Ends every call UNAVAILABLE `drain_timeout` (D35). */
  abandonCalls(): void {
    for (const call of [...this.calls]) call.abandon();
  }

  /** A call that ends before it begins: told like any other, as its client is (D22: one stop reason per call). */
  private refuseCall(
    stream: Http2Stream,
    fields: readonly HeaderField[],
    code: StatusCode,
    detail: string,
    reason: StopReason,
  ): void {
    const { observer, meters, tracing, clock, nextCallId } = this.parts;
    const id = nextCallId();
    this.refuse(stream, refusal(this.parts, code, detail, { reason, callId: id }), null);
    meters.callRefused(code, reason);
    const now = clock.now();
    const path = fields.find(({ name }) => name === ':path')?.value ?? '';
    const observed = observer.wants(code, 0, now);
    const trace = tracing === null ? null : tracing.begin({ path, fields }, now);
    if (!observed && trace === null) return;
    const record: CallRecord = {
      id,
      method: path,
      startedAt: now,
      endedAt: now,
      code,
      // The words quote what the client sent, which belongs in no log.
      message: '',
      reason,
      origin: 'proxy',
      processed: 'no',
      pin: null,
      session: null,
      attempts: [],
      retries: 0,
      commit: null,
      replayPeak: 0,
      deadlineAt: null,
    };
    if (observed) observer.onCallEnded(record);
    trace?.ended(record);
  }

  /** Answers a request that starts no call. */
  private refuse(stream: Http2Stream, fields: readonly MetadataField[], body: string | null): void {
    const { connection } = this;
    if (body !== null) {
      answerShort(connection, stream, fields, body);
      return;
    }
    stream.events = deaf;
    if (!connection.sendHeaders(stream, fields, true) || !stream.receiveClosed)
      connection.reset(stream, ErrorCode.NO_ERROR);
  }
}

/** For streams whose answer has been given. */
const deaf: StreamEvents = {
  onHeaders() {},
  onTrailers() {},
  onData() {},
  onWritable() {},
  onEnd() {},
};
