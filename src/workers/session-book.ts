import type { DropOutcome, SessionFacts, SessionHold } from '../balance/session-hold.js';
import {
  createSharedSessions,
  type SessionSettings,
  type SessionStats,
  type SharedSessions,
} from '../balance/sessions.js';
import type { BackendId } from '../grpc/backend-id.js';
import type { OwnerAnswer, SessionNewsEntry, SessionToPrimary, SessionToWorker } from './session-messages.js';

/**
 * A session is idle for so much longer here than it may be (ms): what its calls do in a worker is told a moment later. Workers
 * themselves keep to the time.
 */
const newsDelay = 250;

/** For so long (ms) a session that was dropped as idle is kept anew when a worker says that it is in use. */
const revivable = 2000;

/** Says something to workers; each hears it in this order. */
export interface SessionBookPorts {
  readonly tell: (worker: number, message: SessionToWorker) => void;
  /** To all workers that there are. */
  readonly tellAll: (message: SessionToWorker) => void;
}

/** One that was dropped as idle. */
interface Lapse {
  readonly claim: number;
  readonly backend: BackendId;
  readonly createdAt: number;
  readonly usedAt: number;
  readonly droppedAt: number;
}

/**
 * The sessions of all workers, as the primary keeps them (D31). For each worker whose calls use a session it has one hold of
 * it, so that it stays while any of them does. How backends are is for workers to judge, which have the connections (D15).
 *
 * A session that is dropped is told to all workers, also to the one that said so: it may have been given the same claim
 * meanwhile. Pure; times are clock milliseconds.
 */
export class SessionBook {
  private readonly settings: SessionSettings;
  private readonly ports: SessionBookPorts;
  private readonly table: SharedSessions;
  private readonly holds = new Map<number, Map<string, SessionHold>>();
  /** The oldest first. */
  private readonly lapses = new Map<string, Lapse>();
  private readonly gone: string[] = [];
  private readonly goneIdle: string[] = [];
  private now = 0;

  constructor(settings: SessionSettings, ports: SessionBookPorts) {
    this.settings = settings;
    this.ports = ports;
    this.table = createSharedSessions({ ...settings, ttl: settings.ttl + newsDelay }, () => null, 'owner', {
      onBusy() {},
      onIdle() {},
      onDropped: (session, outcome) => this.noteDropped(session, outcome),
    });
  }

  /** A worker has said something. */
  hear(worker: number, message: SessionToPrimary, now: number): void {
    this.begin(now);
    switch (message.type) {
      case 'session_ask': {
        const answer = this.answer(worker, message.key, message.candidate);
        // Before the answer: what it tells is newer.
        this.tellGone();
        this.ports.tell(worker, { type: 'session_answer', ask: message.ask, answer });
        return;
      }
      case 'session_news':
        for (const entry of message.entries) this.takeNews(worker, entry);
        break;
      case 'session_lost':
        if (this.table.claimOf(message.key, now) === message.claim) this.table.lose(message.key);
        else if (this.lapses.get(message.key)?.claim === message.claim) this.lapses.delete(message.key);
        break;
      case 'session_released':
        this.release(worker, message.key, message.claim);
        break;
      default:
        message satisfies never;
    }
    this.tellGone();
  }

  /**
   * A worker has died. What its calls were about may have been processed: no claim is given back for it (D29), and their
   * sessions are idle from now on.
   */
  leave(worker: number, now: number): void {
    this.begin(now);
    const held = this.holds.get(worker);
    this.holds.delete(worker);
    for (const hold of held?.values() ?? []) {
      hold.reached(now);
      hold.ended(now);
    }
  }

  /** Drops all. Calls in flight go on, and are of no session. Returns how many there were. */
  clear(): number {
    const cleared = this.table.clear();
    for (const held of this.holds.values()) for (const hold of held.values()) hold.ended(this.now);
    this.holds.clear();
    this.lapses.clear();
    this.ports.tellAll({ type: 'session_gone', keys: 'all', idle: false });
    return cleared;
  }

  /**
   * Drops what has expired unnoticed, and counts; `calls` is how many holds workers have. One that was dropped as idle and kept
   * anew counts as created again. See mergeSessionStats.
   */
  stats(now: number): SessionStats {
    this.begin(now);
    const stats = this.table.stats(now);
    this.tellGone();
    return stats;
  }

  private begin(now: number): void {
    this.now = now;
    for (const [key, { droppedAt }] of this.lapses) {
      if (now < droppedAt + revivable) return;
      this.lapses.delete(key);
    }
  }

