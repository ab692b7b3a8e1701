import { describe, expect, it } from 'vitest';
import type { ReadResult } from '../../../src/cli/asked-reads.js';
import { startConfigSource } from '../../../src/cli/config-source.js';
import type { SetFollower } from '../../../src/cli/follow-files.js';
import type { ConfigFollower } from '../../../src/cli/follow-service-config.js';
import { judgeText } from '../../../src/cli/load-service-config.js';
import { ServedProgram } from '../../../src/cli/program.js';
import { readSettings } from '../../../src/config/read-settings.js';
import type { AskedName } from '../../../src/upstream/sources.js';
import { createVirtualTime } from '../../support/virtual-time.js';

/** Lets promises that are settled be heard. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function loaded() {
  const judged = judgeText('sc.json', '{"methodConfig": [{"name": [{}], "timeout": "0s"}]}', 5);
  if (!judged.ok) throw new Error(judged.problem);
  return judged;
}

/** A program whose app and followers do as the test says. */
class Rig {
  readonly time = createVirtualTime();
  readonly told: string[] = [];
  /** What was asked of the app and the followers, in order. */
  readonly orders: string[] = [];
  names: AskedName[] = [];
  endQuiesce: () => void = () => {};
  /** How far the wall clock has been set forward. */
  step = 0;
  read: Promise<ReadResult | null> = Promise.resolve({ outcome: 'applied', problem: null });
  readonly program: ServedProgram;

  constructor(flags: readonly string[] = []) {
    const read = readSettings({ flags: ['--backend', 'b=127.0.0.1:1', ...flags], env: {}, file: null });
    if (!read.ok) throw new Error(read.problem);
    this.program = new ServedProgram({
      settings: read.settings,
      origins: read.origins,
      loaded: loaded(),
      // Made in the middle of a turn: its time is that of the turn's beginning.
      ports: { ...this.time, clock: { now: () => this.time.clock.now() - 40, fresh: () => this.time.clock.now() } },
      wallNow: () => 1_700_000_000_000 + this.time.clock.now() + this.step,
      info: (message) => this.told.push(message),
    });
  }

  run(): this {
    const quiet = new Promise<void>((resolve) => {
      this.endQuiesce = resolve;
    });
    const quiesce = (): Promise<void> => {
      this.orders.push('quiesce');
      return quiet;
    };
    const app = {
      quiesce,
      drain: async () => {
        await quiesce();
        this.orders.push('stop');
      },
      resolveAgain: () => {
        this.orders.push('resolve');
        return this.names;
      },
    };
    this.program.run(app, {
      serviceConfig: this.follower('sc'),
      endpoints: this.follower('endpoints'),
      clientTls: null,
      backendTls: null,
    });
    return this;
  }

  private follower(name: string): ConfigFollower & SetFollower {
    return {
      ask: () => {
        this.orders.push(`ask ${name}`);
        return this.read;
      },
      stop: () => this.orders.push(`stop ${name}`),
      source: startConfigSource('sc.json', loaded(), this.time.clock.now()),
      state: {
        paths: { endpoints: 'e.json' },
        outcome: 'rejected',
        readAt: 1500,
        appliedAt: 1000.4,
        problem: 'broken',
      },
    };
  }
}

const stops = ['stop sc', 'stop endpoints'];
const staying = 'the process stays until SIGTERM or SIGINT';

describe('what is in force', () => {
  it('ADM-21, ADM-22: is told with its files, times by the wall clock, in the spelling of their files', () => {
    const rig = new Rig(['--endpoints', 'e.json']).run();
    rig.step = 1;
    rig.time.advance(10);
    const config = rig.program.config();
    expect(config.settings['endpoints']).toEqual({ value: 'e.json', source: 'flag' });
    expect(config.service_config).toEqual({
      path: 'sc.json',
      version: loaded().version,
      applied_at: 1_700_001_000_000,
      methods: 1,
      content: { methodConfig: [{ name: [{}], timeout: '0s' }] },
      warnings: [
        {
          file: 'sc.json',
          line: 1,
          column: 45,
          severity: 'warning',
          path: 'methodConfig[0].timeout',
          message: expect.stringContaining('DEADLINE_EXCEEDED'),
          rule: 'zero-timeout',
        },
      ],
      problem: null,
      rejected: null,
    });
    expect(config.endpoints).toEqual({
      paths: { endpoints: 'e.json' },
      outcome: 'rejected',
      read_at: 1_700_000_001_500,
      applied_at: 1_700_000_001_000,
      problem: 'broken',
    });
    expect([config.client_tls, config.backend_tls]).toEqual([null, null]);
  });
});

