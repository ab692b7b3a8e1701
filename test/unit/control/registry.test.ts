import { describe, expect, it } from 'vitest';
import type { RegistryMessage } from '../../../src/control/types.js';
import { b1, ScriptedRegistry } from './scripted-registry.js';

const again: RegistryMessage = { kind: 'registration', fields: b1 };
const heartbeat: RegistryMessage = { kind: 'heartbeat' };
const leaving: RegistryMessage = { kind: 'leaving' };
const malformed: RegistryMessage = { kind: 'malformed', problem: 'nonsense' };
const unknown: RegistryMessage = { kind: 'unknown' };

describe('a registration', () => {
  it('REG-01: the backend is put, then told its generation', () => {
    const registry = new ScriptedRegistry();
    expect(registry.register(1)).toEqual(['put b1 1 new', '1 registered 1']);
    expect(registry.register(2, { name: 'b2' })).toEqual(['put b2 2 new', '2 registered 2']);
    expect(registry.size).toBe(2);
    expect(registry.wakeIn).toBeNull();
  });

  it('REG-13: who comes back after a loss or a leave is of a new generation', () => {
    const registry = new ScriptedRegistry();
    registry.register(1);
    registry.break(1);
    expect(registry.register(2)).toEqual(['put b1 2 new', '2 registered 2']);
    registry.finish(2);
    expect(registry.register(3)).toEqual(['put b1 3 new', '3 registered 3']);
  });

  it('a refused one uses no generation up', () => {
    const registry = new ScriptedRegistry();
    registry.register(1, { name: '-' });
    expect(registry.register(2)).toEqual(['put b1 1 new', '2 registered 1']);
  });

  it('REG-16: a name that another source has: ALREADY_EXISTS, with the source', () => {
    const registry = new ScriptedRegistry();
    registry.reserved.set('b1', 'the endpoints file e.json');
    expect(registry.register(1)).toEqual([
      '1 ends 6 backend b1 is named by the endpoints file e.json; register under another name',
    ]);
    expect(registry.size).toBe(0);
  });

  it('REG-17: a target that is a listener of ours: FAILED_PRECONDITION, with the listener', () => {
    const registry = new ScriptedRegistry();
    registry.listeners.add(50_051);
    expect(registry.register(1)).toEqual([
      '1 ends 9 target 10.0.0.7:50051 is --listen 10.0.0.7:50051 of this hedgerow: calls would go round for ever',
    ]);
  });

  it('REG-17: a refused takeover leaves the registration that there is', () => {
    const registry = new ScriptedRegistry();
    registry.register(1);
    registry.listeners.add(9);
    expect(registry.register(2, { target: '10.0.0.7:9' })).toEqual([expect.stringMatching(/^2 ends 9 /)]);
    expect(registry.break(1)).toEqual(['lose b1 1: its registration stream broke']);
  });

  it('REG-24: while draining a new name is refused UNAVAILABLE, one that is registered may come back and update', () => {
    const registry = new ScriptedRegistry();
    registry.register(1);
    registry.draining = true;
    expect(registry.register(2, { name: 'b2' })).toEqual(['2 ends 14 hedgerow is draining and takes no new backends']);
    expect(registry.register(3)).toEqual([
      '1 ends 10 a newer stream has registered b1; do not register again',
      'put b1 2 over 1',
      '3 registered 2',
    ]);
    expect(registry.send(3, { kind: 'update', fields: { weight: 2 } })).toEqual(['put b1 2 over 2', '3 updated']);
  });

  it('REG-23: as many as may be, and one more: RESOURCE_EXHAUSTED, until one goes; a takeover is no more', () => {
    const registry = new ScriptedRegistry({ maxRegistrations: 2 });
    registry.register(1, { name: 'a' });
    registry.register(2, { name: 'b' });
    const full = '3 ends 8 2 backends are registered, which is as many as may be';
    expect(registry.register(3, { name: 'c' })).toEqual([full]);
    expect(registry.register(4, { name: 'b' })).toContain('put b 3 over 2');
    registry.finish(1);
    expect(registry.register(5, { name: 'c' })).toEqual(['put c 4 new', '5 registered 4']);
  });

  it('REG-23: as many streams as may be, and one more: RESOURCE_EXHAUSTED, and what it says is not heard', () => {
    const registry = new ScriptedRegistry({ maxStreams: 1 });
    expect(registry.open(1)).toEqual([]);
    expect(registry.open(2)).toEqual(['2 ends 8 1 streams are open, which is as many as may be']);
    expect(registry.send(2, again)).toEqual([]);
    expect(registry.break(2)).toEqual([]);
    registry.break(1);
    expect(registry.open(3)).toEqual([]);
  });
});

