import net from 'node:net';
import { type Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
import { bearerOf, tokenCheck } from '../runtime/bearer.js';
import { type BindAddress, bindServer } from '../runtime/bind-server.js';
import { isBeyondLoopback } from '../runtime/loopback.js';
import { createChannelzService } from './channelz-service.js';
import type { ChannelzSource } from './channelz-types.js';
import { createHealthService } from './health.js';
import { loadHealthService, loadRegistryService } from './protocol.js';
import { createReflection } from './reflection.js';
import { createRegisterStreams, type RegistryOwner, type RegistryPorts } from './register-streams.js';
import type { RegistryLimits } from './registry.js';

/** Of the HTTP/2 connections. A peer that has gone silent is lost after both together (ms). */
export interface ControlKeepalive {
  /** From one PING's answer to the next PING. */
  readonly time: number;
  readonly timeout: number;
}

export interface ControlOptions {
  readonly listen: BindAddress;
  /** The bearer token; null where there is none. */
  readonly token: string | null;
  readonly registry: RegistryOwner;
  /** What channelz tells. */
  readonly channelz: ChannelzSource;
  readonly ports: RegistryPorts;
  readonly keepalive?: ControlKeepalive;
  readonly limits?: RegistryLimits;
}

/** The gRPC control services of `--control`. */
export interface Control {
  /** @returns the address really bound; rejects with one sentence */
  start(): Promise<string>;
  /** Ends registrations UNAVAILABLE (nobody is lost by that) and closes all connections. */
  stop(): Promise<void>;
  /** What grpc.health.v1 says of us: NOT_SERVING while draining (D35). */
  setServing(serving: boolean): void;
  /** The app has given this name to another source: its registration ends ALREADY_EXISTS, and nobody is told. */
  expel(name: string, why: string): void;
  /** As really bound; null before. */
  readonly address: string | null;
}

const defaultKeepalive: ControlKeepalive = { time: 4000, timeout: 3000 };

/** One for each backend that may register, and some for those who look. */
const maxConnections = 10_200;
/** On a connection: an agent may register many backends over one. */
const maxStreams = 100;
/** What grpc-js takes of one message before it ends the stream itself; ours, which is told better, is lower. */
const maxReceived = 64 * 1024;
/** What statuses get to arrive when all ends (ms). */
const grace = 250;

export function createControl(options: ControlOptions): Control {
  const { keepalive = defaultKeepalive, ports } = options;
  const isToken = tokenCheck(options.token);
  let address: string | null = null;
  /** Until it is known, the worse. */
  let beyondLoopback = true;
  const sockets = new Set<net.Socket>();
  const peers = new Set<string>();

  function admit({ metadata }: { readonly metadata: Metadata }): string | null {
    if (!beyondLoopback) return null;
    const [value, ...more] = metadata.get('authorization');
    const given = value === undefined || more.length > 0 ? undefined : bearerOf(String(value));
    if (given !== undefined && isToken(given)) return null;
    return 'beyond loopback this needs authorization: Bearer, with the token of --admin-token-file';
  }

  const streams = createRegisterStreams(
    options.registry,
    ports,
    admit,
    // On a unix socket peers have no names: what cannot be told passes for a reset.
    (peer) => peers.has(peer) || options.listen.kind === 'unix',
    options.limits,
  );
  const health = createHealthService(['hedgerow.registry.v1.Registry']);
  const services = new Server({
    'grpc.enable_channelz': 0,
    'grpc.keepalive_time_ms': keepalive.time,
    'grpc.keepalive_timeout_ms': keepalive.timeout,
    'grpc.max_concurrent_streams': maxStreams,
    'grpc.max_receive_message_length': maxReceived,
  });
  const registry = loadRegistryService();
  const healthService = loadHealthService();
  const channelz = createChannelzService(options.channelz, admit);
  services.addService(registry, { Register: streams.handle });
  services.addService(healthService, health.implementation);
  services.addService(channelz.definition, channelz.implementation);
  for (const part of createReflection([registry, healthService, channelz.definition], admit))
    services.addService(part.definition, part.implementation);
  // The listener is ours: its errors are sentences, and a unix socket that a killed process left is taken over.
  const injector = services.createConnectionInjector(ServerCredentials.createInsecure());
  const listener = net.createServer({ noDelay: true }, (socket) => {
    // As grpc-js calls it.
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    sockets.add(socket);
    peers.add(peer);
    for (const over of ['end', 'error', 'close']) socket.on(over, () => peers.delete(peer));
    socket.on('close', () => sockets.delete(socket));
    injector.injectConnection(socket);
  });
  listener.maxConnections = maxConnections;

  return {
    async start() {
      address = await bindServer(listener, '--control', options.listen);
      beyondLoopback = isBeyondLoopback(listener.address());
      // Out of file descriptors, a server emits an error and goes on; without a listener that would end the process.
      listener.on('error', () => {});
      return address;
    },
    async stop() {
      streams.stop();
      // Closes when the last connection has.
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      services.tryShutdown(() => {});
      const alarm = ports.alarms.set(ports.clock.now() + grace, () => {
        for (const socket of sockets) socket.destroy();
      });
      await closed;
      ports.alarms.cancel(alarm);
    },
    setServing: health.setServing,
    expel: streams.expel,
    get address() {
      return address;
    },
  };
}
