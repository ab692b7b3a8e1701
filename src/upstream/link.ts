import type { ConnectionTraffic, Http2Connection } from '../http2/types.js';
import type { SocketFacts } from '../runtime/socket-facts.js';

/** What a link's owner hears. Never inside `Dial`; after `onClosed` nothing more. */
export interface LinkEvents {
  /** The peer's SETTINGS came: at first this says that the connection is up, later that its room may have changed. */
  onSettings(connection: Http2Connection): void;
  onGoaway(code: number, debug: string): void;
  /** A stream closed: there may be room. */
  onStreamClosed(): void;
  /**
   * The peer broke HTTP/2, or the connection is lost; streams are told after this. `onClosed` follows when the socket is closed.
   */
  onFailed(detail: string): void;
  /** The socket is closed, or could not be made. Once. */
  onClosed(detail: string): void;
}

/** What a connection tells of itself to whoever looks. */
export interface LinkView {
  readonly traffic: ConnectionTraffic;
  /** Read when asked for. */
  readonly socket: SocketFacts;
}

/** One connection in the making, or made. */
export interface Link {
  /** What it waits for, for the words of a timeout. */
  readonly stage: 'a TCP connection' | 'the TLS handshake' | 'HTTP/2 SETTINGS';
  /** When bytes last came on it (clock ms). */
  readonly lastReadAt: number;
  /** Null before HTTP/2 is spoken. */
  view(): LinkView | null;
  /** See SocketBinding.readOn. */
  readOn(): boolean;
  /** Says goodbye (GOAWAY), writes what is pending, closes. Streams still open are lost. */
  end(): void;
  /** Closes now; streams still open are lost, with these words. */
  destroy(detail: string): void;
}

/** Starts to connect. Never throws, and never calls back synchronously. */
export type Dial = (events: LinkEvents) => Link;
