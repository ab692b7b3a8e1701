import { describe, expect, it } from 'vitest';
import { type Screen, type TopPorts, top } from '../../../src/cli/top.js';
import type { HttpAnswer } from '../../../src/cli/top-read.js';
import { exhausted, live } from '../../support/live.js';

const options = { admin: { kind: 'tcp', host: 'h', port: 1 }, interval: 1000, once: false, json: false } as const;

/** A proxy that runs a second further with each look, unless `down`; a clock that stands; waits that end by hand. */
class World {
  out = '';
  err = '';
  looks = 0;
  down = false;
  readonly frames: string[][] = [];
  left = 0;
  size = { columns: 80, rows: 24 };
  input = (_text: string): void => {};
  resized = (): void => {};
  end = (): void => {};
  private waits: (() => void)[] = [];
  readonly ports: TopPorts;

  constructor(terminal: boolean) {
    const screen: Screen = {
      size: () => this.size,
      draw: (lines) => void this.frames.push([...lines]),
      onInput: (listener) => {
        this.input = listener;
      },
      onResize: (listener) => {
        this.resized = listener;
      },
      leave: () => {
        this.left += 1;
      },
    };
    this.ports = {
      get: async (_address, path) => this.answer(path),
      takeScreen: terminal ? () => screen : null,
      stdout: (text) => {
        this.out += text;
      },
      stderr: (text) => {
        this.err += text;
      },
      color: false,
      columns: null,
      now: () => 0,
      timeOfDay: () => '12:00:00',
      wait: () =>
        new Promise((resolve) => {
          this.waits.push(resolve);
        }),
      ended: new Promise<void>((resolve) => {
        this.end = resolve;
      }),
    };
  }

  private answer(path: string): HttpAnswer {
    if (this.down) return { ok: false, code: 'ECONNREFUSED', message: '' };
    if (path !== '/live') return { ok: true, status: 200, body: JSON.stringify({ calls: [exhausted(1)] }) };
    this.looks += 1;
    const calls = { ...live().calls, ended: this.looks * 10, ok: this.looks * 10 };
    return { ok: true, status: 200, body: JSON.stringify(live({ uptime_ms: 60_000 + this.looks * 1000, calls })) };
  }

  /** Lets everything that can happen happen; with `waited` the interval goes by first. */
  async settle(waited = false): Promise<void> {
    if (waited) for (const resolve of this.waits.splice(0)) resolve();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('hedgerow top on a terminal', () => {
  it('TOP-14: draws at once and at each interval, at keys and at a new size, and gives the terminal back', async () => {
    const world = new World(true);
    const over = top(options, world.ports);
    expect(world.frames[0]?.[2]).toBe('asking h:1 …');
    await world.settle();
    expect(world.frames).toHaveLength(2);
    await world.settle(true);
    expect(world.frames.at(-1)?.some((line) => line.startsWith('calls     10/s'))).toBe(true);
    world.input('p');
    expect(world.frames.at(-1)?.at(-1)).toMatch(/^PAUSED/);
    world.size = { columns: 100, rows: 30 };
    world.resized();
    expect(world.frames.at(-1)).toHaveLength(30);
    expect(world.left).toBe(0);
    world.input('q');
    expect(await over).toBe(0);
    expect([world.left, world.out, world.err]).toEqual([1, '', '']);
  });

  it('TOP-05: a proxy that is gone is told on the screen, and taken up again when it is back', async () => {
    const world = new World(true);
    const over = top(options, world.ports);
    await world.settle();
    world.down = true;
    await world.settle(true);
    expect(world.frames.at(-1)?.[1]).toMatch(/^✕ nothing listens at h:1; start hedgerow serve/);
    world.down = false;
    await world.settle(true);
    expect(world.frames.at(-1)?.join('\n')).not.toContain('✕');
    world.input('\u0003');
    expect(await over).toBe(0);
  });

  it('a signal ends it, and the terminal is given back', async () => {
    const world = new World(true);
    const over = top(options, world.ports);
    await world.settle();
    world.end();
    expect(await over).toBe(0);
    expect(world.left).toBe(1);
  });

  it('a fault of its own gives the terminal back too', async () => {
    const world = new World(true);
    const get = () => Promise.reject(new Error('a defect'));
    await expect(top(options, { ...world.ports, get })).rejects.toThrow('a defect');
    expect(world.left).toBe(1);
  });

  it('--json prints, on a terminal as well', async () => {
    const world = new World(true);
    const over = top({ ...options, json: true }, world.ports);
    await world.settle();
    world.end();
    await over;
    expect(world.frames).toEqual([]);
    expect(JSON.parse(world.out)).toMatchObject({
      level: 'ok',
      span: { since_start: true },
      live: { instance: 'first' },
    });
  });
});

describe('hedgerow top without a terminal', () => {
  it('TOP-15: prints a frame each interval; what is wrong goes to stderr, once', async () => {
    const world = new World(false);
    const over = top(options, world.ports);
    await world.settle();
    await world.settle(true);
    expect(world.out.match(/^hedgerow 0\.1\.0 /gm)).toHaveLength(2);
    expect(world.out).not.toContain('\u001b');
    world.down = true;
    await world.settle(true);
    await world.settle(true);
    expect(world.err).toMatch(/^hedgerow top: nothing listens at h:1; [^\n]*; trying again\n$/);
    world.down = false;
    await world.settle(true);
    expect(world.out.match(/^hedgerow 0\.1\.0 /gm)).toHaveLength(3);
    world.end();
    expect(await over).toBe(0);
  });

  it('TOP-16: --once looks twice, an interval apart, and prints one frame of that interval', async () => {
    const world = new World(false);
    const over = top({ ...options, once: true }, world.ports);
    await world.settle();
    expect([world.looks, world.out]).toEqual([1, '']);
    await world.settle(true);
    expect(await over).toBe(0);
    expect(world.out.match(/^hedgerow /gm)).toHaveLength(1);
    expect(world.out).toContain('calls     10/s   in flight 0   1 client   last 1 s\n');
  });

  it('TOP-17: --once with nobody there: exit 1 and one line', async () => {
    const world = new World(false);
    world.down = true;
    expect(await top({ ...options, once: true }, world.ports)).toBe(1);
    expect([world.out, world.err]).toEqual([
      '',
      'hedgerow top: nothing listens at h:1; start hedgerow serve, or name its --admin address\n',
    ]);
  });

  it('TOP-18: --json has the figures of the frame, and what they were read from', async () => {
    const world = new World(false);
    const over = top({ ...options, once: true, json: true }, world.ports);
    await world.settle();
    await world.settle(true);
    await over;
    expect(JSON.parse(world.out)).toEqual({
      level: 'ok',
      headline: 'All is well; nothing had to be retried.',
      span: {
        seconds: 1,
        since_start: false,
        calls_per_second: 10,
        success: 1,
        success_without_retries: 1,
        attempts_per_call: null,
        p50_ms: null,
        p99_ms: null,
        p99_ms_without_hedges: null,
        codes: {},
        reasons: {},
      },
      live: expect.objectContaining({ instance: 'first', uptime_ms: 62_000 }),
      calls: [expect.objectContaining({ seq: 1, reason: 'attempts_exhausted' })],
    });
  });
});
