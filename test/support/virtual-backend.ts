import { backendId } from '../../src/grpc/backend-id.js';
import {
  defaultHttp2Settings,
  type HeaderField,
  type Http2Connection,
  type Http2Stream,
  type StreamEnd,
  type StreamEvents,
} from '../../src/http2/types.js';
import { Backend, type BackendLimits } from '../../src/upstream/backend.js';
import type { Link, LinkEvents } from '../../src/upstream/link.js';
import type { BackendSpec } from '../../src/upstream/types.js';
import { BackendTap, type CallLog, callKey, firstOf, linesOf } from './call-log.js';
import type { BackendPlan, Outcome } from './call-script.js';
import { frameMessage, headerLines, trailerLines, trailersOnlyLines } from './grpc-lines.js';
import { fields } from './recorder.js';
import type { VirtualTime } from './virtual-time.js';
import { goawayFrame, Wire } from './virtual-wire.js';

/** Marks every part of one attempt's answer, so that a mixture of two shows. */
export const answerKey = 'x-answer';

/** The bytes of one attempt's answer. */
export function answerBytes(mark: number, messages: readonly number[]): Buffer {
  return Buffer.concat(messages.map((length) => frameMessage(Buffer.alloc(length, mark & 0xff))));
}

/** One request that reached a backend. */
export class Served implements StreamEvents {
  readonly call: number;
  readonly backend: string;
  readonly request: readonly HeaderField[];
  readonly parts: Buffer[] = [];
  ended = false;
  /** What is to be done when the whole request has come. */
  onceEnded: () => void = () => {};
  over: StreamEnd | null = null;
  /** Above the last id of a GOAWAY: ignored, as a peer does (RFC 9113 6.8). */
  readonly ignored: boolean;
  private readonly connection: Http2Connection;
  private readonly stream: Http2Stream;
  private readonly reads: boolean;
  private unsent: Buffer = Buffer.alloc(0);
  private trailers: (() => void) | null = null;

  constructor(
    home: { connection: Http2Connection; stream: Http2Stream; backend: string; reads: boolean; ignored: boolean },
    call: number,
    request: readonly HeaderField[],
    endStream: boolean,
  ) {
    this.connection = home.connection;
    this.stream = home.stream;
    this.backend = home.backend;
    this.reads = home.reads;
    this.ignored = home.ignored;
    this.call = call;
    this.request = request;
    this.ended = endStream;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.parts);
  }
  get closed(): boolean {
    return this.stream.closed || this.stream.sendClosed;
  }

  headers(list: readonly (readonly [string, string])[], endStream: boolean): void {
    if (!this.closed) this.connection.sendHeaders(this.stream, fields(list), endStream);
  }
  data(bytes: Buffer): void {
    this.unsent = Buffer.concat([this.unsent, bytes]);
    this.pump();
  }
  end(list: readonly (readonly [string, string])[]): void {
    this.trailers = () => this.headers(list, true);
    this.pump();
  }
  reset(code: number): void {
    if (!this.stream.closed) this.connection.reset(this.stream, code);
  }

  onHeaders(): void {}
  onTrailers(): void {
    this.ended = true;
  }
  onData(stream: Http2Stream, chunk: Uint8Array, start: number, end: number, endStream: boolean): void {
    this.parts.push(Buffer.from(chunk.subarray(start, end)));
    if (this.reads) this.connection.consume(stream, end - start);
    if (!endStream) return;
    this.ended = true;
    this.onceEnded();
  }
  onWritable(): void {
    this.pump();
  }
  onEnd(_stream: Http2Stream, end: StreamEnd): void {
    this.over = end;
  }

  private pump(): void {
    if (this.closed) return;
    if (this.unsent.length > 0) {
      const taken = this.connection.sendData(this.stream, this.unsent, 0, this.unsent.length, false);
      this.unsent = this.unsent.subarray(taken);
    }
    if (this.unsent.length > 0 || this.trailers === null) return;
    const { trailers } = this;
    this.trailers = null;
    trailers();
  }
}

/** A backend that does as it was told, on engines in memory; and the proxy's own connections to it. */
export class VirtualBackend {
  readonly upstream: Backend;
  readonly served: Served[] = [];
  private readonly spec: BackendSpec;
  private readonly plan: BackendPlan;
  private readonly time: VirtualTime;
  private readonly log: CallLog;
  private readonly outcomeFor: (call: number) => Outcome;
  private readonly proxyWindow: number;
  private readonly wires = new Set<Wire>();
  private mode: 'up' | 'refuse' | 'hang' = 'up';
  /** The next stream costs its connection. */
  private trip = false;

  constructor(
    name: string,
    plan: BackendPlan,
    world: { time: VirtualTime; log: CallLog; outcomeFor: (call: number) => Outcome; proxyWindow: number },
    limits: BackendLimits,
  ) {
    this.plan = plan;
    this.time = world.time;
    this.log = world.log;
    this.outcomeFor = world.outcomeFor;
    this.proxyWindow = world.proxyWindow;
    this.spec = {
      id: backendId(name),
      name,
      target: `${name}.test:443`,
      endpoint: { kind: 'tcp', host: `${name}.test`, port: 443 },
      weight: 1,
      priority: 0,
      maxCalls: null,
    };
    this.upstream = new Backend(
      this.spec,
      limits,
      (events) => this.dial(events),
      () => {},
    );
  }

  /** The run begins: the plan's times count from now. */
  begin(): void {
    for (const { at, kind } of this.plan.events) this.later(at, () => this.happen(kind));
    // After what happens in the first instant.
    this.later(0, () => this.upstream.start());
  }