describe('a stream that has not registered', () => {
  it('REG-22: ends DEADLINE_EXCEEDED when its time is over, no sooner', () => {
    const registry = new ScriptedRegistry();
    registry.open(1);
    expect(registry.wakeIn).toBe(10_000);
    expect(registry.wake(4000)).toEqual([]);
    registry.open(2);
    expect(registry.wakeIn).toBe(6000);
    expect(registry.wake(5999)).toEqual([]);
    expect(registry.wake(1)).toEqual(['1 ends 4 no registration came within 10000 ms']);
    expect(registry.wakeIn).toBe(4000);
    registry.send(2, again);
    expect(registry.wakeIn).toBeNull();
  });

  it.each([heartbeat, leaving, unknown, { kind: 'update', fields: {} } as const])(
    'REG-22: begins with $kind: INVALID_ARGUMENT',
    (message) => {
      const registry = new ScriptedRegistry();
      registry.open(1);
      expect(registry.send(1, message)).toEqual(['1 ends 3 the first message of a stream must be a registration']);
      expect(registry.wakeIn).toBeNull();
      expect(registry.send(1, again)).toEqual([]);
    },
  );

  it('REG-20, REG-22: begins with what is no message, or half-closes: INVALID_ARGUMENT; breaks: nothing', () => {
    const registry = new ScriptedRegistry();
    for (const stream of [1, 2, 3]) registry.open(stream);
    expect(registry.send(1, malformed)).toEqual(['1 ends 3 nonsense']);
    expect(registry.finish(2)).toEqual(['2 ends 3 the stream ended without a registration']);
    expect(registry.break(3)).toEqual([]);
    expect(registry.wakeIn).toBeNull();
  });
});

