import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/admin/admin-state.js';
import type { RequestFacts } from '../../../src/admin/admission.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import { ask, post, rows } from './ask.js';
import { backend, member, World } from './backends.js';

const b1 = backendId('b1');

function group(): World {
  return new World([backend(), member('g', '10.0.0.7:1'), member('g', '10.0.0.8:1')]);
}

function errorOf({ status, body }: Answer): readonly [number, string] {
  return [status, (body as { readonly error: string }).error];
}

describe('park', () => {
  it('ADM-07: parks until it is unparked, and answers the row', () => {
    const world = new World();
    const answer = post('/backends/b1/park', world);
    expect(answer.status).toBe(200);
    expect(rows(answer)).toEqual([
      expect.objectContaining({ name: 'b1', state: 'parked', why: 'parked by hand', parked_for_ms: null, since_ms: 0 }),
    ]);
    world.time += 10 * 24 * 3_600_000;
    expect(world.health.standing(b1, world.time)).toBe('parked');
    expect(world.changes).toEqual([expect.objectContaining({ kind: 'parked', reason: 'operator', parkMs: null })]);
  });

  it('ADM-07: parks for a time that is given', () => {
    const world = new World();
    expect(rows(post('/backends/b1/park?for=5m', world))).toEqual([
      expect.objectContaining({ state: 'parked', parked_for_ms: 300_000, park_reason: 'operator' }),
    ]);
    world.time += 300_000;
    expect(world.health.standing(b1, world.time)).toBe('clean');
    expect(rows(ask('/backends', world))).toEqual([expect.objectContaining({ state: 'ready', parked_for_ms: 0 })]);
  });

  it.each([
    ['for=5', 'for=5: a duration needs a unit; write a number and ms, s, m or h, like 250ms, 1.5s or 2m'],
    ['for=', 'for=: not a duration; write a number and ms, s, m or h, like 250ms, 1.5s or 2m'],
    ['for=0s', 'for=0s: must be from 1ms to 24h'],
    ['for=25h', 'for=25h: must be from 1ms to 24h'],
    ['fro=5m', 'park takes one parameter, for, with a duration: ?for=5m'],
    ['for=5m&for=6m', 'park takes one parameter, for, with a duration: ?for=5m'],
    ['for=5m&x', 'park takes one parameter, for, with a duration: ?for=5m'],
  ])('ADM-08: ?%s is refused and parks nobody', (query, problem) => {
    const world = new World();
    expect(errorOf(post(`/backends/b1/park?${query}`, world))).toEqual([400, problem]);
    expect(world.health.standing(b1, world.time)).toBe('clean');
    expect(world.lines).toEqual([]);
  });

  it('a long value is not repeated whole', () => {
    expect(errorOf(post(`/backends/b1/park?for=${'x'.repeat(5000)}`, new World()))[1].length).toBeLessThan(250);
  });
});

describe('unpark', () => {
  it('ADM-09: ends every park, and takes a drain back', () => {
    const world = new World([backend({ phase: 'leaving' })]);
    const health = world.health.of(b1);
    health.park(null, world.time);
    health.checked(false, world.time);
    expect(rows(post('/backends/b1/unpark', world))).toEqual([
      expect.objectContaining({ state: 'ready', parked_for_ms: 0, park_reason: null, release_route: 'operator' }),
    ]);
    expect(world.orders).toEqual(['resume b1']);
  });

  it('ADM-09: one that is not parked stays as it is, and nothing is told but who asked', () => {
    const world = new World();
    expect(post('/backends/b1/unpark', world).status).toBe(200);
    expect(world.changes).toEqual([]);
    expect(world.lines).toHaveLength(1);
  });

  it('ADM-10: one that was removed cannot be taken back', () => {
    const world = new World([backend({ phase: 'leaving' })]);
    world.removed.add(b1);
    expect(errorOf(post('/backends/b1/unpark', world))).toEqual([
      409,
      'no source of backends names it any more: it leaves, and cannot be taken back',
    ]);
  });

  it('of a group whose members have left in part the others are taken back', () => {
    const world = group();
    world.removed.add(backendId('g/10.0.0.7:1'));
    expect(post('/backends/g/unpark', world).status).toBe(200);
    expect(world.orders).toEqual(['resume g/10.0.0.8:1']);
  });
});

describe('drain and lost', () => {
  it('ADM-11: drain asks the pool, and answers the row', () => {
    const world = new World();
    world.history.look({ backend: backend(), stats: world.health.of(b1).stats(0) }, 0);
    expect(rows(post('/backends/b1/drain', world))).toEqual([
      expect.objectContaining({ state: 'draining', why: 'drained by hand, until it is unparked; its calls finish' }),
    ]);
    expect(world.orders).toEqual(['drain b1']);
    world.time += 500;
    expect(rows(ask('/backends', world))[0]?.since_ms).toBe(500);
  });

  it('ADM-12: lost asks the pool, with the words that clients are told', () => {
    const world = new World();
    expect(rows(post('/backends/b1/lost', world))).toEqual([expect.objectContaining({ state: 'connecting' })]);
    expect(world.orders).toEqual(['lose b1: declared lost by hand']);
  });

  it.each(['unpark', 'drain', 'lost'])('ADM-08: %s takes no parameters', (action) => {
    const world = new World();
    expect(errorOf(post(`/backends/b1/${action}?for=5m`, world))).toEqual([400, `${action} takes no parameters`]);
    expect(world.orders).toEqual([]);
  });
});

