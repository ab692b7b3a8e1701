import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/admin/admin-state.js';
import type { BackendRow } from '../../../src/admin/backend-state.js';
import { createTable } from '../../../src/admin/endpoints.js';
import { SharedText } from '../../../src/admin/shared-text.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import { backend, down, member, World } from '../admin/backends.js';
import { failed } from '../admin/call-records.js';
import { FakeGroup, type Stage, start } from './admin-rig.js';

const bucket = { tokens: 9, max_tokens: 10, threshold: 5, token_ratio: 0.1, shut: false, suppressed: 2 };

function rows({ status, body }: Answer): readonly BackendRow[] {
  expect(status).toBe(200);
  return (body as { readonly backends: readonly BackendRow[] }).backends;
}

/** An attempt at b1 failed. */
function failOnce({ health, time }: World): void {
  const b1 = health.of(backend().id);
  b1.ended(b1.began(time), { kind: 'failure', cause: 'status' }, time, 1);
}

/** Two workers, of which only the first is connected to b2. */
function two(): { stage: Stage; first: World; second: World } {
  const first = new World([backend(), backend({ id: backendId('b2'), name: 'b2' })]);
  const second = new World([backend(), down]);
  return { stage: start(new FakeGroup(first, second)), first, second };
}

describe('answers of all workers', () => {
  it('WRK-11: the paths and methods are those of a single process', () => {
    const { admin } = start(new FakeGroup(new World()));
    const methods = (table: ReturnType<typeof createTable>) => [...table].map(([path, { method }]) => [path, method]);
    expect(methods(admin.endpoints.table)).toEqual(methods(createTable(new World())));
  });

  it('WRK-11: /backends has a row for each backend, as it is where it is worst', async () => {
    expect(rows(await two().stage.get('/backends'))).toMatchObject([
      { name: 'b1', state: 'ready', why: null, connections: 2, in_flight: 4 },
      { name: 'b2', state: 'down', connections: 1, why: expect.stringContaining('in 1 of 2 workers') },
    ]);
  });

  it('WRK-11: /throttle tells the sum, and beside it each worker’s own bucket', async () => {
    const { stage, first, second } = two();
    expect(await stage.get('/throttle')).toEqual({ status: 200, body: { throttle: null, workers: [] } });
    first.bucket = bucket;
    second.bucket = { ...bucket, tokens: 4, shut: true };
    expect(await stage.get('/throttle')).toEqual({
      status: 200,
      body: {
        throttle: { ...bucket, tokens: 13, max_tokens: 20, threshold: 10, suppressed: 4 },
        workers: [
          { worker: 1, ...bucket },
          { worker: 2, ...bucket, tokens: 4, shut: true },
        ],
      },
    });
  });

  it('WRK-11: /live is one snapshot, of the primary’s run', async () => {
    const { stage, first } = two();
    first.bucket = bucket;
    stage.time.advance(250);
    expect(await stage.get('/live')).toMatchObject({
      status: 200,
      body: {
        instance: 'run',
        at: 1_700_000_000_000,
        uptime_ms: 250,
        draining: false,
        drained: false,
        ready: true,
        config: { path: null, version: '', rejected: false },
        in_flight: 4,
        clients: 2,
        replay: { held: 30, limit: 2000 },
        throttle: bucket,
        backends: [{ name: 'b1' }, { name: 'b2' }],
      },
    });
  });

  it('WRK-11: /live tells what the primary says of a drain', async () => {
    const brief = { path: 'a.json', version: 'v1', problem: 'it is gone' };
    const program = { phase: 'drained', configBrief: () => brief } as unknown as NonNullable<World['program']>;
    const { get } = start(new FakeGroup(new World()), { program, draining: () => true });
    expect((await get('/live')).body).toMatchObject({
      draining: true,
      drained: true,
      ready: false,
      config: { path: 'a.json', version: 'v1', rejected: true },
    });
  });

  it('WRK-11: /healthz says how many workers there are of those that there are to be', async () => {
    const { stage } = two();
    stage.kill(1);
    expect(await stage.get('/healthz')).toEqual({
      status: 200,
      body: { status: 'alive', workers: { wanted: 2, running: 1 } },
    });
  });

  it('WRK-11: /readyz counts backends that a worker is connected to, each once', async () => {
    const { stage, first, second } = two();
    expect(await stage.get('/readyz')).toEqual({ status: 200, body: { status: 'ready', connected_backends: 2 } });
    first.backends.splice(0);
    expect(await stage.get('/readyz')).toEqual({ status: 200, body: { status: 'ready', connected_backends: 1 } });
    second.backends.splice(0);
    expect(await stage.get('/readyz')).toEqual({
      status: 503,
      body: { status: 'no backend has a live connection' },
    });
  });

  it('WRK-11: /readyz is 503 while the primary drains', async () => {
    const { get } = start(new FakeGroup(new World()), { draining: () => true });
    expect(await get('/readyz')).toEqual({ status: 503, body: { status: 'draining' } });
  });

  it('WRK-11: /sessions are the primary’s, who hears what the workers count', async () => {
    const { stage, first, second } = two();
    const hold = first.sessions.claim('k', backendId('b1'), 0);
    expect(second.sessions.claim('l', backendId('b1'), 0)).not.toBeNull();
    expect((await stage.get('/sessions')).body).toMatchObject({ size: 7, calls: 2 });
    hold?.ended(0);
    expect((await stage.get('/sessions')).body).toMatchObject({ size: 7, calls: 1 });
    expect(await stage.post('/sessions/clear')).toEqual({ status: 200, body: { cleared: 7 } });
    expect(stage.lines).toHaveLength(1);
  });

  it('WRK-11: /config, /reload and /drain are the program’s', async () => {
    const { stage } = two();
    expect((await stage.get('/config')).status).toBe(404);
    expect((await stage.post('/reload')).status).toBe(404);
    expect((await stage.post('/drain')).status).toBe(404);
    expect(stage.group.asked).toEqual([]);
  });
});

