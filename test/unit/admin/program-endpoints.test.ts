import { describe, expect, it } from 'vitest';
import type { ConfigView, FileReload, Program, ProgramPhase, ReloadReport } from '../../../src/admin/program.js';
import { ask, post, postLater } from './ask.js';
import { World } from './backends.js';

const view: ConfigView = {
  settings: { via: { value: false, source: 'default' } },
  service_config: {
    path: null,
    version: 'v1',
    applied_at: 5,
    methods: 0,
    content: {},
    warnings: [],
    problem: null,
    rejected: null,
  },
  endpoints: null,
  client_tls: null,
  backend_tls: null,
};

const fine: FileReload = { outcome: 'unchanged', problem: null };

/** A program that only remembers what it was asked for. */
class FakeProgram implements Program {
  phase: ProgramPhase = 'running';
  report: ReloadReport = {
    service_config: { ...fine, version: 'v1' },
    endpoints: null,
    client_tls: null,
    backend_tls: null,
    names: [],
  };
  readonly orders: string[] = [];
  config = (): ConfigView => view;
  configBrief = () => view.service_config;
  reload = async (): Promise<ReloadReport> => {
    this.orders.push('reload');
    return this.report;
  };
  drain = (): string => {
    this.orders.push('drain');
    this.phase = 'draining';
    return 'draining, at most 30000 ms';
  };
}

function start(phase: ProgramPhase = 'running'): { world: World; program: FakeProgram } {
  const world = new World();
  const program = new FakeProgram();
  program.phase = phase;
  world.program = program;
  return { world, program };
}

const peer = '127.0.0.1:5';
const starting = 'the proxy is starting; ask again when it has written its ready line';

describe('GET /config', () => {
  it.each<ProgramPhase>(['running', 'draining', 'drained'])('ADM-21: is what the program tells, %s too', (phase) => {
    expect(ask('/config', start(phase).world)).toEqual({ status: 200, body: view });
  });

  it('is 503 until all files are followed', () => {
    expect(ask('/config', start('starting').world)).toEqual({ status: 503, body: { error: starting } });
  });
});

describe('GET /throttle', () => {
  it('ADM-24: tells the bucket, and null where nothing throttles', () => {
    const { world } = start();
    expect(ask('/throttle', world)).toEqual({ status: 200, body: { throttle: null } });
    world.bucket = { tokens: 4.5, max_tokens: 10, threshold: 5, token_ratio: 0.1, shut: true, suppressed: 3 };
    expect(ask('/throttle', world)).toEqual({ status: 200, body: { throttle: world.bucket } });
  });
});

describe('POST /reload', () => {
  it('ADM-25: answers what came of each, and says who asked', async () => {
    const { world, program } = start();
    const name = { backend: 'g', target: 'dns:///g:1', outcome: 'failed', problem: 'no such name' } as const;
    program.report = {
      ...program.report,
      endpoints: { outcome: 'applied', problem: null },
      client_tls: { outcome: 'pending', problem: 'not read after 5000 ms' },
      names: [name],
    };
    expect(await postLater('/reload', world)).toEqual({ status: 200, body: program.report });
    expect(world.lines).toEqual([
      { fields: { event: 'admin', action: 'reload', peer }, message: `reload was asked for by ${peer}` },
    ]);
  });

  it.each(['service_config', 'endpoints', 'client_tls', 'backend_tls'] as const)(
    'ADM-26: is 422 where %s was rejected',
    async (what) => {
      const { world, program } = start();
      const rejected = { outcome: 'rejected', problem: 'it is broken', version: 'v1' } as const;
      program.report = { ...program.report, [what]: rejected };
      expect(await postLater('/reload', world)).toEqual({ status: 422, body: program.report });
    },
  );

  it.each<[ProgramPhase, string]>([
    ['starting', starting],
    ['draining', 'the proxy is draining: nothing is read again'],
    ['drained', 'the proxy has drained: nothing is read again'],
  ])('ADM-27: is 409 while %s', async (phase, error) => {
    const { world, program } = start(phase);
    expect(await postLater('/reload', world)).toEqual({ status: 409, body: { error } });
    expect([program.orders, world.lines]).toEqual([[], []]);
  });
});

describe('POST /drain', () => {
  it('ADM-28, ADM-30: is 202 with what will happen, then 200 and begins nothing', () => {
    const { world, program } = start();
    expect(post('/drain', world)).toEqual({
      status: 202,
      body: { status: 'draining', message: 'draining, at most 30000 ms' },
    });
    expect(post('/drain', world)).toEqual({ status: 200, body: { status: 'draining', message: 'already draining' } });
    program.phase = 'drained';
    expect(post('/drain', world)).toEqual({ status: 200, body: { status: 'drained', message: 'already drained' } });
    expect(program.orders).toEqual(['drain']);
    expect(world.lines).toEqual([
      { fields: { event: 'admin', action: 'drain', peer }, message: `drain was asked for by ${peer}` },
    ]);
  });

  it('is 409 while the proxy starts', () => {
    const { world, program } = start('starting');
    expect(post('/drain', world)).toEqual({ status: 409, body: { error: starting } });
    expect(program.orders).toEqual([]);
  });
});

it.each(['reload', 'drain'])('ADM-08: %s takes no parameters', async (action) => {
  for (const phase of ['running', 'draining'] as const) {
    const { world, program } = start(phase);
    const error = `${action} takes no parameters`;
    expect(await postLater(`/${action}?now=1`, world)).toEqual({ status: 400, body: { error } });
    expect(program.orders).toEqual([]);
  }
});

it.each(['reload', 'drain'])('ADM-19: %s is for no other site’s page', async (action) => {
  const { world, program } = start();
  expect((await postLater(`/${action}`, world, { origin: 'https://evil.example' })).status).toBe(403);
  expect([program.orders, world.lines]).toEqual([[], []]);
});

it.each(['/reload', '/drain'])('GET %s is 405', (path) => {
  const { world, program } = start();
  expect(ask(path, world)).toMatchObject({ status: 405, headers: { allow: 'POST' } });
  expect(program.orders).toEqual([]);
});

it('without a program around it a proxy has nothing to tell or reload', async () => {
  const world = new World();
  expect(ask('/config', world).status).toBe(404);
  for (const path of ['/reload', '/drain']) expect((await postLater(path, world)).status).toBe(404);
});
