import { createIds, Shelf } from '../control/channelz-shelf.js';
import type {
  CallCounts,
  ChannelSnapshot,
  ChannelzAddress,
  ChannelzId,
  ChannelzRef,
  ChannelzSource,
  Connectivity,
  Page,
  ServerSnapshot,
  SocketSnapshot,
  SocketTraffic,
} from '../control/channelz-types.js';
import type { CallTally } from '../grpc/call-tally.js';
import type { ConnectionTraffic, Http2Connection } from '../http2/types.js';
import type { ClientView } from '../proxy/listener.js';
import type { Clock } from '../runtime/ports.js';
import type { SocketAddress } from '../runtime/socket-facts.js';
import type { ConnectionView, UpstreamBackend } from '../upstream/types.js';
import { wallOffset } from './wall-offset.js';

/** What channelz takes from the rest of the proxy. */
export interface ChannelzOptions {
  readonly clock: Clock;
  /** Milliseconds since 1970 [Date.now]. */
  readonly wallNow?: () => number;
  /** The addresses of `--listen` as really bound; empty before. */
  readonly listening: () => readonly string[];
  /** Clients' calls; null: they are not counted. */
  readonly calls: () => CallCounts | null;
}

/** Backends of one name, which calls are balanced over: a channel. */
interface Channel {
  readonly name: string;
  /** Ids of its members. */
  readonly members: Set<ChannelzId>;
  /** Calls at members that have left. */
  readonly past: { started: number; succeeded: number; failed: number; lastStartedAt: number | null };
}

/** One backend: a subchannel. */
interface Member {
  readonly backend: UpstreamBackend;
  readonly channel: ChannelzId;
  /** Of its connections when somebody last looked. */
  sockets: Map<Http2Connection, ChannelzId>;
}

/**
 * What there is of the proxy for channelz: names with their backends as channels with subchannels, and one server with all
 * listeners. Ids of backends and of clients' connections are given as they come, those of backends' connections when
 * somebody looks; everything else is read when it is asked for.
 */
export class ChannelzState implements ChannelzSource {
  private readonly options: ChannelzOptions;
  /** Milliseconds since 1970 at the clock's 0, so that a moment is told the same each time. */
  private readonly epoch: number;
  private readonly nextId = createIds();
  private readonly serverId = this.nextId();
  private readonly channelShelf = new Shelf<Channel>(this.nextId);
  private readonly channelOf = new Map<string, ChannelzId>();
  private readonly members = new Map<ChannelzId, Member>();
  private readonly memberOf = new Map<UpstreamBackend, ChannelzId>();
  private readonly clients = new Shelf<ClientView>(this.nextId);
  /** Backends' connections that somebody may have been told of. */
  private readonly told = new Map<ChannelzId, { readonly member: ChannelzId; readonly connection: Http2Connection }>();
  private listeners: readonly ChannelzRef[] = [];

  constructor(options: ChannelzOptions) {
    this.options = options;
    const { clock, wallNow = Date.now } = options;
    this.epoch = wallOffset(clock, wallNow);
  }

  // === What happens ===

  backendMade(backend: UpstreamBackend): void {
    const { name } = backend;
    let channel = this.channelOf.get(name);
    if (channel === undefined) {
      const past = { started: 0, succeeded: 0, failed: 0, lastStartedAt: null };
      channel = this.channelShelf.add({ name, members: new Set(), past });
      this.channelOf.set(name, channel);
    }
    const id = this.nextId();
    this.members.set(id, { backend, channel, sockets: new Map() });
    this.memberOf.set(backend, id);
    this.channelShelf.get(channel)?.members.add(id);
  }

  backendEnded(backend: UpstreamBackend): void {
    const id = this.memberOf.get(backend);
    const member = id === undefined ? undefined : this.members.get(id);
    if (id === undefined || member === undefined) return;
    this.memberOf.delete(backend);
    this.members.delete(id);
    for (const socket of member.sockets.values()) this.told.delete(socket);
    const channel = this.channelShelf.get(member.channel);
    if (channel === undefined) return;
    channel.members.delete(id);
    addTo(channel.past, backend.calls);
    if (channel.members.size > 0) return;
    this.channelShelf.delete(member.channel);
    this.channelOf.delete(channel.name);
  }

