import type { Candidate } from '../balance/types.js';
import { judgeStreamEnd } from '../grpc/attempt-end.js';
import type { AttemptEnd } from '../grpc/attempt-facts.js';
import { type BackendId, backendId } from '../grpc/backend-id.js';
import { millis } from '../grpc/millis.js';
import type { Fate } from './fate.js';
import type { VirtualTime } from './virtual-time.js';

/** One attempt at a backend. */
export interface Job {
  /** Asked once, when work on it begins. */
  readonly fate: () => Fate;
  /** Not told once it was cancelled. */
  readonly ended: (end: AttemptEnd) => void;
}

export interface BackendTerms {
  /** Worked on at a time; null: all. */
  readonly capacity: number | null;
  readonly cancelledWork: 'stops' | 'goes on';
}

/** A backend that works on so many attempts at a time, and lets others wait in order of arrival. */
export class ModelBackend implements Candidate {
  readonly id: BackendId;
  readonly name: string;
  readonly weight = 1;
  readonly priority = 0;
  /** The most that it has had at a time, those that wait included. */
  peak = 0;
  private readonly time: VirtualTime;
  private readonly terms: BackendTerms;
  private readonly working = new Set<Job>();
  private readonly waiting = new Set<Job>();
  /** Of those in work, what it will never answer. */
  private readonly hung = new Set<Job>();
  /** In work for nobody. */
  private readonly abandoned = new Set<Job>();
  private downs = 0;

  constructor(name: string, time: VirtualTime, terms: BackendTerms) {
    this.id = backendId(name);
    this.name = name;
    this.time = time;
    this.terms = terms;
  }

  get link(): 'ready' | 'backoff' {
    return this.downs === 0 ? 'ready' : 'backoff';
  }

  /** Attempts here that somebody waits for. */
  get load(): number {
    return this.working.size - this.abandoned.size + this.waiting.size;
  }

  arrive(job: Job): void {
    this.waiting.add(job);
    this.peak = Math.max(this.peak, this.working.size + this.waiting.size);
    this.workOn();
  }

  /** What it never would have answered stops in any case. */
  /** Work that would never have been done stops in any case. */
  cancel(job: Job): void {
    if (this.waiting.delete(job) || !this.working.has(job)) return;
    if (this.terms.cancelledWork === 'goes on' && !this.hung.has(job)) this.abandoned.add(job);
    else this.free(job);
  }

  /** Its connections are lost with all that is in work here, and no new one can be made. */
  goDown(): void {
    this.downs += 1;
    const jobs = [...this.working, ...this.waiting].filter((job) => !this.abandoned.has(job));
    this.working.clear();
    this.waiting.clear();
    this.abandoned.clear();
    this.hung.clear();
    for (const { ended } of jobs) ended(judgeStreamEnd({ kind: 'lost', flushed: true, detail: 'the backend is down' }));
  }

  comeUp(): void {
    this.downs -= 1;
  }

  private workOn(): void {
    for (const job of this.waiting) {
      if (this.terms.capacity !== null && this.working.size >= this.terms.capacity) return;
      this.waiting.delete(job);
      this.working.add(job);
      const fate = job.fate();
      if (fate === null) this.hung.add(job);
      else this.time.at(millis(this.time.now + fate.after), 'outside', () => this.finish(job, fate.end));
    }
  }

  private finish(job: Job, end: AttemptEnd): void {
    // Cancelled, or lost with its connection.
    if (!this.working.has(job)) return;
    const wanted = !this.abandoned.has(job);
    this.free(job);
    if (wanted) job.ended(end);
  }

  private free(job: Job): void {
    this.working.delete(job);
    this.abandoned.delete(job);
    this.hung.delete(job);
    this.workOn();
  }
}
