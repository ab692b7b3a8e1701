import { createConnection } from '../../src/http2/connection.js';
import type {
  ConnectionEvents,
  HeaderField,
  Http2Connection,
  Http2Settings,
  Http2Stream,
  StreamEnd,
  StreamEvents,
} from '../../src/http2/types.js';

/** Sends a payload as windows permit, then, where given, trailers. */
class Upload {
  private sent = 0;
  private readonly connection: Http2Connection;
  private readonly stream: Http2Stream;
  private readonly payload: Buffer;
  private readonly trailers: readonly HeaderField[] | null;

  constructor(
    connection: Http2Connection,
    stream: Http2Stream,
    payload: Buffer,
    trailers: readonly HeaderField[] | null,
  ) {
    this.connection = connection;
    this.stream = stream;
    this.payload = payload;
    this.trailers = trailers;
  }

  pump(): void {
    const { connection, stream, payload, trailers } = this;
    if (stream.sendClosed) return;
    const rest = payload.length - this.sent;
    const end = trailers === null;
    if (rest > 0 || end) this.sent += connection.sendData(stream, payload, this.sent, payload.length, end);
    if (!end && this.sent === payload.length) connection.sendHeaders(stream, trailers, true);
  }
}

/** What one side of a call saw. */
export class Received {
  fields: readonly HeaderField[] | null = null;
  trailers: readonly HeaderField[] | null = null;
  readonly parts: Buffer[] = [];
  ended = false;
  end: StreamEnd | null = null;
  /** Bytes not given back yet. */
  owed = 0;

  get bytes(): Buffer {
    return Buffer.concat(this.parts);
  }
}

export interface Exchange {
  readonly request: readonly HeaderField[];
  readonly upload: Buffer;
  readonly response: readonly HeaderField[];
  readonly download: Buffer;
  readonly trailers: readonly HeaderField[];
}

class Side implements StreamEvents {
  readonly received = new Received();
  upload: Upload | null = null;
  private readonly home: Http2Connection;

  constructor(home: Http2Connection) {
    this.home = home;
  }

  onHeaders(_stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean): void {
    this.received.fields = fields;
    this.received.ended ||= endStream;
  }
  onTrailers(_stream: Http2Stream, fields: readonly HeaderField[]): void {
    this.received.trailers = fields;
    this.received.ended = true;
  }
  onData(_stream: Http2Stream, chunk: Uint8Array, start: number, end: number, endStream: boolean): void {
    this.received.parts.push(Buffer.from(chunk.subarray(start, end)));
    this.received.owed += end - start;
    this.received.ended ||= endStream;
  }
  onWritable(): void {
    this.upload?.pump();
  }
  onEnd(_stream: Http2Stream, end: StreamEnd): void {
    this.received.end = end;
  }

  giveBack(stream: Http2Stream, bytes: number): void {
    const now = Math.min(bytes, this.received.owed);
    this.received.owed -= now;
    this.home.consume(stream, now);
  }
}

/** A call between the two: what each side saw of it. */
export interface Trip {
  readonly exchange: Exchange;
  readonly client: Side;
  readonly clientStream: Http2Stream;
  server: Side | null;
  serverStream: Http2Stream | null;
}

/** A client core and a server core with a wire in memory; the caller says which bytes arrive when. */
export class TwoCores {
  readonly client: Http2Connection;
  readonly server: Http2Connection;
  readonly trips: Trip[] = [];
  readonly failures: string[] = [];
  closed = 0;
  private readonly toServer: Buffer[] = [];
  private readonly toClient: Buffer[] = [];

  constructor(clientSettings: Http2Settings, serverSettings: Http2Settings) {
    const common = (who: string): Omit<ConnectionEvents, 'onRequest'> => ({
      onSettings() {},
      onGoaway() {},
      onStreamClosed: () => {
        this.closed += 1;
      },
      onOutput() {},
      onFailed: (code, detail) => this.failures.push(`${who}: ${code} ${detail}`),
    });
    this.client = createConnection('client', clientSettings, { ...common('client'), onRequest() {} });
    this.server = createConnection('server', serverSettings, {
      ...common('server'),
      onRequest: (stream, fields, endStream) => this.answer(stream, fields, endStream),
    });
    this.client.start();
    this.server.start();
  }

  call(exchange: Exchange): boolean {
    const side = new Side(this.client);
    const stream = this.client.openStream(side);
    if (stream === null) return false;
    this.client.sendHeaders(stream, exchange.request, false);
    side.upload = new Upload(this.client, stream, exchange.upload, null);
    this.trips.push({ exchange, client: side, clientStream: stream, server: null, serverStream: null });
    side.upload.pump();
    return true;
  }

  /** Moves what both have written onto the wire. */
  write(): void {
    this.toServer.push(...this.client.takeOutput().map((part) => Buffer.from(part)));
    this.toClient.push(...this.server.takeOutput().map((part) => Buffer.from(part)));
  }

  /** Lets at most so many bytes arrive on one side. Whether any did. */
  deliver(to: 'client' | 'server', bytes: number): boolean {
    const wire = to === 'server' ? this.toServer : this.toClient;
    const first = wire.shift();
    if (first === undefined) return false;
    if (first.length > bytes) wire.unshift(first.subarray(bytes));
    (to === 'server' ? this.server : this.client).receive(first.subarray(0, bytes));
    return true;
  }

  /** Gives back window on every stream, at most so much on each. */
  consume(bytes: number): void {
    for (const trip of this.trips) {
      trip.client.giveBack(trip.clientStream, bytes);
      if (trip.server !== null && trip.serverStream !== null) trip.server.giveBack(trip.serverStream, bytes);
    }
  }

  /** Runs until nothing moves any more. */
  settle(): void {
    let moving = true;
    while (moving) {
      this.write();
      this.consume(Number.POSITIVE_INFINITY);
      const up = this.deliver('server', 65_536);
      const down = this.deliver('client', 65_536);
      moving = up || down || this.client.outputBytes > 0 || this.server.outputBytes > 0;
    }
  }

  private answer(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean): void {
    const trip = this.trips.find(({ clientStream }) => clientStream.id === stream.id);
    if (trip === undefined) throw new Error(`a request on stream ${stream.id} that nobody sent`);
    const side = new Side(this.server);
    stream.events = side;
    trip.server = side;
    trip.serverStream = stream;
    side.onHeaders(stream, fields, endStream);
    this.server.sendHeaders(stream, trip.exchange.response, false);
    side.upload = new Upload(this.server, stream, trip.exchange.download, trip.exchange.trailers);
    side.upload.pump();
  }
}