  private happen(kind: BackendPlan['events'][number]['kind']): void {
    switch (kind) {
      case 'up':
      case 'refuse':
      case 'hang':
        this.mode = kind;
        return;
      case 'trip':
        this.trip = true;
        return;
      case 'lose':
        for (const wire of [...this.wires]) wire.cut(`${this.spec.name} was lost`);
        return;
      case 'goaway':
        for (const wire of this.wires) wire.server.connection.goaway(wire.server.connection.lastPeerStreamId, 0);
        return;
      default:
        kind satisfies never;
    }
  }

  private later(ms: number, task: () => void): void {
    this.time.alarms.set(this.time.clock.now() + ms, task);
  }

  // === Connections ===

  private dial(events: LinkEvents): Link {
    const { mode, plan, spec } = this;
    let wire: Wire | null = null;
    let closed = false;
    const close = (detail: string): void => {
      if (closed) return;
      closed = true;
      events.onClosed(detail);
    };
    if (mode === 'refuse') this.later(plan.latency, () => close('connection refused'));
    if (mode === 'up') {
      this.later(plan.latency, () => {
        if (closed) return;
        wire = this.join(events, close);
        wire.start();
      });
    }
    return {
      stage: 'a TCP connection',
      lastReadAt: 0,
      readOn: () => false,
      view: () => null,
      end: () => wire?.end(wire.client, 'the connection was closed by us'),
      destroy: (detail) => {
        if (wire === null) this.later(0, () => close(detail));
        else {
          const { client } = wire;
          client.connection.lost(detail);
          this.later(0, () => wire?.cut(`${detail} (${spec.name})`));
        }
      },
    };
  }

  private join(events: LinkEvents, close: (detail: string) => void): Wire {
    const { plan, spec } = this;
    /** The last id of a GOAWAY that was slipped in. */
    let last = Number.POSITIVE_INFINITY;
    const slipGoaway = (below: number): void => {
      last = Math.min(last, below);
      wire.server.inject(goawayFrame(last, 0));
    };
    const wire: Wire = new Wire(
      this.time,
      plan.latency,
      {
        settings: { ...defaultHttp2Settings, streamWindow: this.proxyWindow },
        events: {
          onRequest() {},
          onSettings: () => events.onSettings(tap),
          onGoaway: (_last, code, debug) => events.onGoaway(code, debug),
          onStreamClosed: () => events.onStreamClosed(),
          onFailed: (_code, detail) => events.onFailed(detail),
          onClosed: (detail) => close(detail),
        },
      },
      {
        settings: { ...defaultHttp2Settings, maxConcurrentStreams: plan.streams, streamWindow: plan.window },
        events: {
          onRequest: (stream, list, endStream) =>
            this.serve(wire, slipGoaway, { stream, ignored: stream.id > last }, list, endStream),
          onSettings() {},
          onGoaway() {},
          onStreamClosed() {},
          onFailed: (_code, detail) => {
            throw new Error(`backend ${spec.name}: the proxy broke HTTP/2: ${detail}`);
          },
          onClosed: () => this.wires.delete(wire),
        },
      },
    );
    const tap = new BackendTap(wire.client.connection, this.log, spec.name, () => {
      if (!this.trip) return;
      this.trip = false;
      // Before the end's own flush, which is asked for after this.
      this.time.turn.atEnd(() => wire.cut(`${spec.name} was lost`));
    });
    this.wires.add(wire);
    return wire;
  }

  // === Calls ===

  private serve(
    wire: Wire,
    slipGoaway: (below: number) => void,
    { stream, ignored }: { stream: Http2Stream; ignored: boolean },
    list: readonly HeaderField[],
    endStream: boolean,
  ): void {
    const call = Number(firstOf(linesOf(list), callKey));
    const outcome = ignored ? null : this.outcomeFor(call);
    const served = new Served(
      {
        connection: wire.server.connection,
        stream,
        backend: this.spec.name,
        reads: outcome?.reads ?? false,
        ignored,
      },
      call,
      list,
      endStream,
    );
    stream.events = served;
    this.served.push(served);
    if (outcome === null) return;
    const mark = this.log.answers.push(outcome) - 1;
    const key = [answerKey, String(mark)] as const;
    const pushed = (values: readonly string[]) => values.map((value) => ['grpc-retry-pushback-ms', value] as const);
    const act = (): void => {
      switch (outcome.kind) {
        case 'trailersOnly':
          served.headers(trailersOnlyLines(outcome.code, [key, ...pushed(outcome.pushback)]), true);
          return;
        case 'answer': {
          const { gap, messages, code, pushback } = outcome;
          served.headers(headerLines([key]), false);
          messages.forEach((length, i) => {
            this.later(gap * (i + 1), () => served.data(answerBytes(mark, [length])));
          });
          this.later(gap * (messages.length + 1), () => served.end(trailerLines(code, [key, ...pushed(pushback)])));
          return;
        }
        case 'reset':
          if (outcome.headersFirst) served.headers(headerLines([key]), false);
          served.reset(outcome.code);
          return;
        case 'goaway':
          slipGoaway(Math.max(0, stream.id - 2));
          return;
        case 'lose':
          wire.server.flush();
          wire.cut(`${this.spec.name} was lost`);
          return;
        case 'silence':
          return;
        default:
          outcome satisfies never;
      }
    };
    if (outcome.waits && !endStream) served.onceEnded = () => this.later(outcome.after, act);
    else this.later(outcome.after, act);
  }
}
