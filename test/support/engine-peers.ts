import net, { type AddressInfo } from 'node:net';
import tls from 'node:tls';
import { createConnection } from '../../src/http2/connection.js';
import { bindSocket, type SocketBinding } from '../../src/http2/socket.js';
import {
  defaultHttp2Settings,
  type HeaderField,
  type Http2Connection,
  type Http2Settings,
  type Http2Stream,
  type Role,
  type StreamEnd,
  type StreamEvents,
} from '../../src/http2/types.js';
import { clock, NodeAlarms, turn } from './node-ports.js';
import { fields } from './recorder.js';

export const alarms = new NodeAlarms();

/** A promise with its handles outside. */
export class Signal<T> {
  readonly promise: Promise<T>;
  give!: (value: T) => void;

  constructor() {
    this.promise = new Promise((resolve) => {
      this.give = resolve;
    });
  }
}

/** Sends bytes as windows permit; gives window back as they leave. */
class Pump {
  private readonly slices: { chunk: Uint8Array; start: number; end: number }[] = [];
  private ended = false;
  private readonly finish: () => void;
  private readonly passed: (bytes: number) => void;
  private readonly connection: Http2Connection;
  private readonly stream: Http2Stream;

  constructor(
    connection: Http2Connection,
    stream: Http2Stream,
    finish: () => void,
    passed: (bytes: number) => void = () => {},
  ) {
    this.connection = connection;
    this.stream = stream;
    this.finish = finish;
    this.passed = passed;
  }

  push(chunk: Uint8Array, start: number, end: number): void {
    if (end > start) this.slices.push({ chunk, start, end });
    this.run();
  }

  end(): void {
    this.ended = true;
    this.run();
  }

  run(): void {
    for (let slice = this.slices[0]; slice !== undefined; slice = this.slices[0]) {
      const taken = this.connection.sendData(this.stream, slice.chunk, slice.start, slice.end, false);
      slice.start += taken;
      this.passed(taken);
      if (slice.start < slice.end) return;
      this.slices.shift();
    }
    if (this.ended && !this.stream.sendClosed) this.finish();
  }
}

/** A request on an engine's server: echoes all bytes, then sends trailers. */
export class Echo implements StreamEvents {
  readonly fields: readonly HeaderField[];
  readonly over = new Signal<StreamEnd>();
  readonly stream: Http2Stream;
  readonly connection: Http2Connection;
  private readonly pump: Pump;

  constructor(connection: Http2Connection, stream: Http2Stream, list: readonly HeaderField[], endStream: boolean) {
    this.connection = connection;
    this.stream = stream;
    this.fields = list;
    const trailers = (): void =>
      void connection.sendHeaders(
        stream,
        fields([
          ['grpc-status', '0'],
          ['x-trailer', 'yes'],
        ]),
        true,
      );
    this.pump = new Pump(connection, stream, trailers, (bytes) => connection.consume(stream, bytes));
    connection.sendHeaders(
      stream,
      fields([
        [':status', '200'],
        ['content-type', 'application/grpc'],
      ]),
      false,
    );
    if (endStream) this.pump.end();
  }
  onHeaders(): void {}
  onTrailers(): void {
    this.pump.end();
  }
  onData(_stream: Http2Stream, chunk: Uint8Array, start: number, end: number, endStream: boolean): void {
    this.pump.push(chunk, start, end);
    if (endStream) this.pump.end();
  }
  onWritable(): void {
    this.pump.run();
  }
  onEnd(_stream: Http2Stream, end: StreamEnd): void {
    this.over.give(end);
  }
}

/** A call by an engine's client. */
export class ClientCall implements StreamEvents {
  headers: readonly HeaderField[] = [];
  trailers: readonly HeaderField[] = [];
  readonly parts: Buffer[] = [];
  readonly answered = new Signal<void>();
  /** Null: both sides ended it. */
  readonly over = new Signal<StreamEnd | null>();
  readonly stream: Http2Stream;
  private readonly connection: Http2Connection;
  private readonly pump: Pump;

