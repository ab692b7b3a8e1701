import net, { type AddressInfo } from 'node:net';
import { alive, Happenings } from './alive.js';
import type { Line } from './frames.js';
import {
  frameMessage,
  headerLines,
  requestLines,
  splitMessages,
  trailerLines,
  trailersOnlyLines,
} from './grpc-lines.js';
import { RawConnection, type RawGoaway, type RawOptions } from './raw-connection.js';
import { lineOf, linesOf, type RawBlock, type RawEnd, type RawStream } from './raw-stream.js';

/*
 * A scripted backend and a scripted client on real loopback sockets, with exact frames. They share nothing with src/http2, so
 * that they can judge it. All waiting is for events, at most 10 s.
 */

// === The backend ===

/** A request as a backend got it, and the means to answer it. */
export class RecordedStream {
  readonly raw: RawStream;
  /** The name of the backend that got it. */
  readonly backend: string;

  constructor(raw: RawStream, backend: string) {
    this.raw = raw;
    this.backend = backend;
  }

  get id(): number {
    return this.raw.id;
  }
  get connection(): RawConnection {
    return this.raw.connection;
  }
  /** The request's header lines, in order. */
  get headers(): readonly Line[] {
    return this.raw.blocks[0]?.lines ?? [];
  }
  /** Names of request header lines that came never-indexed (RFC 7541 6.2.3). */
  get neverIndexed(): string[] {
    const fields = this.raw.blocks[0]?.fields ?? [];
    return fields.filter(({ written }) => written === 'neverIndexed').map(({ name }) => name);
  }
  /** The one value of a request header; undefined where there is none. */
  header(name: string): string | undefined {
    return lineOf(this.raw.blocks[0], name);
  }
  /** All values of a request header. */
  headerValues(name: string): string[] {
    return linesOf(this.raw.blocks[0], name);
  }
  get data(): Buffer {
    return this.raw.data;
  }
  get messages(): Buffer[] {
    return this.raw.messages;
  }
  /** The request's END_STREAM came. */
  get ended(): boolean {
    return this.raw.ended;
  }
  /** Of the proxy's RST_STREAM. */
  get resetCode(): number | null {
    return this.raw.resetCode;
  }

  whenData(bytes: number): Promise<Buffer> {
    return this.raw.whenData(bytes);
  }
  whenMessages(count: number): Promise<Buffer[]> {
    return this.raw.whenMessages(count);
  }
  whenEnded(): Promise<void> {
    return this.raw.whenEnded();
  }
  whenReset(): Promise<number> {
    return this.raw.whenReset();
  }
  whenOver(): Promise<RawEnd> {
    return this.raw.whenOver();
  }

  /** Response headers. */
  sendHeaders(extra: readonly Line[] = []): this {
    this.raw.sendBlock(headerLines(extra), false);
    return this;
  }
  /** One message, with its prefix. */
  sendMessage(message: string | Uint8Array): Promise<void> {
    return this.raw.sendMessage(message);
  }
  sendData(bytes: Uint8Array, endStream = false): Promise<void> {
    return this.raw.sendData(bytes, endStream);
  }
  /** Trailers after headers. They stay behind DATA that waits for window. */
  trailers(code: number, extra: readonly Line[] = []): void {
    this.raw.sendBlock(trailerLines(code, extra), true);
  }
  trailersOnly(code: number, extra: readonly Line[] = []): void {
    this.raw.sendBlock(trailersOnlyLines(code, extra), true);
  }
  /** A header block with exactly these lines. */
  block(lines: readonly Line[], endStream: boolean, neverIndexed: readonly string[] = []): void {
    this.raw.sendBlock(lines, endStream, neverIndexed);
  }
  reset(code: number): void {
    this.raw.reset(code);
  }
  /** Headers, messages, trailers. */
  async answer(messages: readonly (string | Uint8Array)[], code = 0, extra: readonly Line[] = []): Promise<void> {
    this.sendHeaders();
    for (const message of messages) await this.sendMessage(message);
    this.trailers(code, extra);
  }
}

/** What a backend does with one stream, from its HEADERS on. */
export type Behaviour = (stream: RecordedStream) => void | Promise<void>;

/** Common behaviours. */
export const behave = {
  /** Waits for the whole request, then answers OK. */
  ok:
    (...messages: readonly (string | Uint8Array)[]): Behaviour =>
    async (stream) => {
      await stream.whenEnded();
      await stream.answer(messages);
    },
  /** Trailers-Only with this code, at once. */
  fail:
    (code: number, extra: readonly Line[] = []): Behaviour =>
    (stream) =>
      stream.trailersOnly(code, extra),
  /** Waits for the whole request, then Trailers-Only with this code. */
  failAfterRequest:
    (code: number, extra: readonly Line[] = []): Behaviour =>
    async (stream) => {
      await stream.whenEnded();
      stream.trailersOnly(code, extra);
    },
  /** RST_STREAM, at once. */
  reset:
    (code: number): Behaviour =>
    (stream) =>
      stream.reset(code),
  /** Answers the request's own bytes, whole. */
  echo: async (stream: RecordedStream): Promise<void> => {
    await stream.whenEnded();
    stream.sendHeaders();
    await stream.sendData(stream.data);
    stream.trailers(0);
  },
  /** The connection is cut. */
  kill: (stream: RecordedStream): void => stream.connection.kill(),
  /** Never answers. */
  silent: (): void => {},
} as const;