describe('a reload', () => {
  it('ADM-25: reads all files, asks for all names, and waits for what comes of them', async () => {
    const rig = new Rig().run();
    const name = (name: string, resolved: AskedName['resolved']): AskedName => ({
      name,
      target: `${name}:1`,
      resolved,
    });
    rig.names = [
      name('x', Promise.resolve({ outcome: 'changed', problem: null })),
      name('y', Promise.resolve({ outcome: 'failed', problem: 'no such name' })),
      name('gone', Promise.resolve(null)),
    ];
    expect(await rig.program.reload()).toEqual({
      service_config: { outcome: 'applied', problem: null, version: loaded().version },
      endpoints: { outcome: 'applied', problem: null },
      client_tls: null,
      backend_tls: null,
      names: [
        { backend: 'x', target: 'x:1', outcome: 'applied', problem: null },
        { backend: 'y', target: 'y:1', outcome: 'failed', problem: 'no such name' },
      ],
    });
    expect(rig.orders).toEqual(['resolve', 'ask sc', 'ask endpoints']);
    expect(rig.time.alarms.pending).toBe(0);
  });

  it('ADM-25: does not wait for ever', async () => {
    const rig = new Rig().run();
    rig.read = new Promise(() => {});
    rig.names = [{ name: 'x', target: 'x:1', resolved: new Promise(() => {}) }];
    const report = rig.program.reload();
    rig.time.advance(5000);
    const pending = { outcome: 'pending', problem: 'not read after 5000 ms' };
    expect(await report).toMatchObject({
      service_config: pending,
      endpoints: pending,
      names: [{ outcome: 'pending', problem: 'not resolved after 5000 ms' }],
    });
  });

  it('that a drain overtakes says that nothing was read', async () => {
    const rig = new Rig().run();
    rig.read = Promise.resolve(null);
    expect((await rig.program.reload()).endpoints).toEqual({
      outcome: 'unchanged',
      problem: 'not read: the proxy is draining',
    });
  });

  it('by SIGHUP does the same', () => {
    const rig = new Rig();
    rig.program.readAgain();
    expect(rig.orders).toEqual([]);
    rig.run().program.readAgain();
    expect(rig.orders).toEqual(['resolve', 'ask sc', 'ask endpoints']);
  });
});

describe('a drain', () => {
  it('ADM-28: that was asked for stops following, quiesces, and leaves the process', async () => {
    const rig = new Rig(['--pre-stop-delay', '5s']).run();
    const words = 'not ready, after 5000 ms draining, at most 30000 ms';
    expect(rig.program.drain()).toBe(`${words}; ${staying}`);
    expect(rig.orders).toEqual([...stops, 'quiesce']);
    expect([rig.program.phase, rig.told]).toEqual(['draining', [words]]);
    rig.endQuiesce();
    await settle();
    expect([rig.program.phase, rig.told.at(-1)]).toEqual(['drained', `drained; ${staying}`]);
    expect(rig.orders).toEqual([...stops, 'quiesce']);
  });

  it('ADM-29: that is over leaves the signal nothing but to stop', async () => {
    const rig = new Rig().run();
    rig.program.drain();
    rig.endQuiesce();
    await settle();
    rig.told.length = 0;
    await rig.program.end('SIGTERM');
    expect(rig.told).toEqual(['SIGTERM: drained before, the process ends']);
    expect(rig.orders.at(-1)).toBe('stop');
  });

  it('ADM-29: that is under way is finished by the signal, and told once', async () => {
    const rig = new Rig().run();
    rig.program.drain();
    rig.told.length = 0;
    const end = rig.program.end('SIGINT');
    await settle();
    expect(rig.orders).not.toContain('stop');
    rig.endQuiesce();
    await end;
    expect(rig.orders.at(-1)).toBe('stop');
    expect(rig.told).toEqual(['SIGINT: draining already, the process ends when that is over', 'drained']);
  });

  it('by a signal alone drains and stops', async () => {
    const rig = new Rig().run();
    const end = rig.program.end('SIGTERM');
    expect(rig.program.phase).toBe('draining');
    rig.endQuiesce();
    await end;
    expect(rig.orders).toEqual([...stops, 'quiesce', 'stop']);
    expect(rig.told).toEqual(['SIGTERM: draining, at most 30000 ms', 'drained']);
  });
});
