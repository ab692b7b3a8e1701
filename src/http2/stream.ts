import type { ReceiveWindow } from './flow.js';
import type { Http2Stream, StreamEvents } from './types.js';

/*
 * A stream's states (RFC 9113 5.1). Pushes are refused, so that the reserved states cannot arise. `send` and `recv` are
 * END_STREAM on a frame of either direction; a stream opens by its HEADERS.
 *
 *                       idle
 *                        |  HEADERS
 *                        v
 *          send        open        recv
 *        .-------------- | --------------.
 *        v               |               v
 *   half-closed          |          half-closed
 *     (local)            |            (remote)
 *        |  recv         |  RST          |  send
 *        |  or RST       v               |  or RST
 *        '----------> closed <-----------'
 */
export const State = { idle: 0, open: 1, halfClosedLocal: 2, halfClosedRemote: 3, closed: 4 } as const;
export type State = (typeof State)[keyof typeof State];

const { idle, open, halfClosedLocal, halfClosedRemote, closed } = State;

/** The next state, by the one before. What cannot happen stays where it is. */
const afterHeaders: readonly State[] = [open, open, halfClosedLocal, halfClosedRemote, closed];
const afterSendEnd: readonly State[] = [idle, halfClosedLocal, halfClosedLocal, closed, closed];
const afterReceiveEnd: readonly State[] = [idle, halfClosedRemote, closed, halfClosedRemote, closed];

/** How a stream that was refused bytes waits to send them. */
export const Waiting = {
  no: 0,
  /** In the queue: the connection's window or the output had no room. */
  queued: 1,
  /** Its own window is shut: nothing else can help it. */
  ownWindow: 2,
} as const;
export type Waiting = (typeof Waiting)[keyof typeof Waiting];

/** No content-length was given. */
export const unknownLength = -1;

/** One stream. A plain record of one shape; the parts of the engine that own a field say so. */
export class StreamCore implements Http2Stream {
  id: number;
  events: StreamEvents | null;
  flushed = false;
  state: State = idle;

  /** Sender: what the peer lets us send; negative after its SETTINGS shrank it (RFC 9113 6.9.2). */
  sendWindow: number;
  waiting: Waiting = Waiting.no;
  /** Sender: neighbours in the queue. */
  before: StreamCore | null = null;
  after: StreamCore | null = null;

  /** Sender: a header block of ours has been sent on it. */
  responded = false;

  /** Receiver: when its HEADERS were read (server role; clock ms). */
  openedAt = 0;
  readonly receiveWindow: ReceiveWindow;
  /** Receiver: DATA given to the owner and not consumed. */
  held = 0;
  /** Receiver: its headers have come, those of a response but for interim ones: what block follows is trailers. */
  answered = false;
  /** Receiver: content-length's bytes still to come, or `unknownLength` (RFC 9113 8.1.1). */
  lengthLeft = unknownLength;

  constructor(id: number, events: StreamEvents | null, sendWindow: number, receiveWindow: ReceiveWindow) {
    this.id = id;
    this.events = events;
    this.sendWindow = sendWindow;
    this.receiveWindow = receiveWindow;
  }

  get sendClosed(): boolean {
    return this.state === halfClosedLocal || this.state === closed;
  }

  get receiveClosed(): boolean {
    return this.state === halfClosedRemote || this.state === closed;
  }

  get closed(): boolean {
    return this.state === closed;
  }

  open(): void {
    this.state = afterHeaders[this.state] ?? closed;
  }

  endSend(): void {
    this.state = afterSendEnd[this.state] ?? closed;
  }

  endReceive(): void {
    this.state = afterReceiveEnd[this.state] ?? closed;
  }

  close(): void {
    this.state = closed;
  }
}
