import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Caller, type FakeLink, Scene } from './fake-link.js';

/** One thing that happens; `at` picks among what there is to happen to. */
interface Step {
  readonly kind:
    | 'call'
    | 'cancel'
    | 'finish'
    | 'settings'
    | 'goaway'
    | 'lose'
    | 'break'
    | 'refuse'
    | 'close'
    | 'wait'
    | 'stop';
  readonly at: number;
}

const kinds = fc.constantFrom<Step['kind']>(
  ...(['call', 'call', 'call', 'cancel', 'finish', 'finish', 'settings', 'settings', 'goaway'] as const),
  ...(['lose', 'break', 'refuse', 'close', 'wait', 'wait', 'stop'] as const),
);
const steps = fc.array(fc.record({ kind: kinds, at: fc.nat(5000) }), { minLength: 1, maxLength: 120 });

class Run {
  readonly scene: Scene;
  readonly calls: Caller[] = [];
  private readonly cancelled = new Set<Caller>();
  /** Links whose sockets are closed. */
  private readonly closed = new Set<FakeLink>();
  /** In the order in which they began to wait. */
  private readonly waitOrder: Caller[] = [];
  private readonly served: Caller[] = [];

  constructor(connections: number, keepalive: boolean) {
    this.scene = new Scene({
      backendConnections: connections,
      queueLimit: 5,
      // No PING is ever answered.
      keepalive: keepalive ? { time: 1000, timeout: 500, maxPings: 3 } : null,
    });
    this.scene.backend.start();
  }

  step({ kind, at }: Step): void {
    const { scene } = this;
    const open = scene.links.filter((link) => !this.closed.has(link));
    const link = open[at % Math.max(1, open.length)];
    switch (kind) {
      case 'call': {
        const caller = scene.call();
        if (caller.heard.length === 0) {
          this.waitOrder.push(caller);
          caller.during = (what) => {
            if (what === 'opened') this.served.push(caller);
          };
        }
        this.calls.push(caller);
        return;
      }
      case 'cancel': {
        const waiting = this.calls.filter(({ heard }) => heard.length === 0);
        const one = waiting[at % Math.max(1, waiting.length)];
        if (one === undefined || this.cancelled.has(one)) return;
        scene.backend.cancel(one);
        this.cancelled.add(one);
        return;
      }
      case 'finish': {
        const busy = scene.links.filter(({ streams }) => streams.length > 0);
        const one = busy[at % Math.max(1, busy.length)];
        one?.finish(one.streams[at % one.streams.length]);
        return;
      }
      case 'settings':
        if (link !== undefined && !link.stopped) link.settings(at % 4);
        return;
      case 'goaway':
        if (link?.settled && !link.stopped) link.goaway(at % 2 === 0 ? 0 : 2 ** 31 - 1);
        return;
      case 'break':
        if (link === undefined || link.stopped) return;
        link.lost('broken');
        link.events.onFailed('broken');
        return;
      case 'lose':
      case 'close':
        if (link?.settled || link?.stopped) this.close(link);
        return;
      case 'refuse':
        if (link !== undefined && !link.settled) this.close(link);
        return;
      case 'wait':
        scene.time.advance(at);
        return;
      case 'stop':
        if (at % 10 === 0) scene.backend.stop();
        return;
      default:
        kind satisfies never;
    }
  }

  private close(link: FakeLink): void {
    if (this.closed.has(link)) return;
    this.closed.add(link);
    link.lose('closed');
  }

  /** What holds after every step. */
  check(connections: number): void {
    const { scene } = this;
    const { backend } = scene;
    const connecting = scene.links.filter((link) => !this.closed.has(link) && !link.settled && !link.stopped);
    expect(connecting.length).toBeLessThanOrEqual(1);
    expect(backend.connections).toBeLessThanOrEqual(connections);
    expect(backend.inFlight).toBe(scene.links.reduce((sum, { streams }) => sum + streams.length, 0));
    const waiting = this.calls.filter((one) => one.heard.length === 0 && !this.cancelled.has(one));
    if (scene.stopped === 0) expect(backend.queued).toBe(waiting.length);
    for (const one of this.calls) {
      const answers = one.heard.filter((what) => what === 'opened' || what.startsWith('failed'));
      expect(answers.length).toBeLessThanOrEqual(1);
      if (this.cancelled.has(one)) expect(one.heard).toEqual([]);
    }
    // Nobody waits beside a free stream, and those who waited were served in order.
    const room = scene.links.some((link) => link.room > 0 && !link.asked.includes('end'));
    if (room && backend.link !== 'backoff') expect(waiting.length).toBe(0);
    const order = this.served.map((one) => this.waitOrder.indexOf(one));
    expect(order).toEqual([...order].sort((a, b) => a - b));
  }

  /** Whatever happened, a backend whose peer is well again comes up and serves. */
  recover(): void {
    const { scene } = this;
    for (const link of scene.links) if (link.settled || link.stopped) this.close(link);
    for (let i = 0; i < 10 && scene.backend.link !== 'ready'; i += 1) {
      scene.time.advance(10_000);
      const last = scene.links.at(-1);
      if (last !== undefined && !this.closed.has(last) && !last.stopped) last.settings(1000);
    }
    expect(scene.backend.link).toBe('ready');
    expect(scene.call().heard).toEqual(['opened']);
    expect(scene.backend.queued).toBe(0);
  }

  /** And one that stops leaves nothing behind. */
  end(): void {
    const { scene } = this;
    scene.backend.stop();
    scene.backend.lose('end');
    for (const link of scene.links) this.close(link);
    scene.time.endTurn();
    expect(scene.stopped).toBe(1);
    expect(scene.time.alarms.pending).toBe(0);
    expect(scene.backend).toMatchObject({ inFlight: 0, queued: 0, connections: 0 });
    for (const one of this.calls) if (!this.cancelled.has(one)) expect(one.heard.length).toBeGreaterThan(0);
  }
}

it('keeps its rules in every order of events, recovers, and leaves nothing behind', () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 3 }), fc.boolean(), (list, connections, keepalive) => {
      const run = new Run(connections, keepalive);
      let stopping = false;
      for (const step of list) {
        run.step(step);
        run.check(connections);
        stopping ||= step.kind === 'stop' && step.at % 10 === 0;
      }
      if (!stopping) run.recover();
      run.end();
    }),
    { numRuns: 500 },
  );
});