describe('actions', () => {
  it('WRK-13: are done in each worker, and told once', async () => {
    const { stage, first, second } = two();
    const told = rows(await stage.post('/backends/b1/park?for=5m'));
    expect(told).toMatchObject([{ name: 'b1', state: 'parked', parked_for_ms: 300_000, connections: 2 }]);
    for (const world of [first, second])
      expect(world.health.of(backend().id).stats(world.time).park_reason).toBe('operator');
    expect(stage.lines).toEqual([
      {
        fields: {
          event: 'admin',
          action: 'park',
          backend: 'b1',
          members: undefined,
          park_ms: 300_000,
          peer: '127.0.0.1:5',
        },
        message: 'park of b1 was asked for by 127.0.0.1:5',
      },
    ]);
    expect([first.lines, second.lines]).toEqual([[], []]);
  });

  it('WRK-13: each action reaches each worker, with its segment as it stands in the path', async () => {
    const worlds = [0, 1].map(() => new World([member('g', '10.0.0.1:1'), member('g', '10.0.0.2:1')]));
    const stage = start(new FakeGroup(...worlds));
    const one = 'g%2F10.0.0.1:1';
    expect(rows(await stage.post(`/backends/${one}/drain`))).toHaveLength(1);
    expect(rows(await stage.post(`/backends/${one}/unpark`))).toHaveLength(1);
    expect(rows(await stage.post('/backends/g/lost'))).toHaveLength(2);
    for (const world of worlds)
      expect(world.orders).toEqual([
        'drain g/10.0.0.1:1',
        'resume g/10.0.0.1:1',
        'lose g/10.0.0.1:1: declared lost by hand',
        'lose g/10.0.0.2:1: declared lost by hand',
      ]);
    expect(stage.lines.at(-1)?.message).toBe('lost of g, all 2 members, was asked for by 127.0.0.1:5');
  });

  it('WRK-13: what all workers refuse is refused as they do', async () => {
    const { stage } = two();
    for (const [url, status] of [
      ['/backends/nobody/park', 404],
      ['/backends/b1/park?for=soon', 400],
      ['/backends/b1/drain?now=1', 400],
    ] as const)
      expect(await stage.post(url)).toMatchObject({ status, body: { error: expect.any(String) } });
    expect(stage.lines).toEqual([]);
  });

  it('WRK-13: where they differ the answer is the one that is furthest from done', async () => {
    const third = new World();
    third.removed.add(backendId('b1'));
    for (const worlds of [
      [new World(), new World([]), third],
      [third, new World([]), new World()],
    ]) {
      const stage = start(new FakeGroup(...worlds));
      expect(await stage.post('/backends/b1/unpark')).toMatchObject({ status: 409 });
      expect(stage.lines).toEqual([]);
    }
    const stage = start(new FakeGroup(new World(), new World([])));
    expect(await stage.post('/backends/b1/park')).toMatchObject({ status: 404 });
  });
});

