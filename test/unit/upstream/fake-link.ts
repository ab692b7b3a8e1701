import { backendId } from '../../../src/grpc/backend-id.js';
import { StreamCounts } from '../../../src/http2/stream-counts.js';
import type { Http2Connection, Http2Stream, StreamEnd, StreamEvents } from '../../../src/http2/types.js';
import { Backend, type BackendLimits } from '../../../src/upstream/backend.js';
import type { Dial, Link, LinkEvents, LinkView } from '../../../src/upstream/link.js';
import type { BackendChange, StreamWaiter, WaiterPlace } from '../../../src/upstream/types.js';
import { createVirtualTime, type VirtualTime } from '../../support/virtual-time.js';

export class FakeStream implements Http2Stream {
  readonly id: number;
  events: StreamEvents | null;
  closed = false;
  readonly flushed = true;

  constructor(id: number, events: StreamEvents) {
    this.id = id;
    this.events = events;
  }
  get sendClosed(): boolean {
    return this.closed;
  }
  get receiveClosed(): boolean {
    return this.closed;
  }
}

/** One connection as the engine presents it, moved by the test. Keeps the engine's order of events. */
export class FakeLink implements Link, Http2Connection {
  stage: Link['stage'] = 'a TCP connection';
  /** Both moved by the test. */
  lastReadAt = 0;
  callFrames = 0;
  /** It is not read from, as its peer does not take what we send. */
  paused = false;
  /** What is to be done at the answer to each PING that has not been answered. */
  readonly pings: (() => void)[] = [];
  readonly events: LinkEvents;
  readonly role = 'client';
  /** The peer's SETTINGS_MAX_CONCURRENT_STREAMS. */
  limit = 0;
  settled = false;
  draining = false;
  stopped = false;
  /** What the owner asked for: `end`, `destroy: words`. */
  readonly asked: string[] = [];
  readonly streams: FakeStream[] = [];
  private nextId = 1;
  private closedTold = false;

  constructor(events: LinkEvents) {
    this.events = events;
  }

  view(): LinkView {
    return {
      traffic: { streamCounts: new StreamCounts(true), sendWindow: 65_535, receiveWindow: 4_194_304 },
      socket: { local: { host: '127.0.0.1', port: 1 }, remote: { host: '127.0.0.1', port: 2 }, tls: null },
    };
  }

  readOn(): boolean {
    this.asked.push('read on');
    return this.paused;
  }

  // === The peer ===

  /** SETTINGS with this stream limit. */
  settings(limit = 100): void {
    this.settled = true;
    this.limit = limit;
    this.events.onSettings(this);
  }

  goaway(last: number, code = 0, debug = ''): void {
    this.draining = true;
    for (const stream of [...this.streams]) if (stream.id > last) this.finish(stream, { kind: 'goaway', code });
    this.events.onGoaway(code, debug);
  }

  /** Both sides end a stream; `end` where it ended otherwise. */
  finish(stream: Http2Stream | undefined, end: StreamEnd | null = null): void {
    if (!(stream instanceof FakeStream) || stream.closed) throw new Error('fake link: the stream is not open');
    stream.closed = true;
    this.streams.splice(this.streams.indexOf(stream), 1);
    if (end !== null) stream.events?.onEnd(stream, end);
    this.events.onStreamClosed();
  }

  /** The socket fails: its owner is told first, then streams, then its owner when it is closed. */
  lose(detail: string): void {
    if (this.settled) this.events.onFailed(detail);
    this.lost(detail);
    this.close(detail);
  }

  close(detail: string): void {
    if (this.closedTold) throw new Error('fake link: closed twice');
    this.closedTold = true;
    this.events.onClosed(detail);
  }

  // === Link ===

  end(): void {
    if (this.asked.includes('end')) return;
    this.asked.push('end');
    this.lost('the connection was closed by us');
  }

  destroy(detail: string): void {
    this.asked.push(`destroy: ${detail}`);
    this.lost(detail);
  }

  // === Http2Connection ===

