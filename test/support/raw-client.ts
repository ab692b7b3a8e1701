import net from 'node:net';
import type { Line } from './frames.js';
import { frameMessage, requestLines, splitMessages } from './grpc-lines.js';
import { RawConnection, type RawGoaway, type RawOptions } from './raw-connection.js';
import { lineOf, linesOf, type RawBlock, type RawEnd, type RawStream } from './raw-stream.js';

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
