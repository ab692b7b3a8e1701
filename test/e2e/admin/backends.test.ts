import { afterEach, describe, expect, it } from 'vitest';
import type { BackendRow } from '../../../src/admin/backend-state.js';
import { startDns } from '../../support/dns-server.js';
import { hedgerow, type Program } from '../../support/program.js';
import { behave, connectRawClient, type RawBackend, type RawClient, startRawBackend } from '../../support/raw-peer.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Running {
  readonly program: Program;
  readonly client: RawClient;
  get(path: string): Promise<Record<string, unknown>>;
  post(path: string, headers?: Record<string, string>): Promise<{ status: number; body: Record<string, unknown> }>;
  /** The row of that name in `/backends`. */
  row(name: string): Promise<BackendRow>;
}

async function backend(...[options]: Parameters<typeof startRawBackend>): Promise<RawBackend> {
  const started = await startRawBackend(options);
  cleanups.push(() => started.close());
  return started;
}

/** The built program, connected to these backends. */
async function start(
  connected: readonly string[],
  flags: readonly string[],
  serviceConfig: unknown = {},
): Promise<Running> {
  const listen = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];
  const program = await hedgerow(['serve', ...listen, '--service-config', 'sc.json', ...flags], {
    files: { 'sc.json': JSON.stringify(serviceConfig) },
  });
  const base = `http://${await program.admin()}`;
  for (const name of connected) await program.line(({ event, backend: id }) => event === 'connected' && id === name);
  const client = await connectRawClient(await program.port());
  cleanups.push(() => client.kill());
  const get = async (path: string) => (await (await fetch(base + path)).json()) as Record<string, unknown>;
  return {
    program,
    client,
    get,
    async post(path, headers = {}) {
      const answer = await fetch(base + path, { method: 'POST', headers });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    },
    async row(name) {
      const { backends } = (await get('/backends')) as { backends?: readonly BackendRow[] };
      const row = backends?.find((one) => one.name === name);
      if (row === undefined) throw new Error(`no row of ${name}: ${JSON.stringify(backends)}`);
      return row;
    },
  };
}

function named(backends: Readonly<Record<string, RawBackend>>): string[] {
  return Object.entries(backends).flatMap(([name, { address }]) => ['--backend', `${name}=${address}`]);
}

/** Which backends answer so many calls, one after another, each once. */
async function answering({ client }: Running, calls: number): Promise<Set<string | undefined>> {
  const names = new Set<string | undefined>();
  for (let n = 0; n < calls; n += 1) names.add((await client.call('/a.B/C').done()).trailer('hedgerow-backend'));
  return names;
}

const retrying = {
  methodConfig: [
    {
      name: [{}],
      retryPolicy: {
        maxAttempts: 3,
        initialBackoff: '0.001s',
        maxBackoff: '0.001s',
        backoffMultiplier: 1,
        retryableStatusCodes: ['UNAVAILABLE'],
      },
    },
  ],
};

describe('park and unpark on the program', () => {
  it('ADM-07, ADM-09: a parked backend gets no calls until it is unparked', async () => {
    const [b1, b2] = [await backend(), await backend()];
    const running = await start(['b1', 'b2'], named({ b1, b2 }));
    const { post, program, row } = running;
    expect(await answering(running, 4)).toEqual(new Set(['b1', 'b2']));

    const before = b1.streams.length;
    const parked = await post('/backends/b1/park?for=1h');
    expect(parked).toMatchObject({ status: 200, body: { backends: [{ name: 'b1', state: 'parked' }] } });
    expect(await answering(running, 6)).toEqual(new Set(['b2']));
    expect(b1.streams).toHaveLength(before);
    expect(await row('b1')).toMatchObject({ state: 'parked', why: 'parked by hand', park_reason: 'operator' });
    expect(await row('b2')).toMatchObject({ state: 'ready', why: null, source: 'flags', successes: 8 });

    expect((await post('/backends/b1/unpark')).status).toBe(200);
    expect(await answering(running, 4)).toEqual(new Set(['b1', 'b2']));
    expect(await row('b1')).toMatchObject({ state: 'ready', release_route: 'operator', parked_for_ms: 0 });
    for (const action of ['park', 'unpark']) {
      const line = await program.line((one) => one['event'] === 'admin' && one['action'] === action);
      expect(line).toMatchObject({ backend: 'b1', peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/) });
    }
    await program.line(({ event, reason }) => event === 'parked' && reason === 'operator');
    await program.line(({ event, route }) => event === 'released' && route === 'operator');
  });

  it('ADM-13, ADM-14: a member by %2F, a group by its name', async () => {
    const member = await backend();
    const dns = await startDns();
    dns.set('orders.test', ['127.0.0.1']);
    const name = `orders/127.0.0.1:${member.port}`;
    const flag = `orders=dns://${dns.authority}/orders.test:${member.port}`;
    const { post, row } = await start([name], ['--backend', flag]);
    for (const path of [encodeURIComponent(name), 'orders']) {
      expect((await post(`/backends/${path}/park`)).status, path).toBe(200);
      expect(await row(name)).toMatchObject({ group: 'orders', state: 'parked', parked_for_ms: null });
      expect((await post(`/backends/${path}/unpark`)).status, path).toBe(200);
      expect(await row(name)).toMatchObject({ state: 'ready' });
    }
    expect((await post(`/backends/${name}/park`)).status).toBe(404);
  });

  it('ADM-19: a page of another site parks nobody', async () => {
    const b1 = await backend();
    const { post, row } = await start(['b1'], named({ b1 }));
    for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
      expect((await post('/backends/b1/park', headers)).status).toBe(403);
    }
    expect(await row('b1')).toMatchObject({ state: 'ready' });
  });
});

