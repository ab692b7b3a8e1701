import { many, one, optional } from './setting.js';
import {
  choice,
  decimal,
  duration,
  durationOrOff,
  healthService,
  integer,
  methodPattern,
  onOff,
  path,
} from './setting-kinds.js';

/** How backends are found and chosen. */
export const poolSettings = {
  endpoints: optional(
    'Listening and backends',
    path,
    null,
    'A file with more backends, read again when it changes (docs/backends.md).',
  ),
  dnsRefresh: one(
    'Listening and backends',
    duration('1s', '24h'),
    '30s',
    'Names of backends are resolved again after so long, and when a connection is lost.',
  ),
  loadBalancing: one(
    'Load balancing',
    choice(['round_robin', 'pick_first', 'least_request']),
    'round_robin',
    "Which backend a call's first attempt goes to; the service config's loadBalancingConfig wins.",
  ),
  hedgeDistinct: one(
    'Load balancing',
    onOff,
    'off',
    'A hedge that would go to a backend that its call has been sent to already is left out.',
  ),
} as const;

/** When a backend is parked, and for how long (docs/health.md). */
export const healthSettings = {
  healthHardFailures: one(
    'Health of backends',
    integer(1, 1000),
    '3',
    'Failures in a row, of connections or UNAVAILABLE, before a backend may be parked.',
  ),
  healthFailureRate: one(
    'Health of backends',
    decimal(0, 1),
    '0.5',
    'The share of failures, moving, from which such a backend is parked although it answered not long ago.',
  ),
  healthAliveWindow: one(
    'Health of backends',
    duration('1s', '24h'),
    '60s',
    'Without a success for so long it is parked whatever the share.',
  ),
  healthPark: one(
    'Health of backends',
    duration('10ms', '24h'),
    '30s',
    'The first park; each one that follows without a success is twice as long.',
  ),
  healthParkMax: one('Health of backends', duration('10ms', '24h'), '120s', 'The longest park.'),
  healthRecentWindow: one(
    'Health of backends',
    duration('0s', '24h'),
    '30s',
    'Retries and hedges avoid a backend for so long after a failure.',
  ),
  healthProbeGrace: one(
    'Health of backends',
    duration('0s', '24h'),
    '30s',
    'After a park a call with a policy goes there first; after so long without one, any call may.',
  ),
  minBlame: one(
    'Health of backends',
    duration('1ms', '1h'),
    '1s',
    'A deadline that passes blames a backend that was silent for at least so long.',
  ),
  healthIgnoreDeadline: many(
    'Health of backends',
    methodPattern,
    [],
    'Methods whose deadlines blame nobody: /package.Service/Method or /package.Service/*.',
  ),
  healthCountInternal: one('Health of backends', onOff, 'off', 'INTERNAL and UNKNOWN count as failures.'),
  healthRateLimit: one(
    'Health of backends',
    onOff,
    'off',
    'RESOURCE_EXHAUSTED with a time to wait parks the backend for that time, at most a minute.',
  ),
  healthCheck: one(
    'Health of backends',
    healthService,
    'off',
    "Ask backends by grpc.health.v1 Watch for this service; '' is the whole server.",
  ),
} as const;

/** Pins and sessions beyond their strictness. */
export const sessionSettings = {
  pinOnParked: one(
    'Pins and sessions',
    choice(['fail', 'try']),
    'fail',
    'What a strict pin on a parked backend comes to.',
  ),
  session: one(
    'Pins and sessions',
    choice(['strict', 'first-attempt']),
    'strict',
    "A session's call stays on its backend; first-attempt: later attempts may go elsewhere.",
  ),
  sessionTtl: one(
    'Pins and sessions',
    duration('1ms', '720h'),
    '30m',
    'A session without a call that reached its backend for so long is over.',
  ),
  sessionMaxAge: one(
    'Pins and sessions',
    durationOrOff('1ms', '8760h'),
    'off',
    'A session is over after so long, however much it is used.',
  ),
  sessionMaxEntries: one(
    'Pins and sessions',
    integer(1, 10_000_000),
    '100000',
    'Sessions kept; over it one that was idle for a minute gives way, else new ones are refused.',
  ),
  sessionLostAfter: one(
    'Pins and sessions',
    duration('0s', '24h'),
    '60s',
    'A session whose backend is parked or down for so long is lost; 0s: at the first refusal.',
  ),
} as const;
