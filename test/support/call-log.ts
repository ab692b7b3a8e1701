import type { HeaderField, Http2Connection, Http2Stream, StreamEnd, StreamEvents } from '../../src/http2/types.js';
import type { CallRecord } from '../../src/proxy/observer.js';
import type { Outcome } from './call-script.js';

/** The key by which scripted peers know a call. */
export const callKey = 'x-call';

export type Lines = readonly (readonly [name: string, value: string])[];

/** One stream that the proxy opened to a backend. */
export interface Opened {
  readonly call: number;
  readonly backend: string;
  /** Of all streams of the run, from 0. */
  readonly number: number;
  readonly request: Lines;
}

/** What crossed the engines at the proxy's own edges, in the order in which it did. */
export type LogEntry = { readonly at: number } & (
  | { readonly kind: 'arrived'; readonly call: number; readonly request: Lines }
  /** A piece of the client's request reached the proxy. */
  | { readonly kind: 'requestBytes'; readonly call: number; readonly bytes: number; readonly last: boolean }
  | { readonly kind: 'opened'; readonly opened: Opened }
  /** The proxy gave the backend's engine a piece of the request. */
  | { readonly kind: 'requestSent'; readonly opened: Opened; readonly bytes: number; readonly last: boolean }
  | { readonly kind: 'headers'; readonly opened: Opened; readonly lines: Lines; readonly endStream: boolean }
  | { readonly kind: 'answerBytes'; readonly opened: Opened; readonly bytes: number; readonly endStream: boolean }
  | { readonly kind: 'trailers'; readonly opened: Opened; readonly lines: Lines }
  | { readonly kind: 'ended'; readonly opened: Opened; readonly end: StreamEnd }
  /** The proxy reset the stream. */
  | { readonly kind: 'dropped'; readonly opened: Opened; readonly code: number }
  /** The proxy told the client headers, trailers, or both in one. */
  | { readonly kind: 'told'; readonly call: number; readonly lines: Lines; readonly endStream: boolean }
  /** The proxy gave the client's engine a piece of an answer. */
  | { readonly kind: 'toldBytes'; readonly call: number; readonly bytes: number }
  /** The client's stream is over, and not by the proxy's doing. */
  | { readonly kind: 'gone'; readonly call: number }
  | { readonly kind: 'counted'; readonly as: 'failure' | 'success' }
  | { readonly kind: 'record'; readonly record: CallRecord }
);

type WithoutTime<T> = T extends unknown ? Omit<T, 'at'> : never;

export class CallLog {
  readonly entries: LogEntry[] = [];
  /** What the backends set out to answer, by the mark that is in the answer. */
  readonly answers: Outcome[] = [];
  /** Streams opened to backends so far. */
  streams = 0;
  private readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  add(entry: WithoutTime<LogEntry>): void {
    this.entries.push({ at: this.now(), ...entry } as LogEntry);
  }
}

export function linesOf(fields: readonly HeaderField[]): Lines {
  return fields.map(({ name, value }) => [name, value] as const);
}

export function firstOf(lines: Lines, name: string): string | null {
  return lines.find(([other]) => other === name)?.[1] ?? null;
}

export function allOf(lines: Lines, name: string): string[] {
  return lines.filter(([other]) => other === name).map(([, value]) => value);
}

/** Passes a connection on as it is, but for what an heir looks at. */
class Passing implements Http2Connection {
  protected readonly inner: Http2Connection;

  constructor(inner: Http2Connection) {
    this.inner = inner;
  }
  get role(): Http2Connection['role'] {
    return this.inner.role;
  }
  get ready(): boolean {
    return this.inner.ready;
  }
  get openStreams(): number {
    return this.inner.openStreams;
  }
  get callFrames(): number {
    return this.inner.callFrames;
  }
  get room(): number {
    return this.inner.room;
  }
  get lastPeerStreamId(): number {
    return this.inner.lastPeerStreamId;
  }
  get outputBytes(): number {
    return this.inner.outputBytes;
  }
  start(): void {
    this.inner.start();
  }
  get headerBlock(): number {
    return this.inner.headerBlock;
  }
  receive(chunk: Uint8Array, now?: number): void {
    this.inner.receive(chunk, now);
  }
  fail(code: number, detail: string): void {
    this.inner.fail(code, detail);
  }
  lost(detail: string): void {
    this.inner.lost(detail);
  }
  openStream(events: StreamEvents): Http2Stream | null {
    return this.inner.openStream(events);
  }
  sendHeaders(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean): boolean {
    return this.inner.sendHeaders(stream, fields, endStream);
  }
  sendData(stream: Http2Stream, chunk: Uint8Array, start: number, end: number, endStream: boolean): number {
    return this.inner.sendData(stream, chunk, start, end, endStream);
  }
  reset(stream: Http2Stream, code: number): void {
    this.inner.reset(stream, code);
  }
  consume(stream: Http2Stream, bytes: number): void {
    this.inner.consume(stream, bytes);
  }
  ping(onAck: () => void): void {
    this.inner.ping(onAck);
  }
  goaway(lastStreamId: number, code: number, debug?: string): void {
    this.inner.goaway(lastStreamId, code, debug);
  }
  takeOutput(): Uint8Array[] {
    return this.inner.takeOutput();
  }
  setOutputBlocked(blocked: boolean): void {
    this.inner.setOutputBlocked(blocked);
  }
  onceFlushed(task: () => void): void {
    this.inner.onceFlushed(task);
  }
}

