import { type Blame, createBlame } from '../balance/blame.js';
import { createHealth } from '../balance/health.js';
import { defaultHealth, type Health, type HealthChange, type ParkReason } from '../balance/health-types.js';
import { createPicker } from '../balance/picker.js';
import type { Picker, PickQuery } from '../balance/types.js';
import { unplacedEnd } from '../grpc/attempt-end.js';
import type { AttemptEnd } from '../grpc/attempt-facts.js';
import type { BackendId } from '../grpc/backend-id.js';
import { type Millis, millis } from '../grpc/millis.js';
import { drawFate } from './fate.js';
import { ModelBackend } from './model-backend.js';
import { seededRandom } from './seeded-random.js';
import type { VirtualTime } from './virtual-time.js';
import { partSeed, type World } from './world.js';

/** As the proxy has it where no flag says otherwise (--min-blame). */
const blameDefaults = { minBlame: 1000, ignoreDeadline: [], countInternal: false, rateLimit: false };

/** A backend that picks left alone. */
export interface Park {
  readonly backend: BackendId;
  readonly reason: ParkReason;
  readonly from: Millis;
  /** When it was to end, or was ended. */
  to: Millis;
}

/** An attempt at a backend. */
export interface Visit {
  readonly backend: BackendId;
  /** Ends it from our side. @param late the call's deadline has passed */
  cancel(late: boolean): void;
}

/** What an attempt asks for. */
export interface VisitTerms extends Pick<PickQuery, 'tried' | 'cause' | 'guarded'> {
  /** The attempt's own luck, in [0, 1). */
  readonly random: () => number;
  /** Told once, unless it is cancelled. */
  readonly ended: (end: AttemptEnd) => void;
}

/** The backends of a simulation, chosen by the proxy's own picker and parked by its own health. */
export class Fleet {
  /** When attempts were sent. */
  readonly sends: Millis[] = [];
  readonly parks: Park[] = [];
  readonly backends: readonly ModelBackend[];
  private readonly time: VirtualTime;
  private readonly world: World;
  private readonly path: string;
  private readonly picker: Picker;
  private readonly health: Health = createHealth(defaultHealth);
  private readonly blame: Blame = createBlame(blameDefaults);
  /** Who waits for a backend to come up. */
  private readonly hopeful = new Set<() => void>();

  /** @param path the method's, as health remembers how long it may be silent */
  constructor(time: VirtualTime, world: World, path: string) {
    this.time = time;
    this.world = world;
    this.path = path;
    this.backends = Array.from(
      { length: world.backends },
      (_, index) => new ModelBackend(`b${index + 1}`, time, world),
    );
    const options = { hedgeDistinct: false, pinOnParked: 'fail' } as const;
    this.picker = createPicker(world.balancing, this.health, options, seededRandom(partSeed(world.seed, -2, 0)));
    for (const { from, to, backend, how } of world.outages) {
      if (how.kind !== 'down') continue;
      const befallen = backend === null ? this.backends : this.backends.slice(backend, backend + 1);
      time.at(from, 'outside', () => {
        for (const each of befallen) this.goDown(each);
      });
      time.at(to, 'outside', () => {
        for (const each of befallen) this.comeUp(each);
      });
    }
  }

  /** Sends an attempt where the picker says; what comes instead where it can go nowhere. */
  visit(terms: VisitTerms): Visit | AttemptEnd {
    const { tried, cause, guarded, random } = terms;
    const { now } = this.time;
    const pick = this.picker.pick(this.backends, { tried, failed: [], bounds: null, cause, guarded, now });
    const index = pick.kind === 'use' ? this.backends.findIndex(({ id }) => id === pick.id) : -1;
    const backend = this.backends[index];
    if (backend === undefined) return unplacedEnd('every backend is down');
    const health = this.health.of(backend.id);
    const mark = health.began(now);
    this.sends.push(now);
    const waited = (): number => this.time.now - now;
    const judged = (end: AttemptEnd | 'deadline' | 'abandoned'): void => {
      const verdict = this.blame.judge(end, this.path, waited(), waited(), false);
      this.note(health.ended(mark, verdict, this.time.now, waited()));
    };
    const job = {
      fate: () => drawFate(this.world, index, this.time.now, random),
      ended: (end: AttemptEnd) => {
        judged(end);
        terms.ended(end);
      },
    };
    backend.arrive(job);
    return {
      backend: backend.id,
      cancel(late) {
        backend.cancel(job);
        judged(late ? 'deadline' : 'abandoned');
      },
    };
  }

  /** Tells when a backend comes up. @returns stops that */
  hope(ready: () => void): () => void {
    this.hopeful.add(ready);
    return () => this.hopeful.delete(ready);
  }

  private goDown(backend: ModelBackend): void {
    this.health.of(backend.id).disconnected(this.time.now, this.time.now);
    backend.goDown();
  }

  private comeUp(backend: ModelBackend): void {
    backend.comeUp();
    if (backend.link !== 'ready') return;
    this.note(this.health.of(backend.id).connected(this.time.now));
    const waiting = [...this.hopeful];
    this.hopeful.clear();
    for (const ready of waiting) ready();
  }

  private note(change: HealthChange | null): void {
    if (change === null) return;
    const { id, reason } = change;
    const { now } = this.time;
    if (change.kind === 'parked') {
      this.parks.push({ backend: id, reason, from: now, to: millis(now + (change.parkMs ?? 0)) });
      return;
    }
    const park = this.parks.findLast((each) => each.backend === id && each.reason === reason);
    if (park !== undefined && park.to > now) park.to = now;
  }
}