  private answer(worker: number, key: string, candidate: BackendId | null): OwnerAnswer {
    const { table, now } = this;
    const found = table.find(key, now);
    switch (found.kind) {
      case 'held':
        return this.keep(worker, key, found.hold, false);
      case 'full':
        return found;
      // Never: a backend is here as if it could be used.
      case 'lost':
      case 'none': {
        if (candidate === null) return { kind: 'none' };
        const hold = table.claim(key, candidate, now);
        if (hold === null) return { kind: 'full' };
        this.lapses.delete(key);
        return this.keep(worker, key, hold, true);
      }
      default:
        return found satisfies never;
    }
  }

  private keep(worker: number, key: string, hold: SessionHold, fresh: boolean): OwnerAnswer {
    this.setHold(worker, key, hold);
    const { backend, claim, createdAt, usedAt } = hold;
    return { kind: 'kept', backend, claim, age: this.now - createdAt, idle: this.now - usedAt, fresh };
  }

  private takeNews(worker: number, { key, claim, busy, usedAgo }: SessionNewsEntry): void {
    const { table, now } = this;
    const standing = table.claimOf(key, now);
    if (
      standing !== claim &&
      !(standing === null && this.revive(worker, key, claim, busy || usedAgo < this.settings.ttl))
    ) {
      // What it tells of is no more. Where it has a hold it has been told of the new one since.
      if (this.holdOf(worker, key) === null)
        this.ports.tell(worker, { type: 'session_gone', keys: [key], idle: false });
      return;
    }
    table.slide(key, now - usedAgo);
    if (!busy) this.endHold(worker, key);
    else if (this.holdOf(worker, key) === null) {
      const found = table.find(key, now);
      if (found.kind === 'held') this.setHold(worker, key, found.hold);
    }
  }

  /** Keeps a session anew that was dropped as idle, where the worker's news is of that very one. */
  private revive(worker: number, key: string, claim: number, inUse: boolean): boolean {
    const lapse = this.lapses.get(key);
    if (lapse?.claim !== claim || !inUse) return false;
    this.lapses.delete(key);
    const { backend, createdAt, usedAt } = lapse;
    const { now } = this;
    const kept = { backend, claim, age: now - createdAt, idle: now - usedAt, fresh: false };
    const found = this.table.adopt(key, kept, now);
    if (found.kind === 'held') this.setHold(worker, key, found.hold);
    return true;
  }

  private release(worker: number, key: string, claim: number): void {
    const hold = this.holdOf(worker, key);
    // Another worker may have come to it meanwhile; then it stands.
    if (hold?.claim === claim && !hold.release()) this.endHold(worker, key);
  }

  private holdOf(worker: number, key: string): SessionHold | null {
    return this.holds.get(worker)?.get(key) ?? null;
  }

  private setHold(worker: number, key: string, hold: SessionHold): void {
    const held = this.holds.get(worker) ?? new Map<string, SessionHold>();
    this.holds.set(worker, held);
    const former = held.get(key);
    held.set(key, hold);
    former?.ended(this.now);
  }

  private endHold(worker: number, key: string): void {
    const held = this.holds.get(worker);
    held?.get(key)?.ended(this.now);
    held?.delete(key);
  }

  private noteDropped(session: SessionFacts, outcome: DropOutcome): void {
    const { key, claim, backend, createdAt, usedAt } = session;
    const { now } = this;
    const wasIdle = session.calls === 0;
    for (const held of this.holds.values()) {
      held.get(key)?.ended(now);
      held.delete(key);
    }
    this.lapses.delete(key);
    switch (outcome) {
      case 'released':
        // Nobody else has heard of it.
        return;
      case 'lost':
        this.gone.push(key);
        return;
      case 'expired':
      case 'evicted': {
        const { maxAge } = this.settings;
        if (!wasIdle || (maxAge !== null && now >= createdAt + maxAge)) {
          this.gone.push(key);
          return;
        }
        this.lapses.set(key, { claim, backend, createdAt, usedAt, droppedAt: now });
        this.goneIdle.push(key);
        return;
      }
      default:
        outcome satisfies never;
    }
  }

  private tellGone(): void {
    if (this.gone.length > 0) this.ports.tellAll({ type: 'session_gone', keys: this.gone.splice(0), idle: false });
    if (this.goneIdle.length > 0)
      this.ports.tellAll({ type: 'session_gone', keys: this.goneIdle.splice(0), idle: true });
  }
}