describe('drain on the program', () => {
  it('ADM-11: what is in flight finishes, new calls go elsewhere, and unpark takes it back', async () => {
    const [b1, b2] = [await backend({ onStream: behave.silent }), await backend()];
    const running = await start(['b1', 'b2'], named({ b1, b2 }));
    const { client, post, program, row } = running;
    const held = client.call('/a.B/Held', { headers: [['hedgerow-pin', 'b1']] });
    const stream = await b1.nextStream();

    expect(await post('/backends/b1/drain')).toMatchObject({
      status: 200,
      body: { backends: [{ name: 'b1', state: 'draining', in_flight: 1 }] },
    });
    expect(await answering(running, 4)).toEqual(new Set(['b2']));
    await stream.answer(['late']);
    expect((await held.done()).status).toBe(0);
    expect(b1.streams).toHaveLength(1);
    await b1.connections[0]?.whenClosed();
    expect(await row('b1')).toMatchObject({ state: 'draining', in_flight: 0 });

    b1.behave(behave.ok());
    expect((await post('/backends/b1/unpark')).status).toBe(200);
    await program.line(
      ({ event, backend: id, generation }) => event === 'connected' && id === 'b1' && generation === 2,
    );
    expect(await answering(running, 4)).toEqual(new Set(['b1', 'b2']));
    expect(await row('b1')).toMatchObject({ state: 'ready', generation: 2 });
  });
});

describe('lost on the program', () => {
  it('ADM-12, ADM-05: attempts there end in the same turn, are told so, and are counted', async () => {
    const b1 = await backend({ onStream: behave.silent });
    const { client, post, program, row } = await start(['b1'], named({ b1 }));
    const answered = client.call('/a.B/C');
    (await b1.nextStream()).sendHeaders();
    await answered.whenHeaders();
    const pinned = client.call('/a.B/C', { headers: [['hedgerow-pin', 'b1']] });
    const plain = client.call('/a.B/C');
    await b1.waitForStream(3);
    // The row is made in the turn in which it is lost.
    expect(await post('/backends/b1/lost')).toMatchObject({
      status: 200,
      body: { backends: [{ name: 'b1', in_flight: 0, connections: 0, consecutive_failures: 3 }] },
    });
    for (const [call, reason] of [
      [answered, 'backend_lost'],
      [pinned, 'backend_lost'],
      [plain, 'no_policy'],
    ] as const) {
      await call.done();
      expect([call.status, call.trailer('hedgerow-stop-reason')]).toEqual([14, reason]);
      expect(call.message).toContain('declared lost by hand');
    }
    await program.line(({ event }) => event === 'attempts_lost');
    await program.line(({ event, generation }) => event === 'connected' && generation === 2);
    expect(await row('b1')).toMatchObject({ generation: 2, losses: { failed: 2, terminated: 1, re_dispatched: 0 } });
  });

  it('ADM-12, ADM-05: with a policy a call goes on elsewhere', async () => {
    const [b1, b2] = [await backend({ onStream: behave.silent }), await backend()];
    const { client, post, program, row } = await start(
      ['b1', 'b2'],
      [...named({ b1, b2 }), '--pin', 'first-attempt'],
      retrying,
    );
    const call = client.call('/a.B/C', {
      headers: [['hedgerow-pin', 'b1']],
    });
    await b1.waitForStream(1);
    expect((await post('/backends/b1/lost')).status).toBe(200);
    await call.done();
    expect([call.status, call.trailer('hedgerow-backend')]).toEqual([0, 'b2']);
    await program.line(({ event }) => event === 'attempts_lost');
    expect((await row('b1')).losses).toMatchObject({ re_dispatched: 1, failed: 0 });
  });
});

describe('sessions on the program', () => {
  it('ADM-17, ADM-18: are counted and cleared, and no id is told', async () => {
    const b1 = await backend();
    const { client, get, post, program } = await start(['b1'], named({ b1 }));
    const call = (id: string) => client.call('/a.B/C', { headers: [['hedgerow-session', id]] }).done();
    for (const id of ['secret-one', 'secret-one', 'secret-two']) expect((await call(id)).status).toBe(0);
    const counts = await get('/sessions');
    expect(counts).toMatchObject({ size: 2, outcomes: { created: 2, used: 1 } });
    expect(await post('/sessions/clear')).toEqual({ status: 200, body: { cleared: 2 } });
    expect(await get('/sessions')).toMatchObject({ size: 0, outcomes: { cleared: 2 } });
    expect((await call('secret-one')).status).toBe(0);
    expect(await get('/sessions')).toMatchObject({ size: 1, outcomes: { created: 3 } });
    await program.line(({ action }) => action === 'clear_sessions');
    expect(JSON.stringify(counts) + program.out).not.toContain('secret');
  });
});