describe('the end of a stream', () => {
  it('REG-02: half-closed: the backend leaves at once, and a little later the stream ends OK', () => {
    const registry = new ScriptedRegistry();
    registry.register(1, { heartbeats: true });
    expect(registry.finish(1)).toEqual(['drain b1 1: it ended its registration']);
    expect([registry.size, registry.wakeIn]).toEqual([0, 100]);
    expect(registry.finish(1)).toEqual([]);
    expect(registry.send(1, again)).toEqual([]);
    expect(registry.wake(99)).toEqual([]);
    expect(registry.wake(1)).toEqual(['1 ends 0 ']);
    expect(registry.wakeIn).toBeNull();
    expect(registry.break(1)).toEqual([]);
  });

  it('REG-09: half-closed, then hung up: it has left', () => {
    const registry = new ScriptedRegistry();
    registry.register(1);
    registry.finish(1);
    expect(registry.break(1, 'connection')).toEqual([]);
    expect(registry.wakeIn).toBeNull();
  });

  it('REG-10: half-closed, then reset before the status: it is lost, unless it is back already', () => {
    const registry = new ScriptedRegistry();
    registry.register(1);
    registry.finish(1);
    expect(registry.break(1)).toEqual(['lose b1 1: its registration stream broke']);
    expect(registry.wakeIn).toBeNull();
    registry.register(2);
    registry.finish(2);
    expect(registry.register(3)).toEqual(['put b1 3 new', '3 registered 3']);
    expect(registry.break(2)).toEqual([]);
    expect(registry.size).toBe(1);
  });

  it.each([
    ['REG-04', 'reset'],
    ['REG-06', 'connection'],
  ] as const)('%s: broken by a %s: the backend is lost, once', (_, by) => {
    const registry = new ScriptedRegistry();
    registry.register(1);
    expect(registry.break(1, by)).toEqual(['lose b1 1: its registration stream broke']);
    expect(registry.size).toBe(0);
    expect(registry.break(1, by)).toEqual([]);
  });

  it.each(['finished', 'reset', 'connection'] as const)(
    'REG-03: after `leaving`, %s: no loss, and no second leave',
    (how) => {
      const registry = new ScriptedRegistry();
      registry.register(1, { heartbeats: true });
      expect(registry.send(1, leaving)).toEqual(['drain b1 1: it said that it is leaving', '1 left']);
      expect(registry.size).toBe(0);
      expect(registry.wakeIn).toBe(10_000);
      expect(registry.send(1, leaving)).toEqual([]);
      expect(registry.send(1, heartbeat)).toEqual([]);
      expect(how === 'finished' ? registry.finish(1) : registry.break(1, how)).toEqual(
        how === 'finished' ? ['1 ends 0 '] : [],
      );
      expect(registry.wakeIn).toBeNull();
    },
  );

  it('REG-03: a stream that stays open after `leaving` ends OK in 10 s, and its place is free', () => {
    const registry = new ScriptedRegistry({ maxStreams: 1 });
    registry.register(1, { heartbeats: true });
    registry.send(1, leaving);
    expect(registry.wake(9999)).toEqual([]);
    registry.send(1, heartbeat);
    expect(registry.wake(1)).toEqual(['1 ends 0 ']);
    expect(registry.wakeIn).toBeNull();
    expect(registry.register(2)).toEqual(['put b1 2 new', '2 registered 2']);
  });

  it('REG-03: who has left cannot come back on that stream; nonsense on it ends it and drains nobody again', () => {
    const registry = new ScriptedRegistry();
    registry.register(1);
    registry.send(1, leaving);
    const told = ['1 rejected: this backend has left; open another stream to register it again'];
    expect(registry.send(1, again)).toEqual(told);
    expect(registry.send(1, { kind: 'update', fields: { weight: 2 } })).toEqual(told);
    expect(registry.register(2)).toEqual(['put b1 2 new', '2 registered 2']);
    expect(registry.send(1, malformed)).toEqual(['1 ends 3 nonsense']);
    expect(registry.break(2)).toEqual(['lose b1 2: its registration stream broke']);
  });

  it('REG-25: stopping: every stream ends UNAVAILABLE, in whatever phase; nobody is lost', () => {
    const registry = new ScriptedRegistry();
    registry.open(1);
    registry.register(2, { heartbeats: true });
    registry.register(3, { name: 'b3' });
    registry.send(3, leaving);
    registry.register(4, { name: 'b4' });
    registry.finish(4);
    const decisions = registry.handle({ type: 'stopping' });
    expect(decisions.map(({ type }) => type)).toEqual(['end', 'end', 'end', 'end']);
    expect(decisions).toContainEqual({
      type: 'end',
      stream: 2,
      code: 14,
      details: 'hedgerow is stopping; register again after a wait',
    });
    expect(registry.break(2)).toEqual([]);
    expect([registry.size, registry.wakeIn]).toEqual([0, null]);
  });

  it('REG-27: expelled: the stream ends ALREADY_EXISTS, nobody is drained or lost; unknown names mean nothing', () => {
    const registry = new ScriptedRegistry();
    registry.register(1);
    expect(registry.handle({ type: 'expelled', name: 'b2', why: 'x' })).toEqual([]);
    expect(registry.handle({ type: 'expelled', name: 'b1', why: 'taken' })).toEqual([
      { type: 'end', stream: 1, code: 6, details: 'taken' },
    ]);
    expect(registry.break(1)).toEqual([]);
    expect(registry.size).toBe(0);
  });
});

describe('a takeover', () => {
  it('REG-12: the newer stream holds; whatever comes of the older touches nobody', () => {
    const registry = new ScriptedRegistry();
    registry.register(1, { heartbeats: true });
    expect(registry.register(2)).toEqual([
      '1 ends 10 a newer stream has registered b1; do not register again',
      'put b1 2 over 1',
      '2 registered 2',
    ]);
    expect(registry.wakeIn).toBeNull();
    expect(registry.send(1, leaving)).toEqual([]);
    expect(registry.break(1)).toEqual([]);
    expect(registry.wake(60_000)).toEqual([]);
    expect(registry.size).toBe(1);
    expect(registry.break(2)).toEqual(['lose b1 2: its registration stream broke']);
  });
});