export interface RawBackendOptions extends RawOptions {
  /** For the tests' own eyes. */
  readonly name?: string;
  /** 0: any free one. */
  readonly port?: number;
  /** Called at each stream's HEADERS. Without: an answer OK, empty, after the request. */
  readonly onStream?: Behaviour;
}

export interface RawBackend {
  readonly name: string;
  readonly port: number;
  /** `127.0.0.1:port` */
  readonly address: string;
  /** Every stream on every connection, in order of their HEADERS. */
  readonly streams: readonly RecordedStream[];
  readonly connections: readonly RawConnection[];
  /** The nth stream (from 1). */
  waitForStream(nth: number): Promise<RecordedStream>;
  /** The stream after the one that the last call gave. */
  nextStream(): Promise<RecordedStream>;
  /** The nth connection (from 1). */
  waitForConnection(nth: number): Promise<RawConnection>;
  nextConnection(): Promise<RawConnection>;
  /** From now on, streams are met so. */
  behave(behaviour: Behaviour): void;
  /** The next streams are met so, one each; those after them fail the test in `close`. */
  script(behaviours: readonly Behaviour[]): void;
  /** GOAWAY on every open connection. */
  goaway(lastStreamId: number, code: number, debug?: string): void;
  /** Cuts every connection; goes on listening. */
  kill(): void;
  /** Takes no new connections; those there are go on. */
  stopListening(): Promise<void>;
  /** Ends all. Rejects with what went wrong inside a behaviour, or with a stream beyond the script. */
  close(): Promise<void>;
}

