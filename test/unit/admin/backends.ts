import type { AdminState } from '../../../src/admin/admin-state.js';
import { BackendHistory } from '../../../src/admin/backend-history.js';
import { type CallRing, createCallRing } from '../../../src/admin/call-ring.js';
import { createEventHub } from '../../../src/admin/event-hub.js';
import type { LiveSnapshot, LiveThrottle } from '../../../src/admin/live.js';
import { describeLive } from '../../../src/admin/live-state.js';
import type { Program } from '../../../src/admin/program.js';
import { createHealth } from '../../../src/balance/health.js';
import { defaultHealth, type Health, type HealthChange } from '../../../src/balance/health-types.js';
import { createSessions, type Sessions } from '../../../src/balance/sessions.js';
import { duration } from '../../../src/config/setting-kinds.js';
import { type BackendId, backendId } from '../../../src/grpc/backend-id.js';
import { CallTally } from '../../../src/grpc/call-tally.js';
import { createNoMeters } from '../../../src/proxy/no-meters.js';
import type { UpstreamBackend } from '../../../src/upstream/types.js';
import { createVirtualTime } from '../../support/virtual-time.js';

/** A backend as the admin endpoints read it, connected and idle; it takes no calls. */
export function backend(rest: Partial<UpstreamBackend> = {}): UpstreamBackend {
  const unused = (): never => {
    throw new Error('the admin endpoints only read');
  };
  return {
    id: backendId('b1'),
    name: 'b1',
    target: 'ipv4:10.0.0.7:50051',
    endpoint: { kind: 'tcp', host: '10.0.0.7', port: 50051 },
    host: null,
    authority: '10.0.0.7:50051',
    link: 'ready',
    generation: 3,
    connections: 1,
    inFlight: 2,
    queued: 0,
    load: 2,
    weight: 1,
    priority: 0,
    maxCalls: null,
    phase: 'serving',
    overdue: false,
    downSince: null,
    lastError: null,
    nextConnectAt: null,
    calls: new CallTally(),
    views: unused,
    tryOpen: unused,
    lifeOf: unused,
    wait: unused,
    cancel: unused,
    ...rest,
  };
}

/** One that is down since 400 and is to be tried again 250.4 ms after 1000. */
export const down = backend({
  id: backendId('b2'),
  name: 'b2',
  link: 'backoff',
  connections: 0,
  generation: 0,
  inFlight: 0,
  downSince: 400,
  lastError: 'backend b2 (10.0.0.7:50051): connection refused',
  nextConnectAt: 1250.4,
});

/** A member of a group. */
export function member(group: string, address: string, rest: Partial<UpstreamBackend> = {}): UpstreamBackend {
  return backend({ id: backendId(`${group}/${address}`), name: group, ...rest });
}

/** What the admin endpoints work with, with backends that are no more than their state. */
export class World implements AdminState {
  readonly backends: UpstreamBackend[];
  /** Clock milliseconds. */
  time = 1000;
  isDraining = false;
  bucket: LiveThrottle | null = null;
  program: Program | null = null;
  readonly readAsset: AdminState['readAsset'] = null;
  /** Streams open at an address that a backend had before. */
  atOldAddress = 0;
  /** Ids that no source names. */
  readonly removed = new Set<BackendId>();
  readonly health: Health = createHealth(defaultHealth);
  readonly history = new BackendHistory(['re_dispatched', 'failed']);
  readonly sessions: Sessions = createSessions(
    { ttl: 60_000, maxAge: null, maxEntries: 10, lostAfter: 60_000 },
    () => null,
  );
  readonly changes: HealthChange[] = [];
  readonly lines: { readonly fields: Readonly<Record<string, unknown>>; readonly message: string }[] = [];
  /** What was asked of the pool, in order. */
  readonly orders: string[] = [];
  readonly pool: AdminState['pool'];
  readonly readDuration = (text: string): ReturnType<AdminState['readDuration']> =>
    duration('1ms', '24h').fromText(text);

  readonly ring: CallRing = createCallRing(500, (now) => 1_700_000_000_000 + now);
  readonly watch: AdminState['watch'];

  constructor(backends: readonly UpstreamBackend[] = [backend()]) {
    this.backends = backends.map((one) => ({ ...one }));
    const world = this;
    this.pool = {
      get backends() {
        return world.backends;
      },
      inFlightOf: (id) => (world.backends.find((one) => one.id === id)?.inFlight ?? 0) + world.atOldAddress,
      drain: (id) => this.order(`drain ${id}`, id, { phase: 'leaving' }),
      resume: (id) => (this.removed.has(id) ? false : this.order(`resume ${id}`, id, { phase: 'serving' })),
      lose: (id, detail) =>
        this.order(`lose ${id}: ${detail}`, id, { connections: 0, link: 'connecting', downSince: this.time }),
    };
    const source = { instance: 'first', ring: this.ring, snapshot: () => this.snapshot() };
    this.watch = { ...source, hub: createEventHub(createVirtualTime(), source, () => {}) };
  }

  readonly draining = (): boolean => this.isDraining;
  readonly now = (): number => this.time;
  readonly throttle = (): LiveThrottle | null => this.bucket;
  readonly sources = (): ReturnType<AdminState['sources']> =>
    new Map(this.backends.filter(({ id }) => !this.removed.has(id)).map(({ id }) => [id, 'flags'] as const));
  readonly onHealthChange = (change: HealthChange): void => {
    this.changes.push(change);
    this.history.changed(change);
  };
  readonly tell = (_level: 'info', fields: Readonly<Record<string, unknown>>, message: string): void => {
    this.lines.push({ fields, message });
  };

  private snapshot(): LiveSnapshot {
    return describeLive(
      {
        instance: 'first',
        numbers: createNoMeters().live(),
        at: 1_700_000_000_000 + this.time,
        uptime: this.time,
        inFlight: 2,
        clients: 1,
        replayHeld: 15,
        replayLimit: 1000,
      },
      this,
    );
  }

  private order(told: string, id: BackendId, change: Partial<UpstreamBackend>): boolean {
    this.orders.push(told);
    const found = this.backends.find((one) => one.id === id);
    if (found !== undefined) Object.assign(found, change);
    return found !== undefined;
  }
}
