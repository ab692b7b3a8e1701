import { describe, expect, it } from 'vitest';
import { backendId } from '../../../src/grpc/backend-id.js';
import { Scene } from './fake-link.js';
import { drainTimeout, Pool, spec } from './set-rig.js';

describe('a set that changes', () => {
  it('POOL-01: what is new is connected and used at once, and the array is another one', () => {
    const set = new Pool([spec('a')]);
    const before = set.pool.backends;
    set.pool.apply([spec('a'), spec('b')]);
    expect(set.pool.backends).not.toBe(before);
    expect(set.names).toBe('a b');
    set.link('b').settings();
    expect(set.backend('b').link).toBe('ready');
    expect(set.links.length).toBe(2);
  });

  it('POOL-01: the order is that of the specs, whatever was there before', () => {
    const set = new Pool([spec('a'), spec('b')]);
    const b = set.backend('b');
    set.pool.apply([spec('c'), spec('b'), spec('a')]);
    expect(set.names).toBe('c b a');
    expect(set.backend('b')).toBe(b);
  });

  it('POOL-02: what is missing is picked no more, its calls go on, and it is gone when the last has ended', () => {
    const set = new Pool([spec('a'), spec('b')]);
    const caller = set.call('b');
    set.pool.apply([spec('a')]);
    expect(set.names).toBe('a b');
    expect(set.backend('b')).toMatchObject({ phase: 'leaving', link: 'backoff', connections: 1 });
    set.time.advance(drainTimeout - 1);
    expect(caller.heard).toEqual(['opened']);
    set.finish(caller);
    expect(set.link('b').asked).toEqual(['end']);
    set.link('b').close('closed');
    expect(set.names).toBe('a');
    expect(set.pool.get(backendId('b'))).toBeUndefined();
    set.time.runOut();
    expect(set.links.length).toBe(2);
    expect(set.time.alarms.pending).toBe(0);
  });

  it('POOL-02: one without calls is gone at once', () => {
    const set = new Pool([spec('a'), spec('b')]);
    set.pool.apply([spec('a')]);
    set.link('b').close('closed');
    expect(set.names).toBe('a');
  });

  it('POOL-03: calls that are left after the drain timeout are ended, and know that it is over', () => {
    const set = new Pool([spec('a'), spec('b')]);
    const caller = set.call('b');
    const b = set.backend('b');
    set.pool.apply([spec('a')]);
    set.time.advance(drainTimeout);
    expect(caller.heard).toEqual(['opened', 'end: lost']);
    expect(b.overdue).toBe(true);
    set.link('b').close('closed');
    expect(set.names).toBe('a');
  });

  it('POOL-04: those who wait at one that leaves are told, and go elsewhere', () => {
    const set = new Pool([spec('a')]);
    set.pool.apply([spec('a'), spec('b')]);
    const waiting = set.call('b');
    set.pool.apply([spec('a')]);
    expect(waiting.heard[0]).toMatch(/^failed: closed: /);
    expect(set.names).toBe('a b');
    set.link('b').close('closed');
    expect(set.names).toBe('a');
  });

  it('POOL-05: a session may still go to one that leaves, while a connection of it is up', () => {
    const set = new Pool([spec('a'), spec('b')]);
    set.call('b');
    set.pool.apply([spec('a')]);
    const late = set.call('b');
    expect(late.heard).toEqual(['opened']);
    set.link('b').lose('lost');
    expect(set.names).toBe('a');
    expect(set.pool.get(backendId('b'))).toBeUndefined();
  });

  it('POOL-06: one that comes back while it leaves goes on as it is', () => {
    const set = new Pool([spec('a'), spec('b')]);
    const caller = set.call('b');
    set.pool.apply([spec('a')]);
    set.pool.apply([spec('a'), spec('b')]);
    expect(set.backend('b')).toMatchObject({ phase: 'serving', link: 'ready', generation: 1 });
    set.time.advance(drainTimeout);
    expect(caller.heard).toEqual(['opened']);
    set.finish(caller);
    expect(set.backend('b').link).toBe('ready');
  });

  it('POOL-06: one that comes back after it left is a new generation', () => {
    const set = new Pool([spec('a'), spec('b')]);
    set.pool.apply([spec('a')]);
    set.link('b').close('closed');
    set.pool.apply([spec('a'), spec('b')]);
    set.link('b').settings();
    expect(set.backend('b').generation).toBe(2);
  });

  it('POOL-07: another address is another backend of the same name, and the old one’s calls go on', () => {
    const set = new Pool([spec('a')]);
    const caller = set.call('a');
    const old = set.link('a');
    const moved = spec('a', { endpoint: { kind: 'tcp', host: '127.0.0.1', port: 1000 + 'z'.charCodeAt(0) } });
    set.pool.apply([moved]);
    set.link('z').settings();
    expect(set.backend('a')).toMatchObject({ generation: 2, link: 'ready' });
    expect(set.names).toBe('a');
    expect(caller.heard).toEqual(['opened']);
    set.finish(caller);
    expect(old.asked).toEqual(['end']);
    old.close('closed');
    expect(set.names).toBe('a');
    expect(set.backend('a').link).toBe('ready');
  });

  it('POOL-08: weight, priority and max-calls change in place', () => {
    const set = new Pool([spec('a', { maxCalls: 1 })]);
    const caller = set.call('a');
    expect(set.backend('a').link).toBe('full');
    let told = 0;
    expect(set.pool.onceRoom(() => (told += 1))).toBe(true);
    set.pool.apply([spec('a', { maxCalls: 2, weight: 7, priority: 3 })]);
    set.time.endTurn();
    expect(told).toBe(1);
    expect(set.backend('a')).toMatchObject({ link: 'ready', weight: 7, priority: 3, maxCalls: 2 });
    expect(caller.heard).toEqual(['opened']);
    expect(set.links.length).toBe(1);
  });

  it('POOL-09: at its max-calls a backend is full, and whoever waits for room hears when a call there ends', () => {
    const set = new Pool([spec('a', { maxCalls: 1 })]);
    const caller = set.call('a');
    expect(set.backend('a').link).toBe('full');
    let told = 0;
    set.pool.onceRoom(() => (told += 1));
    set.finish(caller);
    set.time.endTurn();
    expect(told).toBe(1);
    expect(set.backend('a').link).toBe('ready');
  });

  it('stop ends what leaves and what serves, also one that was drained before', async () => {
    const set = new Pool([spec('a'), spec('b'), spec('c')]);
    set.call('b');
    set.pool.apply([spec('a'), spec('c')]);
    set.pool.drain(backendId('c'));
    set.link('c').close('closed');
    let over = false;
    const stopped = set.pool.stop(100).then(() => {
      over = true;
    });
    set.link('a').close('closed');
    await Promise.resolve();
    expect(over).toBe(false);
    set.time.advance(100);
    await stopped;
    set.pool.apply([spec('z')]);
    expect(set.links.length).toBe(3);
  });
});