/** Listens on loopback. */
export async function startRawBackend(options: RawBackendOptions = {}): Promise<RawBackend> {
  const name = options.name ?? 'backend';
  const streams: RecordedStream[] = [];
  const connections: RawConnection[] = [];
  const happenings = new Happenings();
  const problems: unknown[] = [];
  let behaviour: Behaviour = options.onStream ?? behave.ok();
  let closing = false;

  const server = net.createServer((socket) => {
    const connection = new RawConnection(socket, 'server', options);
    connections.push(connection);
    connection.onRequest = (raw) => {
      const stream = new RecordedStream(raw, name);
      streams.push(stream);
      happenings.changed();
      void meet(stream);
    };
    happenings.changed();
  });

  async function meet(stream: RecordedStream): Promise<void> {
    try {
      await behaviour(stream);
    } catch (error) {
      // A stream that the proxy gave up is no news to a behaviour that was waiting on it.
      const { end } = stream.raw;
      if (!closing && (end === null || end.kind === 'ended')) problems.push(error);
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  let stopped: Promise<void> | null = null;
  const cursor = { stream: 0, connection: 0 };

  const backend: RawBackend = {
    name,
    port,
    address: `127.0.0.1:${port}`,
    streams,
    connections,
    waitForStream: (nth) => happenings.until(`stream ${nth} at ${name}`, () => streams[nth - 1]),
    nextStream() {
      cursor.stream += 1;
      return backend.waitForStream(cursor.stream);
    },
    waitForConnection: (nth) => happenings.until(`connection ${nth} at ${name}`, () => connections[nth - 1]),
    nextConnection() {
      cursor.connection += 1;
      return backend.waitForConnection(cursor.connection);
    },
    behave(next) {
      behaviour = next;
    },
    script(behaviours) {
      const queue = [...behaviours];
      behaviour = (stream) => {
        const next = queue.shift();
        if (next !== undefined) return next(stream);
        problems.push(new Error(`${name} got a stream beyond its script of ${behaviours.length}`));
        stream.trailersOnly(2, [['grpc-message', 'beyond the script']]);
        return undefined;
      };
    },
    goaway(lastStreamId, code, debug) {
      for (const connection of connections) connection.goaway(lastStreamId, code, debug);
    },
    kill() {
      for (const connection of connections) connection.kill();
    },
    stopListening() {
      stopped ??= new Promise((resolve) => server.close(() => resolve()));
      // `close` calls back when the last connection has ended too; to stop listening takes effect at once.
      return Promise.resolve();
    },
    async close() {
      closing = true;
      await backend.stopListening();
      for (const connection of connections) connection.socket.destroy();
      if (stopped !== null) await alive(`${name} to close`, stopped);
      const [first] = problems;
      if (first !== undefined) throw first;
    },
  };
  return backend;
}

// === The client ===

export interface RawCallOptions {
  /** After the usual request lines. */
  readonly headers?: readonly Line[];
  /** Instead of all request lines. */
  readonly lines?: readonly Line[];
  /** Sent at once, each with its prefix. */
  readonly messages?: readonly (string | Uint8Array)[];
  /** END_STREAM after the messages [true]; on HEADERS where there are none. */
  readonly end?: boolean;
  readonly neverIndexed?: readonly string[];
  /** [127.0.0.1:port] */
  readonly authority?: string;
}

/** A call as a client sees it. */
export class RawCall {
  readonly raw: RawStream;

  constructor(raw: RawStream) {
    this.raw = raw;
  }

  get id(): number {
    return this.raw.id;
  }
  /** The first block was the last: status and all in one HEADERS frame. */
  get trailersOnly(): boolean {
    return this.raw.blocks[0]?.endStream === true;
  }
  /** Response headers; null before they come and for Trailers-Only. */
  get headers(): readonly Line[] | null {
    return this.trailersOnly ? null : (this.raw.blocks[0]?.lines ?? null);
  }
  /** Trailers, or the one block of Trailers-Only; null before they come. */
  get trailers(): readonly Line[] | null {
    return this.lastBlock?.lines ?? null;
  }
  /** Names of answer lines, headers and trailers, that came never-indexed. */
  get neverIndexed(): string[] {
    const fields = this.raw.blocks.flatMap((block) => block.fields);
    return fields.filter(({ written }) => written === 'neverIndexed').map(({ name }) => name);
  }
  private get lastBlock(): RawBlock | undefined {
    return this.raw.blocks.find(({ endStream }) => endStream);
  }
  header(name: string): string | undefined {
    return this.trailersOnly ? undefined : lineOf(this.raw.blocks[0], name);
  }
  trailer(name: string): string | undefined {
    return lineOf(this.lastBlock, name);
  }
  trailerValues(name: string): string[] {
    return linesOf(this.lastBlock, name);
  }
  /** grpc-status; null while there is none. */
  get status(): number | null {
    const text = this.trailer('grpc-status');
    return text === undefined ? null : Number(text);
  }
  /** grpc-message as on the wire. */
  get message(): string | undefined {
    return this.trailer('grpc-message');
  }
  get data(): Buffer {
    return this.raw.data;
  }
  get messages(): Buffer[] {
    return splitMessages(this.raw.data);
  }
  /** How the answer is over; null while it is not. */
  get end(): RawEnd | null {
    return this.raw.end;
  }

  /** Response headers (or Trailers-Only). */
  whenHeaders(): Promise<RawBlock> {
    return this.raw.whenBlock(0);
  }
  whenMessages(count: number): Promise<Buffer[]> {
    return this.raw.whenMessages(count);
  }
  whenData(bytes: number): Promise<Buffer> {
    return this.raw.whenData(bytes);
  }
  whenReset(): Promise<number> {
    return this.raw.whenReset();
  }
  /** The end of the answer, whatever it is; resolves to the call itself. */
  async done(): Promise<this> {
    await this.raw.whenOver();
    return this;
  }

  sendMessage(message: string | Uint8Array, endStream = false): Promise<void> {
    return this.raw.sendMessage(message, endStream);
  }
  sendData(bytes: Uint8Array, endStream = false): Promise<void> {
    return this.raw.sendData(bytes, endStream);
  }
  /** Half-closes. */
  finish(): Promise<void> {
    return this.raw.sendData(new Uint8Array(0), true);
  }
  reset(code = 8): void {
    this.raw.reset(code);
  }
}

export interface RawClient {
  readonly connection: RawConnection;
  /** The proxy's settings. */
  readonly settings: ReadonlyMap<number, number>;
  readonly goaways: readonly RawGoaway[];
  call(path: string, options?: RawCallOptions): RawCall;
  ping(): Promise<void>;
  whenGoaway(index?: number): Promise<RawGoaway>;
  whenClosed(): Promise<void>;
  /** FIN, and waits for the other side's. */
  close(): Promise<void>;
  /** Cuts the connection. */
  kill(): void;
}

/** Connects over loopback; resolves when the server's SETTINGS have come (with `greet: false`: when connected). */
export async function connectRawClient(port: number, options: RawOptions = {}): Promise<RawClient> {
  const socket = net.connect({ port, host: '127.0.0.1' });
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve();
    });
  });
  const connection = new RawConnection(socket, 'client', options);
  if (options.greet !== false) await connection.whenSettings();
  let nextId = 1;
  return {
    connection,
    settings: connection.settings,
    goaways: connection.goaways,
    call(path, call = {}) {
      const raw = connection.stream(nextId);
      nextId += 2;
      const lines = call.lines ?? requestLines(path, call.authority ?? `127.0.0.1:${port}`, call.headers ?? []);
      const body = Buffer.concat((call.messages ?? []).map((message) => frameMessage(message)));
      const end = call.end ?? true;
      raw.sendBlock(lines, end && body.length === 0, call.neverIndexed);
      if (body.length > 0) void raw.sendData(body, end);
      return new RawCall(raw);
    },
    ping: () => connection.ping(),
    whenGoaway: (index) => connection.whenGoaway(index),
    whenClosed: () => connection.whenClosed(),
    async close() {
      connection.end();
      await connection.whenClosed();
    },
    kill: () => connection.kill(),
  };
}
