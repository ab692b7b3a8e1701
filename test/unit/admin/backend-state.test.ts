import { describe, expect, it, test } from 'vitest';
import { describeBackend } from '../../../src/admin/backend-state.js';
import { createHealth } from '../../../src/balance/health.js';
import { defaultHealth, type HealthStats } from '../../../src/balance/health-types.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import type { UpstreamBackend } from '../../../src/upstream/types.js';
import { backend, down, member } from './backends.js';

const well: HealthStats = createHealth(defaultHealth).of(backendId('b1')).stats(0);
const parked: HealthStats = {
  ...well,
  ...{ standing: 'parked', park_reason: 'consecutive_failures', consecutive_hard_failures: 3, parked_for_ms: 200 },
};
const past = { since: 400, releaseRoute: null, losses: { failed: 2 } };

function describeOne(
  one: UpstreamBackend,
  { stats = well, source = 'flags' as 'flags' | null, now = 1000 } = {},
): ReturnType<typeof describeBackend> {
  return describeBackend(one, stats, past, source, now);
}

test('ADM-01: a backend that is up has every field of its row', () => {
  expect(describeOne(backend())).toEqual({
    name: 'b1',
    group: 'b1',
    address: '10.0.0.7:50051',
    target: 'ipv4:10.0.0.7:50051',
    source: 'flags',
    state: 'ready',
    why: null,
    since_ms: 600,
    in_flight: 2,
    queued: 0,
    calls: 0,
    successes: 0,
    failures: 0,
    timeouts: 0,
    rate_limited: 0,
    failure_rate: 0,
    consecutive_failures: 0,
    consecutive_hard_failures: 0,
    threshold_breached: false,
    parked_for_ms: 0,
    park_reason: null,
    park_streak: 0,
    rate_limited_for_ms: 0,
    recent_failure: false,
    standing: 'clean',
    ewma_ms: null,
    samples: 0,
    release_route: null,
    losses: { failed: 2 },
    connections: 1,
    generation: 3,
    weight: 1,
    priority: 0,
    max_calls: null,
    last_error: null,
    next_connect_in_ms: null,
  });
});

test('ADM-01: what the health of a backend comes to is in its row', () => {
  const health = createHealth(defaultHealth).of(backendId('b1'));
  for (let n = 0; n < 3; n += 1) health.ended(health.began(0), { kind: 'failure', cause: 'status' }, 0, 1);
  expect(describeOne(backend(), { stats: health.stats(1000) })).toMatchObject({
    calls: 3,
    failures: 3,
    consecutive_failures: 3,
    failure_rate: 0.271,
    threshold_breached: true,
    park_reason: 'consecutive_failures',
    park_streak: 1,
    parked_for_ms: 29_000,
    recent_failure: true,
  });
});

test('one that is down tells why and when it is tried again', () => {
  expect(describeOne(down)).toMatchObject({
    state: 'down',
    why: 'backend b2 (10.0.0.7:50051): connection refused',
    last_error: 'backend b2 (10.0.0.7:50051): connection refused',
    next_connect_in_ms: 250,
  });
  expect(describeOne(down, { now: 2000 })).toMatchObject({ next_connect_in_ms: 0 });
});

test.each([
  ['ready', 1, 'ready'],
  ['full', 1, 'ready'],
  ['backoff', 1, 'ready'],
  ['full', 0, 'connecting'],
  ['idle', 0, 'connecting'],
  ['connecting', 0, 'connecting'],
  ['backoff', 0, 'down'],
] as const)('link %s with %i connections is %s', (link, connections, state) => {
  expect(describeOne(backend({ link, connections })).state).toBe(state);
});

describe('ADM-02: of several states the one that keeps most calls away is told', () => {
  const limited: HealthStats = { ...well, standing: 'rate_limited', park_reason: 'rate_limited' };
  const broken = { connections: 0, link: 'backoff' } as const;
  it.each([
    ['draining', { ...broken, phase: 'leaving' } as const, parked],
    ['draining', { ...broken, phase: 'left' } as const, parked],
    ['down', broken, parked],
    ['connecting', { connections: 0, link: 'connecting' } as const, parked],
    ['parked', {}, parked],
    ['rate_limited', {}, limited],
    ['ready', {}, { ...well, standing: 'breached' } as const],
  ])('%s', (state, rest, stats) => {
    expect(describeOne(backend(rest), { stats }).state).toBe(state);
  });
});

describe('ADM-03: a row says why', () => {
  it.each([
    ['parked', { standing: 'parked', park_reason: 'operator' }, 'parked by hand'],
    ['parked', parked, '3 attempts in a row failed there'],
    ['parked', { standing: 'parked', park_reason: 'not_serving' }, 'its health check says that it does not serve'],
    ['rate_limited', { standing: 'rate_limited', park_reason: 'rate_limited' }, 'it asked for patience'],
    ['ready', { standing: 'lapsed' }, 'its park is over: one call will probe it'],
    ['ready', { standing: 'probing' }, 'its park is over: one call probes it'],
    ['ready', { standing: 'recent' }, 'an attempt failed there a short while ago: retries and hedges prefer others'],
    [
      'ready',
      { standing: 'breached' },
      'too many attempts in a row failed there: calls that have another backend go there',
    ],
  ] as const)('%s: %j', (state, stats, why) => {
    expect(describeOne(backend(), { stats: { ...well, ...stats } })).toMatchObject({ state, why });
  });

  it.each([
    ['leaving', 'flags', 'drained by hand, until it is unparked; its calls finish'],
    ['left', 'flags', 'drained by hand, until it is unparked; its calls have ended'],
    ['leaving', null, 'no source names it any more; its calls finish'],
  ] as const)('draining: %s, source %s', (phase, source, why) => {
    expect(describeOne(backend({ phase }), { source })).toMatchObject({ state: 'draining', source, why });
  });

  it('a connection that is not up yet', () => {
    const one = backend({ connections: 0, link: 'connecting' });
    expect(describeOne(one).why).toBe('it has not been connected to yet');
    expect(describeOne({ ...one, lastError: 'backend b1: lost' }).why).toBe('backend b1: lost');
    expect(describeOne({ ...one, link: 'backoff' }).why).toBe('it cannot be connected to');
  });
});

test('a group’s member has a name of its own and the group’s', () => {
  expect(describeOne(member('b', '10.0.0.7:1'))).toMatchObject({ name: 'b/10.0.0.7:1', group: 'b' });
});

test.each([
  [{ kind: 'tcp', host: '2001:db8::7', port: 1 } as const, '[2001:db8::7]:1'],
  [{ kind: 'unix', path: '/run/b.sock' } as const, 'unix:/run/b.sock'],
])('addresses are written as they are given on the command line', (endpoint, address) => {
  expect(describeOne(backend({ endpoint })).address).toBe(address);
});