  /** Returns what is to be called at its end. */
  clientServed(client: ClientView): () => void {
    const id = this.clients.add(client);
    return () => this.clients.delete(id);
  }

  // === ChannelzSource ===

  channels(start: ChannelzId, most: number): Page<ChannelSnapshot> {
    const { items, end } = this.channelShelf.page(start, most);
    return { items: items.map(([id, channel]) => this.channelSnapshot(id, channel)), end };
  }

  channel(id: ChannelzId): ChannelSnapshot | null {
    const channel = this.channelShelf.get(id);
    return channel === undefined ? null : this.channelSnapshot(id, channel);
  }

  subchannel(id: ChannelzId): ChannelSnapshot | null {
    const member = this.members.get(id);
    if (member === undefined) return null;
    const { backend } = member;
    return {
      ref: { id, name: backend.id },
      state: connectivityOf(backend),
      target: backend.target,
      calls: this.countsOf(backend.calls),
      subchannels: [],
      sockets: this.socketsOf(id, member),
    };
  }

  servers(start: ChannelzId): Page<ServerSnapshot> {
    const server = start > this.serverId ? null : this.server(this.serverId);
    return { items: server === null ? [] : [server], end: true };
  }

  server(id: ChannelzId): ServerSnapshot | null {
    if (id !== this.serverId) return null;
    return { ref: { id, name: 'hedgerow' }, calls: this.options.calls(), listening: this.listening() };
  }

  serverSockets(server: ChannelzId, start: ChannelzId, most: number): Page<ChannelzRef> | null {
    if (server !== this.serverId) return null;
    const { items, end } = this.clients.page(start, most);
    return { items: items.map(([id, { peer }]) => ({ id, name: peer })), end };
  }

  socket(id: ChannelzId): SocketSnapshot | null {
    const client = this.clients.get(id);
    if (client !== undefined) return this.clientSnapshot(id, client);
    const told = this.told.get(id);
    if (told !== undefined) return this.backendSocket(id, told.member, told.connection);
    const listener = this.listening().find((one) => one.id === id);
    if (listener === undefined) return null;
    return { ref: listener, local: boundAt(listener.name), remote: null, remoteName: null, tls: null, traffic: null };
  }

  // === Snapshots ===

  private channelSnapshot(id: ChannelzId, { name, members, past }: Channel): ChannelSnapshot {
    const calls = { ...past };
    const states: Connectivity[] = [];
    const subchannels: ChannelzRef[] = [];
    let target = '';
    for (const memberId of members) {
      const member = this.members.get(memberId);
      if (member === undefined) continue;
      const { backend } = member;
      addTo(calls, backend.calls);
      states.push(connectivityOf(backend));
      subchannels.push({ id: memberId, name: backend.id });
      target = backend.target;
    }
    return {
      ref: { id, name },
      state: bestOf(states),
      target,
      calls: this.countsOf(calls),
      subchannels,
      sockets: [],
    };
  }

  /** Those that are there, with the ids that they have or get now. */
  private socketsOf(id: ChannelzId, member: Member): ChannelzRef[] {
    const { backend, sockets: before } = member;
    const refs: ChannelzRef[] = [];
    member.sockets = new Map();
    for (const { connection, generation } of backend.views()) {
      const socket = before.get(connection) ?? this.nextId();
      before.delete(connection);
      member.sockets.set(connection, socket);
      this.told.set(socket, { member: id, connection });
      refs.push({ id: socket, name: socketName(backend, generation) });
    }
    for (const gone of before.values()) this.told.delete(gone);
    return refs;
  }