  constructor(connection: Http2Connection, lines: readonly (readonly [string, string])[], payload: Uint8Array) {
    const stream = connection.openStream(this);
    if (stream === null) throw new Error('no room for a stream');
    this.connection = connection;
    this.stream = stream;
    this.pump = new Pump(connection, stream, () => void connection.sendData(stream, payload, 0, 0, true));
    connection.sendHeaders(stream, fields(lines), false);
    this.pump.push(payload, 0, payload.length);
  }
  get bytes(): Buffer {
    return Buffer.concat(this.parts);
  }
  end(): this {
    this.pump.end();
    return this;
  }
  onHeaders(_stream: Http2Stream, list: readonly HeaderField[], endStream: boolean): void {
    this.headers = list;
    this.answered.give();
    if (endStream) this.over.give(null);
  }
  onTrailers(_stream: Http2Stream, list: readonly HeaderField[]): void {
    this.trailers = list;
    this.over.give(null);
  }
  onData(stream: Http2Stream, chunk: Uint8Array, start: number, end: number, endStream: boolean): void {
    this.parts.push(Buffer.from(chunk.subarray(start, end)));
    this.connection.consume(stream, end - start);
    if (endStream) this.over.give(null);
  }
  onWritable(): void {
    this.pump.run();
  }
  onEnd(_stream: Http2Stream, end: StreamEnd): void {
    this.over.give(end);
  }
}

/** An engine on a socket, with its events as signals. */
export class EnginePeer {
  readonly binding: SocketBinding;
  readonly closed = new Signal<string>();
  readonly ready = new Signal<void>();
  readonly goaway = new Signal<{ last: number; code: number; debug: string }>();
  readonly failed = new Signal<number>();
  readonly echoes: Echo[] = [];

  constructor(
    role: Role,
    socket: net.Socket,
    changes: Partial<Http2Settings>,
    onEcho: (echo: Echo) => void,
    prefaceTimeout = 5000,
  ) {
    this.binding = bindSocket(socket, {
      create: (events) => createConnection(role, { ...defaultHttp2Settings, ...changes }, events),
      turn,
      alarms,
      clock,
      prefaceTimeout,
      events: {
        onRequest: (stream, list, endStream) => {
          const echo = new Echo(this.binding.connection, stream, list, endStream);
          stream.events = echo;
          this.echoes.push(echo);
          onEcho(echo);
        },
        onSettings: () => this.ready.give(),
        onGoaway: (last, code, debug) => this.goaway.give({ last, code, debug }),
        onStreamClosed() {},
        onFailed: (code) => this.failed.give(code),
        onClosed: (detail) => this.closed.give(detail),
      },
    });
    this.binding.start();
  }

  get connection(): Http2Connection {
    return this.binding.connection;
  }
}

export interface EngineServer {
  readonly port: number;
  readonly peers: EnginePeer[];
  /** The next connection. */
  next(): Promise<EnginePeer>;
  nextEcho(): Promise<Echo>;
  close(): void;
}

/** Listens with the engine as server; each request is echoed. */
export async function listen(
  changes: Partial<Http2Settings> = {},
  secure: tls.TlsOptions | null = null,
  prefaceTimeout = 5000,
): Promise<EngineServer> {
  const peers: EnginePeer[] = [];
  let peerSignal = new Signal<EnginePeer>();
  let echoSignal = new Signal<Echo>();
  const accept = (socket: net.Socket): void => {
    const peer = new EnginePeer('server', socket, changes, (echo) => echoSignal.give(echo), prefaceTimeout);
    peers.push(peer);
    peerSignal.give(peer);
  };
  const server =
    secure === null
      ? net.createServer({ noDelay: true }, accept)
      : tls.createServer({ ...secure, ALPNProtocols: ['h2'] }, accept);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    peers,
    async next() {
      const peer = await peerSignal.promise;
      peerSignal = new Signal();
      return peer;
    },
    async nextEcho() {
      const echo = await echoSignal.promise;
      echoSignal = new Signal();
      return echo;
    },
    close() {
      server.close();
      for (const peer of peers) peer.binding.destroy();
    },
  };
}

/** Connects with the engine as client; resolves when the server's SETTINGS have come. */
export async function connect(
  port: number,
  changes: Partial<Http2Settings> = {},
  secure: tls.ConnectionOptions | null = null,
): Promise<EnginePeer> {
  const socket =
    secure === null
      ? net.connect({ port, host: '127.0.0.1', noDelay: true })
      : tls.connect({ port, host: '127.0.0.1', ALPNProtocols: ['h2'], ...secure });
  await new Promise<void>((resolve, reject) => {
    socket.once(secure === null ? 'connect' : 'secureConnect', () => resolve());
    socket.once('error', reject);
  });
  const peer = new EnginePeer('client', socket, changes, () => {});
  await peer.ready.promise;
  return peer;
}