/** The proxy's connection to a backend: what the proxy asks of it and what it says is noted, then passed on. */
export class BackendTap extends Passing {
  private readonly log: CallLog;
  private readonly backend: string;
  private readonly opened = new Map<Http2Stream, Opened>();
  private readonly onOpening: () => void;

  /** @param onOpening a request's HEADERS are about to be given to the engine */
  constructor(inner: Http2Connection, log: CallLog, backend: string, onOpening: () => void) {
    super(inner);
    this.onOpening = onOpening;
    this.log = log;
    this.backend = backend;
  }

  override openStream(events: StreamEvents): Http2Stream | null {
    const noted = (stream: Http2Stream): Opened => {
      const opened = this.opened.get(stream);
      if (opened === undefined) throw new Error('a stream without HEADERS heard something');
      return opened;
    };
    return this.inner.openStream({
      onHeaders: (stream, fields, endStream) => {
        this.log.add({ kind: 'headers', opened: noted(stream), lines: linesOf(fields), endStream });
        events.onHeaders(stream, fields, endStream);
      },
      onTrailers: (...heard) => {
        const [stream, fields] = heard;
        this.log.add({ kind: 'trailers', opened: noted(stream), lines: linesOf(fields) });
        events.onTrailers(...heard);
      },
      onData: (stream, chunk, start, end, endStream) => {
        this.log.add({ kind: 'answerBytes', opened: noted(stream), bytes: end - start, endStream });
        events.onData(stream, chunk, start, end, endStream);
      },
      onWritable: (stream) => events.onWritable(stream),
      onEnd: (stream, end) => {
        const opened = this.opened.get(stream);
        if (opened !== undefined) this.log.add({ kind: 'ended', opened, end });
        events.onEnd(stream, end);
      },
    });
  }

  override sendHeaders(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean): boolean {
    const request = linesOf(fields);
    const opened: Opened = {
      call: Number(firstOf(request, callKey)),
      backend: this.backend,
      number: this.log.streams,
      request,
    };
    this.log.streams += 1;
    this.opened.set(stream, opened);
    this.log.add({ kind: 'opened', opened });
    this.onOpening();
    return this.inner.sendHeaders(stream, fields, endStream);
  }

  override sendData(stream: Http2Stream, chunk: Uint8Array, start: number, end: number, endStream: boolean): number {
    const opened = this.opened.get(stream);
    const taken = this.inner.sendData(stream, chunk, start, end, endStream);
    const last = endStream && taken === end - start;
    if (opened !== undefined && (taken > 0 || last)) this.log.add({ kind: 'requestSent', opened, bytes: taken, last });
    return taken;
  }

  override reset(stream: Http2Stream, code: number): void {
    const opened = this.opened.get(stream);
    if (opened !== undefined && !stream.closed) this.log.add({ kind: 'dropped', opened, code });
    this.inner.reset(stream, code);
  }
}

/** A client's connection as the proxy has it. */
export class ClientTap extends Passing {
  private readonly log: CallLog;
  private readonly hearsCancels: boolean;
  private readonly calls = new Map<Http2Stream, number>();

  /** @param hearsCancels false plants a fault: the proxy is not told that a client's stream is over */
  constructor(inner: Http2Connection, log: CallLog, hearsCancels: boolean) {
    super(inner);
    this.log = log;
    this.hearsCancels = hearsCancels;
  }

  /** A request has come; listens in on what its owner hears, once it has one. */
  arrived(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean, admit: () => void): void {
    const { log } = this;
    const request = linesOf(fields);
    const call = Number(firstOf(request, callKey));
    this.calls.set(stream, call);
    log.add({ kind: 'arrived', call, request });
    if (endStream) log.add({ kind: 'requestBytes', call, bytes: 0, last: true });
    admit();
    const { events } = stream;
    if (events === null) throw new Error('a request was given no owner');
    stream.events = {
      onHeaders: (...heard) => events.onHeaders(...heard),
      onTrailers: (...heard) => events.onTrailers(...heard),
      onData: (one, chunk, start, end, last) => {
        log.add({ kind: 'requestBytes', call, bytes: end - start, last });
        events.onData(one, chunk, start, end, last);
      },
      onWritable: (one) => events.onWritable(one),
      onEnd: (one, end) => {
        log.add({ kind: 'gone', call });
        if (this.hearsCancels) events.onEnd(one, end);
      },
    };
  }

  override sendHeaders(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean): boolean {
    const call = this.calls.get(stream);
    const sent = this.inner.sendHeaders(stream, fields, endStream);
    if (sent && call !== undefined) this.log.add({ kind: 'told', call, lines: linesOf(fields), endStream });
    return sent;
  }

  override sendData(stream: Http2Stream, chunk: Uint8Array, start: number, end: number, endStream: boolean): number {
    const call = this.calls.get(stream);
    const taken = this.inner.sendData(stream, chunk, start, end, endStream);
    if (taken > 0 && call !== undefined) this.log.add({ kind: 'toldBytes', call, bytes: taken });
    return taken;
  }
}
