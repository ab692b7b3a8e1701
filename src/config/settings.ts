import { parseBackend, showBackend } from './backend.js';
import { healthSettings, poolSettings, sessionSettings } from './pool-settings.js';
import { type Many, many, type One, type Optional, one, optional, type Setting } from './setting.js';
import {
  authority,
  choice,
  duration,
  durationOrOff,
  host,
  integer,
  listenAddress,
  listenAddressOrOff,
  metadataPrefix,
  onOff,
  path,
  size,
  sizeOrOff,
} from './setting-kinds.js';

const backend = {
  metavar: 'NAME=TARGET',
  range: null,
  bare: null,
  json: 'a string',
  fromText: parseBackend,
  fromNode: null,
  show: showBackend,
} as const;

/** Read where `--service-config` names no other file; there its absence is no error. */
export const defaultServiceConfig = './service-config.json';

/**
 * Every setting of `hedgerow serve`. The key `drainTimeout` is the flag `--drain-timeout` and the variable
 * `HEDGEROW_DRAIN_TIMEOUT`.
 */
export const settingTable = {
  listen: many(
    'Listening and backends',
    listenAddress,
    ['127.0.0.1:50051'],
    'Where clients connect: HOST:PORT, [IPV6]:PORT or unix:PATH; port 0 picks one.',
  ),
  backend: many(
    'Listening and backends',
    backend,
    [],
    'A backend, or a group of them: HOST:PORT, dns:///HOST:PORT, IP:PORT, ipv4:IP:PORT, ipv6:[IP]:PORT or unix:PATH, with options ,weight=N ,priority=N ,max-calls=N (docs/backends.md).',
  ),
  ...poolSettings,
  ...healthSettings,
  backendAuthority: one(
    'Listening and backends',
    authority,
    'client',
    "The :authority that backends see: the client's own, each backend's target, or a fixed one.",
  ),

  serviceConfig: optional(
    'Service config',
    path,
    defaultServiceConfig,
    'The gRPC service config with the retry and hedging policies, read again when it changes. A file that is not named may be absent.',
  ),
  maxAttemptsLimit: one(
    'Service config',
    integer(1, 1000),
    '5',
    'Cap on maxAttempts of every policy (gRFC A6); 1 turns policies off.',
  ),

  perCallBufferLimit: one(
    'Limits',
    size('0', '1GiB'),
    '256KiB',
    'Request bytes kept for another attempt, per call; over it the call is committed.',
  ),
  clientBufferLimit: one('Limits', size('0', '16GiB'), '8MiB', 'The same, per client connection.'),
  bufferLimit: one('Limits', size('0', '64GiB'), '64MiB', 'The same, in all.'),
  relayBufferLimit: one(
    'Limits',
    size('64KiB', '64GiB'),
    '256MiB',
    'Bytes waiting for a peer, in all; over it streams get no new window.',
  ),
  clientMemoryLimit: one(
    'Limits',
    sizeOrOff('1MiB', '64GiB'),
    '1GiB',
    'Bytes that clients make it hold, in all: waiting for a peer, unread output, header blocks under way; over it the client with most is sent away.',
  ),
  maxHeaderListSize: one(
    'Limits',
    size('256', '1MiB'),
    '16KiB',
    'Metadata of one request or answer, 32 bytes a field added (RFC 9113).',
  ),
  maxMessageSize: one(
    'Limits',
    sizeOrOff('1', '4GiB'),
    'off',
    "Bytes of one message, either way, as sent; a method's own limit holds where it is less.",
  ),
  maxConcurrentStreams: one('Limits', integer(1, 1_000_000), '1000', 'Calls at a time per client connection.'),
  maxTotalStreams: one('Limits', integer(1, 10_000_000), '200000', 'The same, over all client connections.'),
  maxConnections: one('Limits', integer(1, 1_000_000), '10000', 'Client connections at a time.'),
  floodBudget: one(
    'Limits',
    integer(100, 1_000_000_000),
    '10000',
    'Frames that carry nothing for a call, more than calls, DATA and time pay for, after which a peer is sent away.',
  ),
  prefaceTimeout: one(
    'Limits',
    duration('10ms', '10m'),
    '5s',
    'Time that a client has for its TLS handshake, and then for its HTTP/2 preface and SETTINGS.',
  ),
  headerTimeout: one(
    'Limits',
    duration('10ms', '10m'),
    '5s',
    'Time from the first byte of a header block to its last; over it the connection ends.',
  ),

  connectTimeout: one(
    'Connections to backends',
    duration('1ms', '10m'),
    '2s',
    'Time to connect to a backend, TLS and SETTINGS included.',
  ),
  connectBackoffMax: one(
    'Connections to backends',
    duration('1ms', '1h'),
    '5s',
    'The longest wait between connects that fail; waits grow from 250ms.',
  ),
  backendConnections: one(
    'Connections to backends',
    integer(1, 1000),
    '4',
    "Connections per backend; a further one is opened at the peer's stream limit.",
  ),
  queueLimit: one(
    'Connections to backends',
    integer(1, 1_000_000),
    '1000',
    'Calls that wait for a stream, per backend.',
  ),
  keepaliveTime: one(
    'Connections to backends',
    durationOrOff('10ms', '24h'),
    '10s',
    'Silence of a backend with open calls after which a PING asks whether it lives.',
  ),
  keepaliveTimeout: one(
    'Connections to backends',
    duration('10ms', '1h'),
    '5s',
    'Time that it has to answer; then the connection is lost.',
  ),
  keepaliveMaxPings: one(
    'Connections to backends',
    integer(0, 1000),
    '3',
    'PINGs in one silence; the next waits 5m. Stock gRPC servers cut at the fourth. 0: no limit, where backends permit it.',
  ),

  idleTimeout: one(
    'Connections of clients',
    durationOrOff('10ms', '24h'),
    'off',
    'A client connection without calls for so long is closed, by two GOAWAYs.',
  ),
  clientKeepaliveTime: one(
    'Connections of clients',
    durationOrOff('10ms', '24h'),
    '2h',
    'Silence of a client, with calls or without, after which a PING asks whether it lives.',
  ),
  clientKeepaliveTimeout: one(
    'Connections of clients',
    duration('10ms', '1h'),
    '20s',
    'Time that it has to answer; then its connection is closed and its calls are cancelled.',
  ),
  maxConnectionAge: one(
    'Connections of clients',
    durationOrOff('10ms', '720h'),
    'off',
    'A client connection so old, give or take a tenth, takes no new calls and is closed, by two GOAWAYs.',
  ),
  maxConnectionAgeGrace: one(
    'Connections of clients',
    duration('0s', '24h'),
    '30s',
    'Time that its calls get to finish then.',
  ),

  preStopDelay: one(
    'Draining',
    duration('0s', '1h'),
    '0s',
    'Time after SIGTERM in which /readyz says 503 and new connections and calls are still taken.',
  ),
  drainTimeout: one('Draining', duration('0s', '24h'), '30s', 'Time that calls in flight get to finish after SIGTERM.'),

  tlsCert: optional('TLS', path, null, 'Certificate chain for clients, PEM; with --tls-key. Without, cleartext.'),
  tlsKey: optional('TLS', path, null, 'Its private key, PEM.'),
  tlsClientCa: optional(
    'TLS',
    path,
    null,
    'CA certificates, PEM: clients must show a certificate of one of them. Without, they show none.',
  ),
  backendTls: one('TLS', onOff, 'off', 'TLS to backends.'),
  backendCa: optional(
    'TLS',
    path,
    null,
    "CA certificates that backends are checked against, PEM. Without, the system's.",
  ),
  backendCert: optional(
    'TLS',
    path,
    null,
    'Our certificate chain for backends that ask for one, PEM; with --backend-key.',
  ),
  backendKey: optional('TLS', path, null, 'Its private key, PEM.'),
  backendServerName: optional(
    'TLS',
    host,
    null,
    "The name that backends' certificates must carry. Without, the target's address.",
  ),

  metadataPrefix: one('Metadata', metadataPrefix, 'hedgerow', "Prefix of the proxy's own metadata keys."),
  responseMetadata: one(
    'Metadata',
    onOff,
    'on',
    'Tell clients which backend answered, the number of retries and the stop reason.',
  ),
  directives: one(
    'Metadata',
    onOff,
    'on',
    "What clients ask for by the prefix's keys counts; off: the keys are removed and have no effect.",
  ),
  forwarded: one(
    'Metadata',
    choice(['off', 'address', 'certificate']),
    'off',
    "Tell backends the client's address in x-forwarded-for; certificate: its certificate too, in x-forwarded-client-cert.",
  ),
  trustForwarded: one(
    'Metadata',
    onOff,
    'off',
    'Keep what clients send in those two keys, ours after it; off: it is removed.',
  ),
  via: one(
    'Metadata',
    onOff,
    'off',
    'Send via: 2 hedgerow-ID to backends, and refuse a call that comes back with our own ID.',
  ),

  pin: one(
    'Pins and sessions',
    choice(['strict', 'first-attempt']),
    'strict',
    'A pinned call stays on its backend; first-attempt: later attempts may go elsewhere.',
  ),
  pinSameBackendRetry: one(
    'Pins and sessions',
    onOff,
    'off',
    'The policy of a strictly pinned call retries, on its own backend.',
  ),

  ...sessionSettings,

  admin: one('Admin HTTP and control', listenAddressOrOff, '127.0.0.1:9901', 'Where health and state are served.'),
  adminHost: many(
    'Admin HTTP and control',
    host,
    [],
    'A host name accepted in Host, besides IP addresses and localhost.',
  ),
  adminTokenFile: optional(
    'Admin HTTP and control',
    path,
    null,
    'File with the bearer token that a POST needs beyond loopback.',
  ),
  recentCalls: one(
    'Admin HTTP and control',
    integer(0, 10_000),
    '500',
    'Calls kept for /calls and the dashboard: those that failed or took more than one attempt, and a few others. 0: none.',
  ),
  control: one(
    'Admin HTTP and control',
    listenAddressOrOff,
    'off',
    'Where the gRPC control services are: registry, health, reflection and channelz.',
  ),

  logLevel: one(
    'Logs',
    choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    'info',
    'The least level that is logged.',
  ),
  logFormat: optional('Logs', choice(['json', 'pretty']), 'json; pretty on a terminal', 'How a log line looks.'),
  accessLog: one(
    'Logs',
    choice(['all', 'notable', 'off']),
    'notable',
    'Calls that get a line: notable ones failed or took more than one attempt.',
  ),

  config: optional('Settings file', path, null, 'Flat JSON with any of these settings by their camelCase keys.'),
} as const satisfies Record<string, Setting>;

export type SettingKey = keyof typeof settingTable;

type ValueOf<S> =
  S extends One<infer T> ? T : S extends Optional<infer T> ? T | null : S extends Many<infer T> ? readonly T[] : never;

/** The settings in force, checked and frozen. Durations in milliseconds, sizes in bytes, what can be off is null then. */
export type Settings = { readonly [K in SettingKey]: ValueOf<(typeof settingTable)[K]> };

/** All keys, in the help's order. */
export const settingKeys = Object.keys(settingTable) as readonly SettingKey[];

/** `drainTimeout` → `--drain-timeout`. */
export function flagOf(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `drainTimeout` → `HEDGEROW_DRAIN_TIMEOUT`. */
export function variableOf(key: string): string {
  return `HEDGEROW_${key.replace(/[A-Z]/g, '_$&').toUpperCase()}`;
}
