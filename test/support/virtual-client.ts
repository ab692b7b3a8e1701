import { defaultHttp2Settings, type Http2Stream, type StreamEnd, type StreamEvents } from '../../src/http2/types.js';
import { ClientConnection } from '../../src/proxy/client-connection.js';
import type { ProxyParts } from '../../src/proxy/parts.js';
import { type CallLog, ClientTap, callKey, type Lines, linesOf } from './call-log.js';
import { type ClientCallPlan, pathOf } from './call-script.js';
import { frameMessage, requestLines } from './grpc-lines.js';
import { fields } from './recorder.js';
import type { VirtualTime } from './virtual-time.js';
import { Wire } from './virtual-wire.js';

/** All the bytes that a client means to send for this call; no two calls' bytes are alike. */
export function requestBytes(call: number, messages: readonly number[]): Buffer {
  return Buffer.concat(
    messages.map((length, m) =>
      frameMessage(Uint8Array.from({ length }, (_, i) => (call * 37 + m * 11 + i * 7) & 0xff)),
    ),
  );
}

/** One call as its client sees it. */
export class Caller implements StreamEvents {
  readonly call: number;
  headers: Lines | null = null;
  trailers: Lines | null = null;
  readonly parts: Buffer[] = [];
  /** END_STREAM came. */
  answered = false;
  /** Blocks of headers and trailers that came. */
  blocks = 0;
  cancelled = false;
  end: StreamEnd | null = null;
  /** Bytes of the request that were given to the engine. */
  sent = 0;
  private readonly wire: Wire;
  private readonly stream: Http2Stream;
  private readonly plan: ClientCallPlan;
  private readonly time: VirtualTime;
  private readonly payload: Buffer;
  /** Bytes that may leave by now. */
  private due = 0;
  private endDue = false;
  private endSent = false;

  constructor(wire: Wire, time: VirtualTime, call: number, plan: ClientCallPlan) {
    this.wire = wire;
    this.time = time;
    this.call = call;
    this.plan = plan;
    this.payload = requestBytes(call, plan.messages);
    const { connection } = wire.client;
    const stream = connection.openStream(this);
    if (stream === null) throw new Error('the client has no room for a call');
    this.stream = stream;
    const lines: (readonly [string, string])[] = [[callKey, String(call)]];
    if (plan.timeout !== null) lines.push(['grpc-timeout', `${plan.timeout}m`]);
    if (plan.previous !== null) lines.push(['grpc-previous-rpc-attempts', plan.previous]);
    for (const [key, value] of plan.directives) lines.push([`hedgerow-${key}`, value]);
    const bodiless = this.payload.length === 0 && plan.halfClose === 0;
    connection.sendHeaders(stream, fields(requestLines(pathOf(call, plan.service), 'shop.test', lines)), bodiless);
    if (plan.cancel !== null) this.later(plan.cancel, () => this.cancel());
    if (bodiless) this.endSent = true;
    else this.schedule();
  }

  get bytes(): Buffer {
    return Buffer.concat(this.parts);
  }
  /** All of the request, END_STREAM included, has left. */
  get complete(): boolean {
    return this.endSent;
  }

  get over(): boolean {
    return this.answered || this.end !== null || this.cancelled;
  }

  cancel(): void {
    if (this.over) return;
    this.cancelled = true;
    if (!this.stream.closed) this.wire.client.connection.reset(this.stream, 8);
  }

  onHeaders(_stream: Http2Stream, list: Parameters<StreamEvents['onHeaders']>[1], endStream: boolean): void {
    this.blocks += 1;
    this.headers = linesOf(list);
    if (endStream) this.answer(this.headers);
  }
  onTrailers(_stream: Http2Stream, list: Parameters<StreamEvents['onTrailers']>[1]): void {
    this.blocks += 1;
    this.answer(linesOf(list));
  }
  onData(stream: Http2Stream, chunk: Uint8Array, start: number, end: number, endStream: boolean): void {
    this.parts.push(Buffer.from(chunk.subarray(start, end)));
    const bytes = end - start;
    const { connection } = this.wire.client;
    if (this.plan.readAfter === 0) connection.consume(stream, bytes);
    else this.later(this.plan.readAfter, () => stream.closed || connection.consume(stream, bytes));
    if (endStream) throw new Error(`call ${this.call}: an answer without trailers`);
  }
  onWritable(): void {
    this.pump();
  }
  onEnd(_stream: Http2Stream, end: StreamEnd): void {
    this.end = end;
  }

  private answer(lines: Lines): void {
    this.answered = true;
    this.trailers = lines;
  }

  private later(ms: number, task: () => void): void {
    this.time.alarms.set(this.time.clock.now() + ms, task);
  }

  /** The pieces and the end, each at its time. */
  private schedule(): void {
    const { pieces, halfClose } = this.plan;
    let at = 0;
    let bytes = 0;
    for (const piece of pieces) {
      at += piece.after;
      bytes += piece.bytes;
      const due = Math.min(bytes, this.payload.length);
      this.later(at, () => this.release(due, false));
    }
    this.later(at, () => this.release(this.payload.length, halfClose === 0));
    if (halfClose !== null && halfClose > 0) this.later(at + halfClose, () => this.release(this.payload.length, true));
  }

  private release(due: number, end: boolean): void {
    this.due = Math.max(this.due, due);
    this.endDue ||= end;
    this.pump();
  }

  private pump(): void {
    if (this.stream.closed || this.stream.sendClosed || this.endSent) return;
    const last = this.endDue && this.due === this.payload.length;
    if (this.sent === this.due && !last) return;
    this.sent += this.wire.client.connection.sendData(this.stream, this.payload, this.sent, this.due, last);
    this.endSent = last && this.sent === this.due;
  }
}

/** A client's connection to the proxy, from its engine to the proxy's own listener-side parts. */
export class VirtualClient {
  readonly wire: Wire;
  readonly atProxy: ClientConnection;
  private readonly time: VirtualTime;

  constructor(
    time: VirtualTime,
    log: CallLog,
    parts: ProxyParts,
    facts: { latency: number; window: number; proxyWindow: number; hearsCancels: boolean },
  ) {
    this.time = time;
    const broken = (who: string) => (code: number, detail: string) => {
      throw new Error(`between client and proxy ${who} broke HTTP/2: ${code} ${detail}`);
    };
    this.wire = new Wire(
      time,
      facts.latency,
      {
        settings: { ...defaultHttp2Settings, streamWindow: facts.window },
        events: {
          onRequest() {},
          onSettings() {},
          onGoaway() {},
          onStreamClosed() {},
          onFailed: broken('the proxy'),
          onClosed() {},
        },
      },
      {
        settings: { ...defaultHttp2Settings, streamWindow: facts.proxyWindow },
        events: {
          onRequest: (stream, list, endStream, tooLarge) =>
            tap.arrived(stream, list, endStream, () => this.atProxy.onRequest(stream, list, endStream, tooLarge)),
          onSettings() {},
          onGoaway() {},
          onStreamClosed() {},
          onFailed: broken('the client'),
          onClosed() {},
        },
      },
    );
    const tap = new ClientTap(this.wire.server.connection, log, facts.hearsCancels);
    this.atProxy = new ClientConnection(tap, parts, () => {});
    this.wire.start();
  }

  /** Null: its connection is gone. */
  call(number: number, plan: ClientCallPlan): Caller | null {
    if (!this.wire.client.connection.ready) return null;
    return new Caller(this.wire, this.time, number, plan);
  }
}
