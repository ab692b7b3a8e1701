/*
 * What channelz (gRFC A14) tells of the proxy's own connections, as plain values that the app fills in when somebody asks.
 * Times are milliseconds since 1970. What is null is not counted, and left unset in the answer.
 */

/** One id in channelz's answers: above 0, never that of another thing in this process's life. */
export type ChannelzId = number;

/** What others are told a thing by. */
export interface ChannelzRef {
  readonly id: ChannelzId;
  readonly name: string;
}

/** Some of a list in ascending order of ids. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Nothing follows, as things stand. */
  readonly end: boolean;
}

/** As in ChannelConnectivityState. */
export type Connectivity = 'IDLE' | 'CONNECTING' | 'READY' | 'TRANSIENT_FAILURE' | 'SHUTDOWN';

/** Calls since the start. */
export interface CallCounts {
  readonly started: number;
  /** Ended OK. */
  readonly succeeded: number;
  /** Ended otherwise. */
  readonly failed: number;
  /** Null: none has been, or it is not known. */
  readonly lastStarted: number | null;
}

/** A backend or a group, or one member with its connections. */
export interface ChannelSnapshot {
  readonly ref: ChannelzRef;
  readonly state: Connectivity;
  readonly target: string;
  readonly calls: CallCounts;
  readonly subchannels: readonly ChannelzRef[];
  readonly sockets: readonly ChannelzRef[];
}

/** All that clients connect to. */
export interface ServerSnapshot {
  readonly ref: ChannelzRef;
  /** Null: they are not counted. */
  readonly calls: CallCounts | null;
  /** One for each address that it listens on. */
  readonly listening: readonly ChannelzRef[];
}

/** Where a socket is, or its peer. */
export type ChannelzAddress =
  /** An IP literal. */
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** DER. */
export interface ChannelzTls {
  /** The cipher suite's name of RFC 8446 B.4 or the IANA registry. */
  readonly cipher: string;
  readonly local: Uint8Array | null;
  readonly remote: Uint8Array | null;
}

/** A connection's streams. */
export interface SocketTraffic {
  readonly started: number;
  /** END_STREAM came from the backend, or went to the client. */
  readonly succeeded: number;
  readonly failed: number;
  /** When the peer opened its last stream; null: it opens none, or has not yet. */
  readonly lastRemote: number | null;
  /** PINGs that asked whether the peer lives. */
  readonly keepalives: number;
  /** What the peer lets us send on the connection, and we the peer (bytes). */
  readonly localWindow: number;
  readonly remoteWindow: number;
}

export interface SocketSnapshot {
  readonly ref: ChannelzRef;
  /** Null where the system tells none, as for clients of a unix socket. */
  readonly local: ChannelzAddress | null;
  readonly remote: ChannelzAddress | null;
  /** The host name that led there; null: none did. */
  readonly remoteName: string | null;
  /** Null: cleartext. */
  readonly tls: ChannelzTls | null;
  /** Null: it only listens. */
  readonly traffic: SocketTraffic | null;
}

/** What can be asked for. Ids that are not there give null. */
export interface ChannelzSource {
  /** @param start the lowest id wanted @param most items, at least 1 */
  channels(start: ChannelzId, most: number): Page<ChannelSnapshot>;
  channel(id: ChannelzId): ChannelSnapshot | null;
  subchannel(id: ChannelzId): ChannelSnapshot | null;
  servers(start: ChannelzId, most: number): Page<ServerSnapshot>;
  server(id: ChannelzId): ServerSnapshot | null;
  /** Clients' connections. */
  serverSockets(server: ChannelzId, start: ChannelzId, most: number): Page<ChannelzRef> | null;
  socket(id: ChannelzId): SocketSnapshot | null;
}