describe('heartbeats', () => {
  it('REG-11: three intervals without a message: lost, and the stream ends UNAVAILABLE', () => {
    const registry = new ScriptedRegistry();
    registry.register(1, { heartbeats: true });
    expect(registry.wakeIn).toBe(15_000);
    expect(registry.wake(14_999)).toEqual([]);
    expect(registry.wake(1)).toEqual([
      '1 ends 14 no heartbeat came for 15000 ms',
      'lose b1 1: no heartbeat came for 15000 ms',
    ]);
    expect([registry.size, registry.wakeIn]).toEqual([0, null]);
    expect(registry.break(1)).toEqual([]);
  });

  it.each([heartbeat, again, unknown, { kind: 'update', fields: {} } as const])(
    'REG-11: a message of any kind counts: $kind',
    (message) => {
      const registry = new ScriptedRegistry();
      registry.register(1, { heartbeats: true });
      registry.now += 14_000;
      registry.send(1, message);
      expect(registry.wakeIn).toBe(15_000);
    },
  );

  it('REG-11: of several the one that was silent for longest is the first', () => {
    const registry = new ScriptedRegistry();
    registry.register(1, { name: 'a', heartbeats: true });
    registry.now += 1000;
    registry.register(2, { name: 'b', heartbeats: true });
    registry.now += 1000;
    registry.send(1, heartbeat);
    expect(registry.wakeIn).toBe(14_000);
    expect(registry.wake(14_000)).toContain('lose b 2: no heartbeat came for 15000 ms');
    expect(registry.wakeIn).toBe(1000);
  });

  it('REG-11: who promises none may send them and is never waited for', () => {
    const registry = new ScriptedRegistry();
    registry.register(1);
    expect(registry.send(1, heartbeat)).toEqual([]);
    expect(registry.wakeIn).toBeNull();
  });

  it('REG-11: an update takes the promise back from nobody', () => {
    const registry = new ScriptedRegistry();
    registry.register(1, { heartbeats: true });
    registry.send(1, { kind: 'update', fields: { weight: 2 } });
    registry.now += 1;
    registry.send(1, heartbeat);
    expect(registry.wakeIn).toBe(15_000);
  });
});

describe('later messages', () => {
  it('REG-18: an update is put under the same generation, and told; one that changes nothing is only told', () => {
    const registry = new ScriptedRegistry();
    registry.register(1, { weight: 3, priority: 2, maxCalls: 40 });
    expect(registry.send(1, { kind: 'update', fields: { weight: 4 } })).toEqual(['put b1 1 over 1', '1 updated']);
    expect(registry.send(1, { kind: 'update', fields: { weight: 4, priority: 2, maxCalls: 40 } })).toEqual([
      '1 updated',
    ]);
    const [put] = registry.handle({
      type: 'received',
      stream: 1,
      message: { kind: 'update', fields: { maxCalls: 0 } },
    });
    expect(put).toMatchObject({ backend: { weight: 4, priority: 2, maxCalls: null, target: b1.target } });
    const [lose] = registry.handle({ type: 'broke', stream: 1, by: 'reset' });
    expect(lose).toMatchObject({ backend: { weight: 4, maxCalls: null } });
  });

  it('REG-19: an update out of range, another registration, an unknown message: told, and the registration stands', () => {
    const registry = new ScriptedRegistry();
    registry.register(1);
    expect(registry.send(1, { kind: 'update', fields: { weight: 5, priority: 10 } })).toEqual([
      '1 rejected: priority must be from 0 to 9; got 10',
    ]);
    expect(registry.send(1, again)).toEqual([
      '1 rejected: this stream has registered b1; send an update, or open another stream',
    ]);
    expect(registry.send(1, unknown)).toEqual(['1 rejected: this version of hedgerow knows no such message']);
    expect(registry.handle({ type: 'broke', stream: 1, by: 'reset' })).toMatchObject([
      { type: 'lose', backend: { weight: 1, generation: 1 } },
    ]);
  });

  it('REG-20: what is no message: the stream ends INVALID_ARGUMENT, and the backend leaves', () => {
    const registry = new ScriptedRegistry();
    registry.register(1, { heartbeats: true });
    expect(registry.send(1, malformed)).toEqual([
      '1 ends 3 nonsense',
      'drain b1 1: its registration was ended: nonsense',
    ]);
    expect([registry.size, registry.wakeIn]).toEqual([0, null]);
    expect(registry.break(1)).toEqual([]);
  });
});