  private backendSocket(id: ChannelzId, memberId: ChannelzId, connection: Http2Connection): SocketSnapshot | null {
    const backend = this.members.get(memberId)?.backend;
    const view = backend?.views().find((one) => one.connection === connection);
    if (backend === undefined || view === undefined) return null;
    const { local, remote, tls } = view.socket;
    const { endpoint } = backend;
    return {
      ref: { id, name: socketName(backend, view.generation) },
      local: tcp(local),
      remote: endpoint.kind === 'unix' ? endpoint : tcp(remote),
      remoteName: backend.host,
      tls,
      traffic: this.trafficOf(view),
    };
  }

  private clientSnapshot(id: ChannelzId, client: ClientView): SocketSnapshot {
    const { local, remote, tls } = client.socket;
    return {
      ref: { id, name: client.peer },
      local: tcp(local),
      remote: tcp(remote),
      remoteName: null,
      tls,
      traffic: this.trafficOf(client),
    };
  }

  private trafficOf({ traffic, keepalives }: Pick<ConnectionView, 'traffic' | 'keepalives'>): SocketTraffic {
    const { streamCounts, sendWindow, receiveWindow }: ConnectionTraffic = traffic;
    const { started, succeeded, failed, lastOpenedAt } = streamCounts;
    return {
      started,
      succeeded,
      failed,
      lastRemote: this.wallAt(lastOpenedAt),
      keepalives,
      localWindow: sendWindow,
      remoteWindow: receiveWindow,
    };
  }

  private countsOf({ started, succeeded, failed, lastStartedAt }: Channel['past']): CallCounts {
    return { started, succeeded, failed, lastStarted: this.wallAt(lastStartedAt) };
  }

  /** @param at clock milliseconds */
  private wallAt(at: number | null): number | null {
    return at === null ? null : this.epoch + at;
  }

  private listening(): readonly ChannelzRef[] {
    const bound = this.options.listening();
    if (this.listeners.length !== bound.length) this.listeners = bound.map((name) => ({ id: this.nextId(), name }));
    return this.listeners;
  }
}

/** As gRPC's clients would call it; one that leaves is SHUTDOWN from the start, its last calls still going on. */
export function connectivityOf({ phase, link, downSince }: UpstreamBackend): Connectivity {
  if (phase !== 'serving') return 'SHUTDOWN';
  switch (link) {
    case 'ready':
    case 'busy':
      return 'READY';
    case 'full':
      return downSince === null ? 'READY' : 'CONNECTING';
    case 'connecting':
      return 'CONNECTING';
    case 'idle':
      return 'IDLE';
    case 'backoff':
      return 'TRANSIENT_FAILURE';
    default:
      return link satisfies never;
  }
}

/** From what gRPC's balancers make of several (round_robin): the best there is. */
const ranking: readonly Connectivity[] = ['READY', 'CONNECTING', 'IDLE', 'TRANSIENT_FAILURE'];

function bestOf(states: readonly Connectivity[]): Connectivity {
  return ranking.find((state) => states.includes(state)) ?? 'SHUTDOWN';
}

function addTo(sum: Channel['past'], calls: Pick<CallTally, keyof Channel['past']>): void {
  sum.started += calls.started;
  sum.succeeded += calls.succeeded;
  sum.failed += calls.failed;
  if (calls.lastStartedAt !== null) sum.lastStartedAt = Math.max(sum.lastStartedAt ?? 0, calls.lastStartedAt);
}

function socketName({ id }: UpstreamBackend, generation: number): string {
  return `${id}, connection ${generation}`;
}

function tcp(address: SocketAddress | null): ChannelzAddress | null {
  return address === null ? null : { kind: 'tcp', ...address };
}

/** @param bound as the ready line prints it */
function boundAt(bound: string): ChannelzAddress {
  if (bound.startsWith('unix:')) return { kind: 'unix', path: bound.slice('unix:'.length) };
  const colon = bound.lastIndexOf(':');
  return { kind: 'tcp', host: bound.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(bound.slice(colon + 1)) };
}