describe('drain, resume and loss by hand', () => {
  it('POOL-10: a drained backend stays in the set, and is connected to again when the drain is taken back', () => {
    const set = new Pool([spec('a'), spec('b')]);
    expect(set.pool.drain(backendId('b'))).toBe(true);
    set.link('b').close('closed');
    expect(set.names).toBe('a b');
    expect(set.backend('b')).toMatchObject({ phase: 'left', link: 'backoff' });
    expect(set.pool.resume(backendId('b'))).toBe(true);
    set.link('b').settings();
    expect(set.backend('b')).toMatchObject({ phase: 'serving', link: 'ready', generation: 2 });
    expect(set.pool.drain(backendId('z'))).toBe(false);
    expect(set.pool.resume(backendId('z'))).toBe(false);
  });

  it('POOL-10: one that is taken back while its old sockets close goes on when they have', () => {
    const set = new Pool([spec('a')]);
    const old = set.link('a');
    set.pool.drain(backendId('a'));
    expect(old.asked).toEqual(['end']);
    set.pool.resume(backendId('a'));
    set.link('a').settings();
    expect(set.link('a')).not.toBe(old);
    old.close('closed late');
    expect(set.backend('a')).toMatchObject({ phase: 'serving', link: 'ready', downSince: null });
    expect(set.pool.drain(backendId('a'))).toBe(true);
    expect(set.backend('a').phase).toBe('leaving');
  });

  it('POOL-06: the same of one that was removed and comes back', () => {
    const set = new Pool([spec('a'), spec('b')]);
    const old = set.link('b');
    set.pool.apply([spec('a')]);
    set.pool.apply([spec('a'), spec('b')]);
    set.link('b').settings();
    old.close('closed late');
    expect(set.backend('b')).toMatchObject({ phase: 'serving', link: 'ready' });
    expect(set.names).toBe('a b');
  });

  it('POOL-10: a drain that is taken back in time ends nothing', () => {
    const set = new Pool([spec('a')]);
    const caller = set.call('a');
    set.pool.drain(backendId('a'));
    set.pool.resume(backendId('a'));
    set.time.advance(drainTimeout);
    expect(caller.heard).toEqual(['opened']);
    expect(set.backend('a')).toMatchObject({ phase: 'serving', overdue: false, link: 'ready' });
  });

  it('POOL-10: what was drained before it is removed is gone at once', () => {
    const set = new Pool([spec('a'), spec('b')]);
    set.pool.drain(backendId('b'));
    set.link('b').close('closed');
    set.pool.apply([spec('a')]);
    expect(set.names).toBe('a');
  });

  it('POOL-11: a backend that is declared lost ends its streams in the same turn, and is connected to anew', () => {
    const set = new Pool([spec('a')]);
    const caller = set.call('a');
    const other = set.call('a');
    expect(set.pool.lose(backendId('a'), 'declared lost')).toBe(true);
    expect([caller.heard, other.heard]).toEqual([
      ['opened', 'end: lost'],
      ['opened', 'end: lost'],
    ]);
    expect(set.changes.at(-1)).toMatchObject({ event: 'lost', generation: 1 });
    expect(set.changes.at(-1)?.detail).toContain('declared lost');
    set.time.advance(1000);
    set.link('a').settings();
    expect(set.backend('a')).toMatchObject({ generation: 2, link: 'ready' });
    expect(set.pool.lose(backendId('z'), 'x')).toBe(false);
  });

  it('POOL-12: since when a backend is down is known, from its start and from each loss of its last connection', () => {
    const scene = new Scene();
    expect(scene.backend.downSince).toBe(scene.time.clock.now());
    scene.backend.start();
    scene.link(0).settings();
    expect(scene.backend.downSince).toBeNull();
    scene.time.advance(50);
    const at = scene.time.clock.now();
    scene.link(0).lose('lost');
    scene.time.advance(50);
    expect(scene.backend.downSince).toBe(at);
  });
});
