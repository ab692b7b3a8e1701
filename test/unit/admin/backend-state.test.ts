import { expect, test } from 'vitest';
import { describeBackend } from '../../../src/admin/backend-state.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import { backend, down } from './backends.js';

test('a backend that is up has every field of its row', () => {
  expect(describeBackend(backend(), 1000)).toEqual({
    name: 'b1',
    group: 'b1',
    address: '10.0.0.7:50051',
    target: 'ipv4:10.0.0.7:50051',
    state: 'ready',
    in_flight: 2,
    queued: 0,
    connections: 1,
    generation: 3,
    last_error: null,
    next_connect_in_ms: null,
  });
});

test('one that is down tells why and when it is tried again', () => {
  expect(describeBackend(down, 1000)).toMatchObject({
    state: 'down',
    last_error: 'backend b2 (10.0.0.7:50051): connection refused',
    next_connect_in_ms: 250,
  });
  expect(describeBackend(down, 2000)).toMatchObject({ next_connect_in_ms: 0 });
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
  expect(describeBackend(backend({ link, connections }), 0).state).toBe(state);
});

test('a group’s member has a name of its own and the group’s', () => {
  const member = backend({ id: backendId('b/10.0.0.7:1'), name: 'b' });
  expect(describeBackend(member, 0)).toMatchObject({ name: 'b/10.0.0.7:1', group: 'b' });
});

test.each([
  [{ kind: 'tcp', host: '2001:db8::7', port: 1 } as const, '[2001:db8::7]:1'],
  [{ kind: 'unix', path: '/run/b.sock' } as const, 'unix:/run/b.sock'],
])('addresses are written as they are given on the command line', (endpoint, address) => {
  expect(describeBackend(backend({ endpoint }), 0).address).toBe(address);
});
