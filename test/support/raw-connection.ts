import type { Socket } from 'node:net';
import { Happenings } from './alive.js';
import {
  ack,
  endHeaders,
  endStream,
  type Frame,
  frame,
  goaway,
  type Line,
  padded,
  ping,
  preface,
  prioritized,
  settings,
  settingsAck,
  show,
  Type,
  windowUpdate,
} from './frames.js';
import { encodeBlock, PlainDecoder } from './plain-hpack.js';
import { largestFrame, RawOutbox } from './raw-outbox.js';
import { RawStream } from './raw-stream.js';

/** RFC 9113 6.5.2. */
export const Setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

export interface RawOptions {
  /** What our first SETTINGS says. */
  readonly settings?: readonly (readonly [id: number, value: number])[];
  /** Whether to send SETTINGS (and, as a client, the preface) at all. */
  readonly greet?: boolean;
  /** Which windows are given back as DATA arrives. */
  readonly windows?: 'both' | 'connection' | 'none';
  readonly answerPings?: boolean;
}

export interface RawGoaway {
  readonly lastStreamId: number;
  readonly code: number;
  readonly debug: string;
}

/**
 * One end of a real connection, frame by frame: remembers all that came, acknowledges SETTINGS and PING, gives windows back,
 * keeps to the peer's, and otherwise does only what it is told.
 */
export class RawConnection {
  readonly socket: Socket;
  readonly role: 'client' | 'server';
  /** Every frame that came, in order. */
  readonly frames: Frame[] = [];
  readonly goaways: RawGoaway[] = [];
  /** The peer's settings, the newest of each. */
  readonly settings = new Map<number, number>();
  /** Every stream, by id. */
  readonly streams = new Map<number, RawStream>();
  /** The socket is closed. */
  closed = false;
  /** A server's end: a stream's first header block came. */
  onRequest: (stream: RawStream) => void = () => {};
  private readonly options: Required<RawOptions>;
  private readonly happenings = new Happenings();
  private readonly decoder: PlainDecoder;
  private unread: Buffer = Buffer.alloc(0);
  private greeted: boolean;
  /** A header block in the making (RFC 9113 6.10). */
  private open: { streamId: number; end: boolean; parts: Buffer[] } | null = null;
  private readonly outbox = new RawOutbox((...frames) => this.send(...frames));
  private pings = 0;
  /** The peer sent what cannot be read. */
  private failure: Error | null = null;

  constructor(socket: Socket, role: 'client' | 'server', options: RawOptions) {
    this.socket = socket;
    this.role = role;
    this.options = { settings: [], greet: true, windows: 'both', answerPings: true, ...options };
    const table = this.options.settings.find(([id]) => id === Setting.headerTableSize)?.[1] ?? 4096;
    this.decoder = new PlainDecoder(table);
    this.greeted = role === 'client';
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
    socket.on('error', () => {});
    socket.on('close', () => {
      this.closed = true;
      this.drop(null);
      for (const stream of this.streams.values()) {
        stream.lost = true;
        stream.changed();
      }
      this.happenings.changed();
    });
    if (!this.options.greet) return;
    if (role === 'client') this.send(preface);
    this.send(settings(...this.options.settings));
  }

  // === Sending ===

  /** Bytes as they are. */
  send(...bytes: readonly Uint8Array[]): void {
    if (bytes.length === 0 || this.closed || this.socket.destroyed) return;
    this.socket.write(Buffer.concat(bytes));
  }

  sendBlock(streamId: number, lines: readonly Line[], end: boolean, neverIndexed: readonly string[]): void {
    const block = encodeBlock(
      lines.map(([name, value]) => ({ name, value, neverIndexed: neverIndexed.includes(name) })),
    );
    const parts: Buffer[] = [];
    for (let at = 0; at === 0 || at < block.length; at += largestFrame) {
      const last = at + largestFrame >= block.length;
      const flags = (last ? endHeaders : 0) | (at === 0 && end ? endStream : 0);
      const type = at === 0 ? Type.headers : Type.continuation;
      parts.push(frame(type, flags, streamId, block.subarray(at, at + largestFrame)));
    }
    // Trailers stay behind the DATA that waits before them.
    void this.outbox.queue(streamId, Buffer.alloc(0), false, parts);
  }

  /** Resolves when the last byte has left, or never can any more. */
  sendData(streamId: number, bytes: Uint8Array, end: boolean): Promise<void> {
    return this.outbox.queue(streamId, bytes, end, []);
  }

  /** Forgets what waits on a stream; null: on all. */
  drop(streamId: number | null): void {
    this.outbox.drop(streamId);
  }

  /** WINDOW_UPDATE; stream 0 is the connection. */
  giveWindow(streamId: number, bytes: number): void {
    if (bytes > 0) this.send(windowUpdate(streamId, bytes));
  }

  goaway(lastStreamId: number, code: number, debug = ''): void {
    this.send(goaway(lastStreamId, code, debug));
  }

  /** PING; resolves when its answer comes, which is after everything that the peer wrote before it read the PING. */
  async ping(): Promise<void> {
    this.pings += 1;
    const payload = `test${String(this.pings).padStart(4, '0')}`;
    this.send(ping(payload));
    await this.until(`the answer to PING ${payload}`, () =>
      this.frames.find(
        ({ type, flags, payload: seen }) =>
          type === Type.ping && (flags & ack) !== 0 && seen.toString('latin1') === payload,
      ),
    );
  }

  /** Stops reading: to the peer, a black hole. */
  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** FIN. */
  end(): void {
    this.socket.end();
  }