  get ready(): boolean {
    return this.settled && !this.draining && !this.stopped;
  }
  get openStreams(): number {
    return this.streams.length;
  }
  get room(): number {
    return this.ready ? Math.max(0, this.limit - this.streams.length) : 0;
  }
  openStream(events: StreamEvents): Http2Stream | null {
    if (this.room === 0) return null;
    const stream = new FakeStream(this.nextId, events);
    this.nextId += 2;
    this.streams.push(stream);
    return stream;
  }
  reset(stream: Http2Stream): void {
    this.finish(stream);
  }
  lost(detail: string): void {
    this.stopped = true;
    for (const stream of [...this.streams])
      if (!stream.closed) this.finish(stream, { kind: 'lost', flushed: true, detail });
  }
  readonly lastPeerStreamId = 0;
  readonly outputBytes = 0;
  start(): void {}
  receive(): void {}
  readonly headerBlock = 0;
  fail(): void {}
  sendHeaders(): boolean {
    return true;
  }
  sendData(): number {
    return 0;
  }
  consume(): void {}
  ping(onAck: () => void): void {
    this.pings.push(onAck);
  }
  takeOutput(): Uint8Array[] {
    return [];
  }
  setOutputBlocked(): void {}
  onceFlushed(): void {}
}

/** Notes what a stream's owner hears. */
export class Caller implements StreamWaiter, StreamEvents {
  place: WaiterPlace | null = null;
  readonly heard: string[] = [];
  stream: Http2Stream | null = null;
  connection: Http2Connection | null = null;
  /** Runs inside each event. */
  during: (what: string) => void = () => {};

  get events(): StreamEvents {
    return this;
  }
  onOpened(stream: Http2Stream, connection: Http2Connection): void {
    this.stream = stream;
    this.connection = connection;
    this.note('opened');
  }
  onFailed(why: string, detail: string): void {
    this.note(`failed: ${why}: ${detail}`);
  }
  onEnd(_stream: Http2Stream, end: StreamEnd): void {
    this.note(`end: ${end.kind}`);
  }
  onHeaders(): void {}
  onTrailers(): void {}
  onData(): void {}
  onWritable(): void {}

  private note(what: string): void {
    this.heard.push(what);
    this.during(what);
  }
}

/** A backend with fake connections on virtual time. */
export class Scene {
  readonly time: VirtualTime = createVirtualTime();
  readonly links: FakeLink[] = [];
  readonly changes: BackendChange[] = [];
  readonly backend: Backend;
  /** What the random source says: 0.5 is no jitter. */
  random = 0.5;
  stopped = 0;

  constructor(changes: Partial<BackendLimits> = {}) {
    const dial: Dial = (events) => {
      const link = new FakeLink(events);
      this.links.push(link);
      return link;
    };
    const { clock, alarms, turn } = this.time;
    this.backend = new Backend(
      {
        id: backendId('b1'),
        name: 'b1',
        target: '127.0.0.1:50052',
        endpoint: { kind: 'tcp', host: '127.0.0.1', port: 50_052 },
        weight: 1,
        priority: 0,
        maxCalls: null,
      },
      {
        connectTimeout: 2000,
        connectBackoffMax: 5000,
        backendConnections: 4,
        queueLimit: 1000,
        onRoom: () => {},
        clock,
        alarms,
        turn,
        random: { next: () => this.random },
        onStateChange: (change) => this.changes.push(change),
        ...changes,
      },
      dial,
      () => {
        this.stopped += 1;
      },
    );
  }

  /** Started, and its first connection is up. */
  static up(limit = 100, changes: Partial<BackendLimits> = {}): Scene {
    const scene = new Scene(changes);
    scene.backend.start();
    scene.link(0).settings(limit);
    return scene;
  }

  link(at: number): FakeLink {
    const link = this.links[at];
    if (link === undefined) throw new Error(`there are ${this.links.length} connects only`);
    return link;
  }

  /** A call that takes a stream now, or waits. */
  call(): Caller {
    const caller = new Caller();
    const opened = this.backend.tryOpen(caller);
    if (opened === null) this.backend.wait(caller);
    else caller.onOpened(opened.stream, opened.connection);
    return caller;
  }

  /** Ends the streams of these calls in order. */
  finish(...callers: readonly Caller[]): void {
    for (const { stream, connection } of callers) {
      const link = this.links.find((one) => one === connection);
      if (stream === null || link === undefined) throw new Error('scene: the call has no stream');
      link.finish(stream);
    }
  }

  /** Lets time pass until there have been so many connects; how many milliseconds. */
  untilConnect(count: number, limit = 60_000): number {
    for (let waited = 0; waited <= limit; waited += 1) {
      if (this.links.length >= count) return waited;
      this.time.advance(1);
    }
    throw new Error(`scene: no ${count} connects within ${limit} ms`);
  }
}