describe('names', () => {
  it.each(['/backends/g%2F10.0.0.8:1/drain', '/backends/g%2f10.0.0.8%3A1/drain', '/backends/G%2F10.0.0.8:1/drain'])(
    'ADM-13: %s is a member of a group',
    (url) => {
      const world = group();
      expect(rows(post(url, world)).map(({ name }) => name)).toEqual(['g/10.0.0.8:1']);
      expect(world.orders).toEqual(['drain g/10.0.0.8:1']);
    },
  );

  it('ADM-13: a / that is not escaped is told so', () => {
    const [status, error] = errorOf(post('/backends/g/10.0.0.8:1/drain', group()));
    expect(status).toBe(404);
    expect(error).toContain('in the name of a backend / is written as %2F');
  });

  it('ADM-14: the name of a group means all its members', () => {
    const world = group();
    const answer = post('/backends/g/park?for=1s', world);
    expect(rows(answer).map(({ name, state }) => [name, state])).toEqual([
      ['g/10.0.0.7:1', 'parked'],
      ['g/10.0.0.8:1', 'parked'],
    ]);
    expect(world.health.standing(b1, world.time)).toBe('clean');
    expect(world.lines).toEqual([
      {
        fields: { event: 'admin', action: 'park', backend: 'g', members: 2, park_ms: 1000, peer: '127.0.0.1:5' },
        message: 'park of g, all 2 members, was asked for by 127.0.0.1:5',
      },
    ]);
  });

  it.each(['%', '%2', '%zz', '%ff', '%C3%28', 'b1%'])('ADM-15: %s is no name', (name) => {
    const [status, error] = errorOf(post(`/backends/${name}/park`, new World()));
    expect(status).toBe(400);
    expect(error).toContain('begins no escape');
  });

  it('ADM-16: an unknown name is told with the known ones', () => {
    const names = (count: number) =>
      Array.from({ length: count }, (_, n) => backend({ id: backendId(`b${n}`), name: `b${n}` }));
    expect(errorOf(post('/backends/x/park', new World(names(2))))).toEqual([
      404,
      'there is no backend "x"; there are b0, b1',
    ]);
    expect(errorOf(post('/backends/x/park', new World(names(5))))[1]).toMatch(/there are b0, b1, b2, b3, b4$/);
    expect(errorOf(post('/backends/x/park', new World(names(7))))[1]).toMatch(/b4 and 2 more$/);
    expect(errorOf(post('/backends/x/park', new World([])))[1]).toBe('there is no backend "x"; there are none at all');
  });
});

describe('sessions', () => {
  it('ADM-17: are counted, without their ids', () => {
    const world = new World();
    world.sessions.claim('a key', b1, world.time)?.ended(world.time);
    const { status, body } = ask('/sessions', world);
    expect(status).toBe(200);
    expect(body).toMatchObject({ size: 1, calls: 0, outcomes: { created: 1, lost: 0, cleared: 0 } });
    expect(JSON.stringify(body)).not.toContain('a key');
  });

  it('ADM-18: are cleared by hand', () => {
    const world = new World();
    world.sessions.claim('a', b1, world.time);
    expect(post('/sessions/clear', world)).toEqual({ status: 200, body: { cleared: 1 } });
    expect(ask('/sessions', world).body).toMatchObject({ size: 0, outcomes: { cleared: 1 } });
    expect(world.lines).toEqual([
      {
        fields: { event: 'admin', action: 'clear_sessions', sessions: 1, peer: '127.0.0.1:5' },
        message: 'clearing of all sessions (1) was asked for by 127.0.0.1:5',
      },
    ]);
  });
});

describe('what acts is guarded', () => {
  const paths = ['park', 'unpark', 'drain', 'lost'].map((action) => `/backends/b1/${action}`);
  const evil: readonly Partial<RequestFacts>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { fetchSite: 'cross-site' },
    { fetchSite: 'same-site' },
  ];

  it.each([...paths, '/sessions/clear'])('ADM-19: %s does nothing for another site or without the token', (path) => {
    const world = new World();
    world.sessions.claim('a', b1, world.time);
    for (const facts of evil) expect(ask(path, world, { ...facts, method: 'POST' }).status).toBe(403);
    expect(ask(path, world, { method: 'POST', host: 'evil.example' }).status).toBe(421);
    const beyond = { beyondLoopback: true, isToken: (given: string) => given === 'right' };
    for (const authorization of [undefined, 'Bearer wrong']) {
      expect(ask(path, world, { method: 'POST', authorization }, beyond).status).toBe(401);
    }
    expect([world.orders, world.changes, world.lines]).toEqual([[], [], []]);
    expect(world.sessions.stats(world.time).size).toBe(1);
    expect(ask(path, world, { method: 'POST', authorization: 'Bearer right' }, beyond).status).toBe(200);
  });
});
