import { createConnection } from '../../src/http2/connection.js';
import type { ConnectionEvents, Http2Connection, Http2Settings, Role } from '../../src/http2/types.js';
import type { VirtualTime } from './virtual-time.js';

/** What the owner of one end hears. */
export interface EndEvents extends Omit<ConnectionEvents, 'onOutput'> {
  /** The wire is cut; the streams have been told. Once. */
  onClosed(detail: string): void;
}

/** One end of a wire: an engine, its output moved at the end of each turn, as `http2/socket.ts` does it on sockets. */
export class WireEnd implements ConnectionEvents {
  readonly connection: Http2Connection;
  private readonly wire: Wire;
  private readonly events: EndEvents;
  private flushAsked = false;
  private closed = false;
  private readonly flushAtEnd = (): void => this.flush();

  constructor(wire: Wire, role: Role, settings: Http2Settings, events: EndEvents) {
    this.wire = wire;
    this.events = events;
    this.connection = createConnection(role, settings, this);
  }

  /** Hands the peer, after all that was written before it, bytes that no engine made. */
  inject(bytes: Uint8Array): void {
    this.flush();
    this.wire.carry(this, bytes);
  }

  /** Bytes have come. */
  receive(bytes: Uint8Array): void {
    if (!this.closed) this.connection.receive(bytes);
  }

  /** The wire is cut: streams first, then the owner. */
  close(detail: string): void {
    if (this.closed) return;
    this.closed = true;
    this.connection.lost(detail);
    this.events.onClosed(detail);
  }

  flush(): void {
    this.flushAsked = false;
    if (this.closed || this.connection.outputBytes === 0) return;
    // A copy in one piece: what a peer was sent cannot change under it.
    this.wire.carry(this, Buffer.concat(this.connection.takeOutput()));
  }

  onOutput(): void {
    if (this.flushAsked || this.closed) return;
    this.flushAsked = true;
    this.wire.time.turn.atEnd(this.flushAtEnd);
  }
  onRequest(...request: Parameters<ConnectionEvents['onRequest']>): void {
    this.events.onRequest(...request);
  }
  onSettings(): void {
    this.events.onSettings();
  }
  onGoaway(lastStreamId: number, code: number, debug: string): void {
    this.events.onGoaway(lastStreamId, code, debug);
  }
  onStreamClosed(...stream: Parameters<ConnectionEvents['onStreamClosed']>): void {
    this.events.onStreamClosed(...stream);
  }
  onFailed(code: number, detail: string): void {
    this.events.onFailed(code, detail);
    this.flush();
    this.wire.cut(detail);
  }
}

/** Two engines joined in memory. What one writes arrives at the other, in order, `latency` ms later; 0: in the next turn. */
export class Wire {
  readonly time: VirtualTime;
  readonly client: WireEnd;
  readonly server: WireEnd;
  private readonly latency: number;
  private severed = false;

  constructor(
    time: VirtualTime,
    latency: number,
    client: { settings: Http2Settings; events: EndEvents },
    server: { settings: Http2Settings; events: EndEvents },
  ) {
    this.time = time;
    this.latency = latency;
    this.client = new WireEnd(this, 'client', client.settings, client.events);
    this.server = new WireEnd(this, 'server', server.settings, server.events);
  }

  start(): void {
    this.client.connection.start();
    this.server.connection.start();
  }

  carry(from: WireEnd, bytes: Uint8Array): void {
    if (this.severed) return;
    const to = from === this.client ? this.server : this.client;
    this.time.alarms.set(this.time.clock.now() + this.latency, () => to.receive(bytes));
  }

  /** Neither end gets anything more, what is under way included. */
  cut(detail: string): void {
    if (this.severed) return;
    this.severed = true;
    this.client.close(detail);
    this.server.close(detail);
  }

  /** One end says goodbye: what it has written still arrives, then the wire is cut. */
  end(from: WireEnd, detail: string): void {
    from.flush();
    from.connection.lost(detail);
    this.time.alarms.set(this.time.clock.now() + this.latency, () => this.cut(detail));
  }
}

/** A GOAWAY frame (RFC 9113 6.8), for last ids that an engine which has seen higher ones would not say. */
export function goawayFrame(lastStreamId: number, code: number): Buffer {
  const frame = Buffer.alloc(17);
  frame.writeUIntBE(8, 0, 3);
  frame.writeUInt8(0x7, 3);
  frame.writeUInt32BE(lastStreamId, 9);
  frame.writeUInt32BE(code, 13);
  return frame;
}
