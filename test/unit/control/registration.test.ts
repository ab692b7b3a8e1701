import { describe, expect, it } from 'vitest';
import { readRegistration, readUpdate } from '../../../src/control/registration.js';
import type { RegistrationFields } from '../../../src/control/types.js';
import { b1 } from './scripted-registry.js';

function problemOf(fields: Partial<RegistrationFields>): string {
  const read = readRegistration({ ...b1, ...fields }, 7);
  return read.ok ? `no problem: ${JSON.stringify(read.value)}` : read.problem;
}

describe('a registration', () => {
  it('REG-01: what is not said has its default', () => {
    expect(readRegistration(b1, 7)).toEqual({
      ok: true,
      value: {
        name: 'b1',
        target: '10.0.0.7:50051',
        endpoint: { kind: 'tcp', host: '10.0.0.7', port: 50_051 },
        weight: 1,
        priority: 0,
        maxCalls: null,
        generation: 7,
      },
    });
  });

  it.each([
    ['[::1]:1', { kind: 'tcp', host: '::1', port: 1 }],
    ['ipv4:10.0.0.7:65535', { kind: 'tcp', host: '10.0.0.7', port: 65_535 }],
    ['ipv6:[2001:db8::1]:80', { kind: 'tcp', host: '2001:db8::1', port: 80 }],
    ['unix:/run/b.sock', { kind: 'unix', path: '/run/b.sock' }],
    ['unix:///run/b.sock', { kind: 'unix', path: '/run/b.sock' }],
  ])('REG-01: the target %s', (target, endpoint) => {
    expect(readRegistration({ ...b1, target }, 1)).toMatchObject({ ok: true, value: { target, endpoint } });
  });

  it.each(['a', '0', 'a.b_c-d', 'x'.repeat(256)])('REG-14: the name %s is one', (name) => {
    expect(readRegistration({ ...b1, name }, 1)).toMatchObject({ ok: true, value: { name } });
  });

  it.each(['', 'B1', '-a', '.a', 'a b', 'a/b', 'a\n', 'ü', 'x'.repeat(257)])('REG-14: the name %j is none', (name) => {
    expect(problemOf({ name })).toMatch(/^name ".*" is not a backend name: a-z, 0-9/);
  });

  it.each([
    ['', 'target: missing; write IP:PORT, '],
    ['10.0.0.7', 'target: "10.0.0.7" is not an address with a port; '],
    ['::1', 'target: "::1" is not an address with a port; '],
    ['db.example:80', 'target: "db.example" is not an IP address; '],
    ['dns:///db.example:80', 'target: "dns:///db.example:80" is not an address with a port; '],
    ['10.0.0.7:1,10.0.0.8:1', 'target: "10.0.0.7:1,10.0.0.8:1" is not an address with a port; '],
    ['ipv6:10.0.0.7:1', 'target: "10.0.0.7" is not an IPv6 address'],
    ['ipv4:[::1]:1', 'target: "::1" is not an IPv4 address'],
    ['0.0.0.0:1', 'target: "0.0.0.0" is no address to connect to; '],
    ['[::]:1', 'target: "::" is no address to connect to; '],
    ['10.0.0.7:0', 'target: port "0" is not a number from 1 to 65535'],
    ['10.0.0.7:65536', 'target: port "65536" is not a number from 1 to 65535'],
    ['unix:', 'target: no path; '],
    ['unix:b.sock', 'target: "unix:b.sock" is a relative path; write unix:/PATH'],
    [`unix:/${'x'.repeat(107)}`, 'target: the socket path is longer than 107 bytes'],
  ])('REG-14: the target %j is none', (target, problem) => {
    expect(problemOf({ target }).slice(0, problem.length)).toBe(problem);
  });

  it('REG-14: numbers at their ends are in order, beyond them not', () => {
    expect(problemOf({ weight: 1000, priority: 9, maxCalls: 1_000_000 })).toMatch(/^no problem: /);
    expect(problemOf({ weight: 1001 })).toBe('weight must be from 1 to 1000; got 1001');
    expect(problemOf({ priority: 10 })).toBe('priority must be from 0 to 9; got 10');
    expect(problemOf({ maxCalls: 1_000_001 })).toBe(
      'max_calls must be at most 1000000, or 0 for no limit; got 1000001',
    );
  });
});

describe('an update', () => {
  const read = readRegistration({ ...b1, weight: 3, priority: 2, maxCalls: 40 }, 7);
  if (!read.ok) throw new Error(read.problem);
  const backend = read.value;

  it('REG-18: what is absent stays', () => {
    expect(readUpdate(backend, {})).toEqual({ ok: true, value: backend });
    expect(readUpdate(backend, { weight: 1, priority: 0, maxCalls: 1 })).toEqual({
      ok: true,
      value: { ...backend, weight: 1, priority: 0, maxCalls: 1 },
    });
    expect(readUpdate(backend, { maxCalls: 0 })).toMatchObject({ value: { maxCalls: null } });
  });

  it('REG-19: a weight of 0 is none: nobody says by it what a default is', () => {
    expect(readUpdate(backend, { weight: 0 })).toEqual({ ok: false, problem: 'weight must be from 1 to 1000; got 0' });
  });
});
