import { describe, expect, it } from 'vitest';
import {
  type BackendEntry,
  backendsOf,
  diffBackends,
  mergeSources,
  type Whereabouts,
} from '../../../src/upstream/backend-set.js';
import type { Endpoint } from '../../../src/upstream/types.js';

const tcp = (host: string, port = 1): Endpoint => ({ kind: 'tcp', host, port });

function entry(name: string, where: Whereabouts, options: Partial<BackendEntry> = {}): BackendEntry {
  return { name, target: 'as written', where, weight: 1, priority: 0, maxCalls: null, ...options };
}

const one = (name: string, endpoint = tcp('10.0.0.1')): BackendEntry => entry(name, { kind: 'one', endpoint });
const orders: Whereabouts = { kind: 'name', host: 'orders.test.', port: 50051, authority: null };

describe('mergeSources', () => {
  it('FND-12: the first source that has a name keeps it, and the others hear of it', () => {
    const merged = mergeSources([
      { name: '--backend', entries: [one('a')] },
      { name: 'f.json', entries: [one('b'), one('a')] },
      { name: 'registry', entries: [one('a'), one('c')] },
    ]);
    expect(merged.entries.map(({ source, entry: { name } }) => `${source} ${name}`)).toEqual([
      '--backend a',
      'f.json b',
      'registry c',
    ]);
    expect(merged.clashes).toEqual([
      { name: 'a', kept: '--backend', dropped: 'f.json' },
      { name: 'a', kept: '--backend', dropped: 'registry' },
    ]);
  });
});

describe('backendsOf', () => {
  it.each([tcp('10.0.0.1', 50051), { kind: 'unix', path: '/run/b.sock' }] as const)(
    'FND-01: an address is one backend, with its name for an id: %j',
    (endpoint) => {
      const options = { weight: 3, priority: 2, maxCalls: 7 };
      const [backend, ...others] = backendsOf(entry('b1', { kind: 'one', endpoint }, options), []);
      expect(others).toEqual([]);
      const told = { id: 'b1', name: 'b1', target: 'as written', endpoint, host: null, authority: null };
      expect(backend).toEqual({ ...told, ...options });
    },
  );

  it('FND-01: a list is a group of its members', () => {
    const where: Whereabouts = { kind: 'list', endpoints: [tcp('10.0.0.1'), tcp('2001:DB8::7', 2)] };
    const found = backendsOf(entry('g', where, { weight: 3 }), []);
    expect(found.map(({ id, name, weight }) => ({ id, name, weight }))).toEqual([
      { id: 'g/10.0.0.1:1', name: 'g', weight: 3 },
      { id: 'g/[2001:db8::7]:2', name: 'g', weight: 3 },
    ]);
  });

  it('FND-02: a name is a group of whatever it leads to: of nobody, of one, of many', () => {
    for (const hosts of [[], ['10.0.0.1'], ['10.0.0.1', '::1']]) {
      const found = backendsOf(
        entry('g', orders),
        hosts.map((host) => tcp(host, 50051)),
      );
      expect(found.map(({ id }) => id)).toEqual(['g/10.0.0.1:50051', 'g/[::1]:50051'].slice(0, hosts.length));
      for (const { host, authority } of found) {
        expect({ host, authority }).toEqual({ host: 'orders.test', authority: 'orders.test:50051' });
      }
    }
  });
});

describe('diffBackends', () => {
  const before = [one('a'), one('b'), one('c')].flatMap((each) => backendsOf(each, []));

  it('tells who came, who went and who is another', () => {
    const after = [one('d'), one('c', tcp('10.0.0.9')), one('a')].flatMap((each) => backendsOf(each, []));
    expect(diffBackends(before, after)).toEqual({ added: ['d'], removed: ['b'], changed: ['c'] });
  });

  it('order counts for nothing', () => {
    expect(diffBackends(before, before.toReversed())).toEqual({ added: [], removed: [], changed: [] });
  });

  it.each([{ weight: 2 }, { priority: 1 }, { maxCalls: 5 }, { target: 'written otherwise' }])(
    'another option is a change: %j',
    (option) => {
      const after = backendsOf({ ...one('a'), ...option }, []);
      expect(diffBackends(before.slice(0, 1), after).changed).toEqual(['a']);
    },
  );
});