describe('workers that do not answer', () => {
  it('WRK-15: one is left out', async () => {
    const { stage, first } = two();
    first.bucket = bucket;
    stage.group.silent.add(1);
    expect(rows(await stage.get('/backends'))).toMatchObject([
      { name: 'b1', connections: 1 },
      { name: 'b2', why: down.lastError },
    ]);
    expect((await stage.get('/throttle')).body).toEqual({ throttle: null, workers: [] });
    expect((await stage.get('/readyz')).body).toEqual({ status: 'ready', connected_backends: 1 });
    expect((await stage.get('/live')).body).toMatchObject({ in_flight: 2, clients: 1 });
    expect(rows(await stage.post('/backends/b1/park'))).toMatchObject([{ connections: 1 }]);
  });

  it('WRK-15: where none answers a sentence says so', async () => {
    const { stage } = two();
    stage.group.silent.add(1).add(2);
    const error = expect.stringMatching(/^no worker answers/);
    const headers = { 'retry-after': '1' };
    for (const url of ['/backends', '/throttle', '/live', '/calls', '/events'])
      expect(await stage.get(url)).toEqual({ status: 503, body: { error }, headers });
    expect(await stage.post('/backends/b1/park')).toEqual({ status: 503, body: { error }, headers });
    expect(await stage.get('/readyz')).toEqual({ status: 503, body: { status: error } });
    expect((await stage.get('/healthz')).status).toBe(200);
    expect((await stage.get('/sessions')).body).toMatchObject({ size: 7, calls: 0 });
  });

  it('WRK-12, WRK-15: what one that is silent or gone has counted stays in the totals', async () => {
    const { stage, first, second } = two();
    for (const world of [first, second]) {
      world.bucket = bucket;
      failOnce(world);
    }
    const totals = async (): Promise<unknown> => {
      const [b1] = rows(await stage.get('/backends'));
      const { throttle } = (await stage.get('/throttle')).body as { readonly throttle: typeof bucket };
      return [b1?.calls, throttle.suppressed];
    };
    const before = await totals();
    expect(before).toEqual([2, 4]);
    stage.group.silent.add(2);
    expect(await totals()).toEqual(before);
    expect(rows(await stage.post('/backends/b1/park'))).toMatchObject([{ calls: 2, connections: 1 }]);
    stage.kill(2);
    expect(await totals()).toEqual(before);
    stage.kill(1);
    stage.group.workers.set(3, new World([backend()]));
    expect((await stage.get('/live')).body).toMatchObject({ backends: [{ name: 'b1', calls: 2 }] });
  });

  it('WRK-12: one that dies between its answer and the others’ counts once', async () => {
    const { stage, first, second } = two();
    await stage.get('/backends');
    for (const world of [first, second]) failOnce(world);
    stage.group.beforeTold = () => stage.kill(2);
    expect(rows(await stage.get('/backends'))[0]).toMatchObject({ calls: 2, connections: 1 });
    expect(rows(await stage.get('/backends'))[0]).toMatchObject({ calls: 2, connections: 1 });
  });
});

describe('/metrics', () => {
  async function scrape(stage: Stage): Promise<string> {
    const { status, pieces } = await stage.get('/metrics');
    expect(status).toBe(200);
    const parts: Buffer[] = [];
    if (pieces !== undefined) for await (const piece of pieces()) parts.push(piece);
    return Buffer.concat(parts).toString();
  }

  const counter = (value: number): string => `# HELP c_total Calls.\n# TYPE c_total counter\nc_total ${value}\n`;
  const counting = (value: number): World =>
    Object.assign(new World(), {
      metrics: new SharedText(
        () => [counter(value)],
        () => Promise.resolve(),
        () => 0,
      ),
    });

  it('WRK-10: is the sum of the primary and its workers, also of those that are silent or gone', async () => {
    const stage = start(new FakeGroup(counting(10), counting(200)), {
      metrics: () => ['# TYPE c_total counter\nc_to', 'tal 3000\n'],
    });
    expect(await scrape(stage)).toContain('c_total 3210\n');
    stage.group.silent.add(1);
    expect(await scrape(stage)).toContain('c_total 3210\n');
    stage.kill(2);
    expect(await scrape(stage)).toContain('c_total 3210\n');
    stage.group.workers.set(3, counting(5));
    expect(await scrape(stage)).toContain('c_total 3215\n');
  });

  it('WRK-10: of one that has no text to give now what it told last counts', async () => {
    const [first, second] = [counting(10), counting(200)];
    const stage = start(new FakeGroup(first, second));
    expect(await scrape(stage)).toContain('c_total 210\n');
    Object.assign(second, { metrics: { full: true, read: () => expect.unreachable() } });
    expect(await scrape(stage)).toContain('c_total 210\n');
    Object.assign(second, { metrics: undefined });
    expect(await scrape(stage)).toContain('c_total 210\n');
  });

  it('WRK-10: is answered while no worker is there', async () => {
    const stage = start(new FakeGroup(), { metrics: () => [counter(1)] });
    expect(await scrape(stage)).toBe(counter(1));
  });
});

it('WRK-11: a fault in a worker’s answer is one of that request', async () => {
  const { stage, first } = two();
  first.ring.onCallEnded(failed());
  const { ask } = stage.group;
  stage.group.ask = () => Promise.reject(new Error('planted'));
  await expect(stage.get('/backends')).rejects.toThrow('planted');
  stage.group.ask = ask;
  expect(rows(await stage.get('/backends'))).toHaveLength(2);
});
