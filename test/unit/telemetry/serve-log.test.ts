import { expect, test } from 'vitest';
import { backendId } from '../../../src/grpc/backend-id.js';
import { createAccessLog } from '../../../src/telemetry/access-log.js';
import { createRunLog, type RunLog } from '../../../src/telemetry/serve-log.js';
import type { BackendChange } from '../../../src/upstream/types.js';
import { Lines, lineLogger } from './lines.js';

function logged(act: (log: RunLog) => void): Record<string, unknown> {
  const lines = new Lines();
  const logger = lineLogger({ level: 'info', pretty: null, destination: lines });
  act(createRunLog(logger, createAccessLog(logger, 'all'), () => 0));
  const [line, ...more] = lines.objects;
  expect(more).toEqual([]);
  return line ?? {};
}

const change: BackendChange = {
  id: backendId('b1'),
  name: 'b1',
  address: '127.0.0.1:5000',
  event: 'lost',
  generation: 2,
  detail: 'backend b1 (127.0.0.1:5000): 100% of it is gone %s',
  retryIn: 250,
};

test.each([
  ['connected', 30],
  ['draining', 30],
  ['closed', 30],
  ['lost', 40],
  ['connect_failed', 40],
] as const)('D24: %s is logged at level %i', (event, level) => {
  expect(logged((log) => log.onBackendChange({ ...change, event }))).toEqual({
    level,
    time: expect.any(Number),
    backend: 'b1',
    address: '127.0.0.1:5000',
    event,
    generation: 2,
    retry_in_ms: 250,
    msg: change.detail,
  });
});

test('what a backend said in a GOAWAY cannot steer the terminal', () => {
  const line = logged((log) =>
    log.onBackendChange({ ...change, detail: 'GOAWAY (\u001b]0;title\u0007)', retryIn: null }),
  );
  expect(line['msg']).toBe('GOAWAY (\\u{1b}]0;title\\u{7})');
  expect(Object.keys(line)).not.toContain('retry_in_ms');
});

test('a client that was turned away is a warning with its address', () => {
  const line = logged((log) => log.onClientRefused('10.0.0.1:99', 'spoke HTTP/1.x\n'));
  expect(line).toMatchObject({ level: 40, peer: '10.0.0.1:99', msg: 'client refused: spoke HTTP/1.x\\u{a}' });
});

test('a defect is an error with its call and its stack', () => {
  const line = logged((log) => log.onDefect(new TypeError('x is not y'), 'ab-3'));
  expect(line).toMatchObject({ level: 50, call: 'ab-3', err: { type: 'TypeError', message: 'x is not y' } });
  expect(line).toHaveProperty('err.stack');
});

test('the ready line has a control address, null where it is off', () => {
  const facts = {
    listen: [],
    admin: null,
    control: null,
    backends: 1,
    config: { path: null, version: 'v', methods: 0 },
  };
  expect(logged((log) => log.ready(facts))).toMatchObject({ msg: 'ready', ...facts });
});

test('notes and warnings are plain lines', () => {
  expect(logged((log) => log.info('drained'))).toMatchObject({ level: 30, msg: 'drained' });
  expect(logged((log) => log.warn('an odd setting'))).toMatchObject({ level: 40, msg: 'an odd setting' });
});

test('a line may bring fields of its own', () => {
  const line = logged((log) => log.tell('warn', { rejected: 'ab' }, 'service config rejected'));
  expect(line).toEqual({ level: 40, time: expect.any(Number), rejected: 'ab', msg: 'service config rejected' });
  expect(logged((log) => log.tell('info', {}, 'unchanged'))).toMatchObject({ level: 30, msg: 'unchanged' });
});
