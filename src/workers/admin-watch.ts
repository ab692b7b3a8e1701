import type { Watch } from '../admin/admin-state.js';
import { createEventHub, type EventHub, type EventSink } from '../admin/event-hub.js';
import { liveEvery, streamEvery } from '../admin/event-stream.js';
import type { LiveSnapshot } from '../admin/live.js';
import type { AlarmHandle, Alarms, Clock } from '../runtime/ports.js';
import { askAll, type Told, type WorkerGroup } from './admin-group.js';
import { type GroupLive, LiveBook } from './admin-live.js';
import { SharedLook } from './admin-look.js';
import { ToldRing } from './admin-ring.js';
import type { OwnFacts } from './merge-live.js';

/** What a watch is given. */
export interface GroupWatchOptions {
  readonly group: Pick<WorkerGroup, 'ask' | 'ready'>;
  readonly instance: string;
  /** Calls that are kept, 0 or more. */
  readonly recentCalls: number;
  /** What the primary knows of the program as a whole, at the moment. */
  readonly facts: () => OwnFacts;
  readonly clock: Clock;
  readonly alarms: Alarms;
  /** A fault of ours that ended all streams. */
  readonly onDefect: (error: unknown) => void;
}

/**
 * The calls of all workers that ended last, and how they are. Workers are asked when somebody wants to know, and from time to
 * time while a stream is open; what is told in between is what they said last.
 */
export class GroupWatch implements Watch {
  readonly instance: string;
  readonly ring: ToldRing;
  readonly hub: EventHub;
  private readonly options: GroupWatchOptions;
  private readonly streams: EventHub;
  private readonly book = new LiveBook();
  private readonly lives: SharedLook<GroupLive | null>;
  private readonly calls: SharedLook<boolean>;
  /** What was made of the answers when all were asked last. */
  private told: GroupLive | null = null;
  /** By worker, the number of the newest call that it has told. */
  private newest = new Map<number, number>();
  /** Workers that have gone since they were asked how they are. */
  private readonly leaving = new Set<number>();
  private readonly sinks = new Set<EventSink>();
  private alarm: AlarmHandle | null = null;
  private liveAt = 0;

  constructor(options: GroupWatchOptions) {
    this.options = options;
    this.instance = options.instance;
    this.ring = new ToldRing(options.recentCalls);
    this.lives = new SharedLook(() => this.askHow());
    this.calls = new SharedLook(() => this.askCalls());
    this.streams = createEventHub(options, this, (error) => {
      this.sinks.clear();
      options.onDefect(error);
    });
    this.hub = this.createHub();
  }

  /** How things were when the workers were asked last. */
  readonly snapshot = (): LiveSnapshot => {
    this.told ??= this.book.merge([], this.options.facts());
    return this.told.snapshot;
  };

  /** Asks all workers how they are; null: none has answered. */
  lookHow(): Promise<GroupLive | null> {
    return this.lives.look();
  }

  /** Takes into the ring what has ended since the last time. False: no worker has answered. */
  lookForCalls(): Promise<boolean> {
    return this.calls.look();
  }

  /** Rows that those have told which answer, over what all have counted. */
  mergeRows(told: Parameters<LiveBook['mergeRows']>[0]): ReturnType<LiveBook['mergeRows']> {
    return this.book.mergeRows(told);
  }

  /** A worker is gone. */
  leave(worker: number): void {
    // What it has just told may be on its way to us still, and is newer than what is known.
    if (this.lives.underWay) this.leaving.add(worker);
    else this.book.leave(worker);
  }

  private async askHow(): Promise<GroupLive | null> {
    const answers = await askAll(this.options.group, { kind: 'live' });
    const all = answers.map(({ worker, answer }): Told<LiveSnapshot> => ({ worker, answer: answer.snapshot }));
    for (const { worker, answer } of all) this.book.hear(worker, answer);
    for (const worker of this.leaving) this.book.leave(worker);
    const told = all.filter(({ worker }) => !this.leaving.has(worker));
    this.leaving.clear();
    this.told = this.book.merge(told, this.options.facts());
    return told.length === 0 ? null : this.told;
  }

  private async askCalls(): Promise<boolean> {
    const { group } = this.options;
    const answers = await askAll(group, { kind: 'calls', since: this.newest });
    this.ring.take(answers.flatMap(({ answer }) => answer.calls));
    const newest = new Map(this.newest);
    for (const { worker, answer } of answers) {
      const [first] = answer.calls;
      if (first !== undefined) newest.set(worker, first.seq);
    }
    const ready = new Set(group.ready);
    this.newest = new Map([...newest].filter(([worker]) => ready.has(worker)));
    return answers.length > 0;
  }

  /** The hub, whose streams keep us asking. */
  private createHub(): EventHub {
    const { streams, sinks } = this;
    return {
      get full() {
        return streams.full;
      },
      open: (sink, lastEventId) => {
        const onGone = streams.open(sink, lastEventId);
        sinks.add(sink);
        if (this.alarm === null) this.beginAsking();
        return () => {
          sinks.delete(sink);
          onGone();
          if (sinks.size === 0) this.endAsking();
        };
      },
      stop: () => {
        sinks.clear();
        streams.stop();
        this.endAsking();
      },
    };
  }

  private beginAsking(): void {
    // The hub tells how things are at the same time.
    this.liveAt = this.options.clock.now() + liveEvery;
    this.wake();
  }

  private wake(): void {
    const { clock, alarms } = this.options;
    this.alarm = alarms.set(clock.now() + streamEvery, () => this.tick());
  }

  private endAsking(): void {
    if (this.alarm !== null) this.options.alarms.cancel(this.alarm);
    this.alarm = null;
  }

  private tick(): void {
    this.alarm = null;
    // The hub has sent the last one away.
    if (this.sinks.size === 0) return;
    const now = this.options.clock.now();
    const cut = (error: unknown): void => this.cut(error);
    if (!this.calls.underWay) this.lookForCalls().catch(cut);
    // One look ahead of the hub, so that the answers are there when it tells them.
    if (now >= this.liveAt - streamEvery && !this.lives.underWay) {
      this.lookHow().catch(cut);
      this.liveAt = Math.max(this.liveAt, now) + liveEvery;
    }
    this.wake();
  }

  /** What their readers are to see cannot be made: they come again, and are told so. */
  private cut(error: unknown): void {
    this.options.onDefect(error);
    for (const sink of this.sinks) sink.cut();
    this.sinks.clear();
  }
}