  /** RST where the system gives one: nothing more is read or written. */
  kill(): void {
    this.socket.resetAndDestroy();
  }

  // === Waiting ===

  /** The nth frame (from 0) of those that `wanted` wants. */
  whenFrame(what: string, wanted: (frame: Frame) => boolean, index = 0): Promise<Frame> {
    return this.until(what, () => this.frames.filter(wanted)[index]);
  }

  /** The peer's first SETTINGS. */
  async whenSettings(): Promise<void> {
    await this.whenFrame('SETTINGS', ({ type, flags }) => type === Type.settings && (flags & ack) === 0);
  }

  /** The nth GOAWAY (from 0). */
  whenGoaway(index = 0): Promise<RawGoaway> {
    return this.until(`GOAWAY ${index}`, () => this.goaways[index]);
  }

  /** The socket's end. */
  async whenClosed(): Promise<void> {
    await this.happenings.until('the connection to close', () => (this.closed ? true : undefined));
  }

  /** Resolves with the first value of `read` that is not undefined; judged after every frame. */
  until<T>(what: string, read: () => T | undefined): Promise<T> {
    return this.happenings.until(what, () => {
      if (this.failure !== null) throw this.failure;
      const value = read();
      if (value === undefined && this.closed)
        throw new Error(`${what}: the connection closed first; came: ${this.story()}`);
      return value;
    });
  }

  /** What came, in words, for a failing test. */
  story(): string {
    return this.frames.map(show).join('; ');
  }

  // === Receiving ===

  private receive(chunk: Buffer): void {
    if (this.failure !== null) return;
    this.unread = Buffer.concat([this.unread, chunk]);
    try {
      this.read();
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error(String(error));
      this.socket.destroy();
    }
    this.happenings.changed();
  }

  private read(): void {
    if (!this.greeted) {
      if (this.unread.length < preface.length) return;
      if (!this.unread.subarray(0, preface.length).equals(preface)) throw new Error('no HTTP/2 preface');
      this.unread = this.unread.subarray(preface.length);
      this.greeted = true;
    }
    while (this.unread.length >= 9) {
      const end = 9 + this.unread.readUIntBE(0, 3);
      if (this.unread.length < end) return;
      const read: Frame = {
        type: this.unread.readUInt8(3),
        flags: this.unread.readUInt8(4),
        streamId: this.unread.readUInt32BE(5),
        payload: this.unread.subarray(9, end),
      };
      this.unread = this.unread.subarray(end);
      this.frames.push(read);
      this.onFrame(read);
    }
  }

  private onFrame({ type, flags, streamId, payload }: Frame): void {
    switch (type) {
      case Type.headers: {
        let block = stripPadding(flags, payload);
        if ((flags & prioritized) !== 0) block = block.subarray(5);
        this.open = { streamId, end: (flags & endStream) !== 0, parts: [block] };
        if ((flags & endHeaders) !== 0) this.onBlock();
        return;
      }
      case Type.continuation:
        if (this.open?.streamId !== streamId) throw new Error('CONTINUATION without HEADERS');
        this.open.parts.push(payload);
        if ((flags & endHeaders) !== 0) this.onBlock();
        return;
      case Type.data: {
        const stream = this.stream(streamId);
        stream.parts.push(Buffer.from(stripPadding(flags, payload)));
        if ((flags & endStream) !== 0) stream.ended = true;
        if (this.options.windows !== 'none') this.giveWindow(0, payload.length);
        if (this.options.windows === 'both' && !stream.ended) this.giveWindow(streamId, payload.length);
        stream.changed();
        return;
      }
      case Type.reset: {
        const stream = this.stream(streamId);
        stream.resetCode = payload.readUInt32BE(0);
        this.drop(streamId);
        stream.changed();
        return;
      }
      case Type.settings:
        if ((flags & ack) === 0) this.onSettings(payload);
        return;
      case Type.ping:
        if ((flags & ack) === 0 && this.options.answerPings) this.send(frame(Type.ping, ack, 0, payload));
        return;
      case Type.goaway:
        this.goaways.push({
          lastStreamId: payload.readUInt32BE(0),
          code: payload.readUInt32BE(4),
          debug: payload.subarray(8).toString('latin1'),
        });
        return;
      case Type.windowUpdate:
        this.outbox.grow(streamId, payload.readUInt32BE(0));
        return;
      default:
    }
  }

  private onBlock(): void {
    if (this.open === null) return;
    const { streamId, end, parts } = this.open;
    this.open = null;
    const fields = this.decoder.decode(Buffer.concat(parts));
    const known = this.streams.get(streamId);
    const stream = known ?? this.stream(streamId);
    stream.blocks.push({ lines: fields.map(({ name, value }) => [name, value]), fields, endStream: end });
    if (end) stream.ended = true;
    stream.changed();
    if (known === undefined && this.role === 'server') this.onRequest(stream);
  }

  private onSettings(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      this.settings.set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    }
    if (this.options.greet) this.send(settingsAck);
    const initial = this.settings.get(Setting.initialWindowSize);
    if (initial !== undefined) this.outbox.setInitial(initial);
  }

  /** The stream of an id, made where there is none. */
  stream(id: number): RawStream {
    let stream = this.streams.get(id);
    if (stream === undefined) {
      stream = new RawStream(this, id);
      this.streams.set(id, stream);
    }
    return stream;
  }
}

/** RFC 9113 6.1. */
function stripPadding(flags: number, payload: Buffer): Buffer {
  return (flags & padded) === 0 ? payload : payload.subarray(1, payload.length - payload.readUInt8(0));
}
