import { createConnection } from '../../src/http2/connection.js';
import {
  type ConnectionEvents,
  defaultHttp2Settings,
  type HeaderField,
  type Http2Connection,
  type Http2Settings,
  type Http2Stream,
  type Role,
  type StreamEnd,
  type StreamEvents,
} from '../../src/http2/types.js';
import { type Frame, parse, preface, settings, settingsAck, show } from './frames.js';

export function fields(lines: readonly (readonly [name: string, value: string])[]): HeaderField[] {
  return lines.map(([name, value]) => ({ name, value, neverIndexed: false }));
}

/** A core under test: its events as lines of text, its output as frames. */
export class Recorder implements ConnectionEvents, StreamEvents {
  readonly connection: Http2Connection;
  /** What happened so far. */
  log: string[] = [];
  /** Server role: the streams of the requests, by id. */
  readonly streams = new Map<number, Http2Stream>();
  /** Runs within an event, after it is logged. */
  during: ((event: string, stream: Http2Stream | null) => void) | null = null;
  /** Streams that had their last event. */
  private readonly over = new Set<Http2Stream>();

  constructor(role: Role, changes: Partial<Http2Settings> = {}) {
    this.connection = createConnection(role, { ...defaultHttp2Settings, ...changes }, this);
  }

  /** Starts, takes the peer's preface and empties the log and the output: what follows is the test's. */
  static ready(
    role: Role,
    changes: Partial<Http2Settings> = {},
    peerSettings: readonly (readonly [id: number, value: number])[] = [],
  ): Recorder {
    const recorder = new Recorder(role, changes);
    recorder.connection.start();
    if (role === 'server') recorder.connection.receive(preface);
    recorder.connection.receive(settings(...peerSettings));
    recorder.connection.receive(settingsAck);
    recorder.bytes();
    recorder.log = [];
    return recorder;
  }

  receive(...chunks: readonly Uint8Array[]): void {
    for (const chunk of chunks) this.connection.receive(chunk);
  }

  /** The events since the last call. */
  events(): string[] {
    const { log } = this;
    this.log = [];
    return log.filter((line) => line !== 'output');
  }

  bytes(): Buffer {
    return Buffer.concat(this.connection.takeOutput());
  }

  /** The frames since the last call. */
  frames(): Frame[] {
    return parse(this.bytes());
  }

  /** The same, in words. */
  sent(): string[] {
    return this.frames().map(show);
  }

  /** Opens a stream and sends HEADERS. */
  request(end = false): Http2Stream {
    const stream = this.connection.openStream(this);
    if (stream === null) throw new Error('no room for a stream');
    this.connection.sendHeaders(stream, requestFields, end);
    return stream;
  }

  stream(id: number): Http2Stream {
    const stream = this.streams.get(id);
    if (stream === undefined) throw new Error(`no request on stream ${id}`);
    return stream;
  }

  onRequest(stream: Http2Stream, list: readonly HeaderField[], endStream: boolean, tooLarge: boolean): void {
    stream.events = this;
    this.streams.set(stream.id, stream);
    this.note(`request ${stream.id} ${path(list)}${endStream ? ' end' : ''}${tooLarge ? ' too-large' : ''}`, stream);
  }
  onSettings(): void {
    this.note('settings', null);
  }
  onGoaway(lastStreamId: number, code: number, debug: string): void {
    this.note(`goaway ${lastStreamId} ${code} ${JSON.stringify(debug)}`, null);
  }
  onStreamClosed(stream: Http2Stream): void {
    this.note(`closed ${stream.id}`, stream, true);
  }
  onOutput(): void {
    this.note('output', null);
  }
  onFailed(code: number, _detail: string): void {
    this.note(`failed ${code}`, null);
  }
  onHeaders(stream: Http2Stream, list: readonly HeaderField[], endStream: boolean): void {
    this.note(`headers ${stream.id} ${list.length}${endStream ? ' end' : ''}`, stream);
  }
  onTrailers(stream: Http2Stream, list: readonly HeaderField[], tooLarge: boolean): void {
    this.note(`trailers ${stream.id} ${list.length}${tooLarge ? ' too-large' : ''}`, stream);
  }
  onData(stream: Http2Stream, chunk: Uint8Array, start: number, end: number, endStream: boolean): void {
    const bytes = Buffer.from(chunk.subarray(start, end));
    const text = bytes.length > 40 ? bytes.length : JSON.stringify(bytes.toString('latin1'));
    this.note(`data ${stream.id} ${text}${endStream ? ' end' : ''}`, stream);
  }
  onWritable(stream: Http2Stream): void {
    this.note(`writable ${stream.id}`, stream);
  }
  onEnd(stream: Http2Stream, end: StreamEnd): void {
    const more = 'code' in end ? ` ${end.code}` : end.kind === 'lost' ? ` ${end.flushed ? 'flushed' : 'unsent'}` : '';
    this.note(`end ${stream.id} ${end.kind}${more}`, stream);
    this.over.add(stream);
  }

  private note(line: string, stream: Http2Stream | null, last = false): void {
    // The contract of each stream: nothing after its end but the connection's own "closed", once.
    if (stream !== null && this.over.has(stream) && !last) throw new Error(`${line} after the stream's end`);
    this.log.push(line);
    this.during?.(line, stream);
  }
}

const requestFields = fields([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/pkg.Service/Method'],
  [':authority', 'localhost'],
]);

function path(list: readonly HeaderField[]): string {
  return list.find((field) => field.name === ':path')?.value ?? '-';
}
