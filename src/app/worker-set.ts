import type { AlarmHandle } from '../runtime/ports.js';
import type { ForkEvents, ForkedProcess } from '../runtime/processes.js';
import { createRoster, type Roster, type RosterDecision, type RosterEvent, stepRoster } from '../workers/roster.js';
import type { Ports } from './ports.js';
import type { ToPrimary, ToWorker, WorkerAnswer, WorkerQuestion, WorkerStart } from './worker-messages.js';

/** What a set of workers begins with. */
export interface WorkerSetOptions {
  /** How many there are to be. */
  readonly wanted: number;
  readonly fork: (worker: number, events: ForkEvents) => ForkedProcess;
  /** What one that begins now is to know. @param place from 0; one that replaces another has its place */
  readonly startOf: (place: number) => WorkerStart;
  readonly ports: Pick<Ports, 'clock' | 'alarms'>;
}

export interface WorkerSetEvents {
  /** What is not about the set itself. Only from workers that are ready. */
  readonly onMessage: (worker: number, message: ToPrimary) => void;
  readonly onGone: (worker: number) => void;
  readonly tell: (level: 'info' | 'warn', fields: Readonly<Record<string, unknown>>, message: string) => void;
  /** A fault of ours. */
  readonly onDefect: (error: unknown) => void;
}

/** What one worker has said. */
export interface Told<T> {
  readonly worker: number;
  readonly answer: T;
}

interface Member {
  readonly process: ForkedProcess;
  readonly pid: number | undefined;
  readonly place: number;
  phase: 'starting' | 'ready' | 'drained';
}

interface Asked {
  readonly waiting: Set<number>;
  readonly onPiece: ((worker: number, text: string) => void) | null;
  readonly onAnswer: (worker: number, answer: WorkerAnswer | null) => void;
  /** All have answered, or none more will. */
  readonly onOver: () => void;
}

/** Who does not answer within so long is left out (ms). */
const patience = 2000;
/** Who has not ended so long after it was told to is killed (ms). */
const endPatience = 3000;

/** The workers of a run: starts and replaces them as the roster says, and carries what is said. */
export class WorkerSet {
  /** As the first worker has bound them. */
  listening: readonly string[] = [];
  private readonly options: WorkerSetOptions;
  private readonly events: WorkerSetEvents;
  private readonly roster: Roster;
  private readonly members = new Map<number, Member>();
  private readonly asked = new Map<number, Asked>();
  private lastAsked = 0;
  private alarm: AlarmHandle | null = null;
  private draining = false;
  private onStarted: { readonly resolve: () => void; readonly reject: (error: Error) => void } | null = null;
  private readonly onDrained: (() => void)[] = [];
  private readonly onAllGone: (() => void)[] = [];

  constructor(options: WorkerSetOptions, events: WorkerSetEvents) {
    this.options = options;
    this.events = events;
    this.roster = createRoster(options.wanted);
  }

  /** Resolves when all are ready. Rejects with one sentence. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.onStarted = { resolve, reject };
      this.step({ kind: 'begun' });
    });
  }

  get wanted(): number {
    return this.options.wanted;
  }

  /** Those that are ready, in the order of their numbers. */
  get ready(): readonly number[] {
    return [...this.members].flatMap(([worker, { phase }]) => (phase === 'starting' ? [] : [worker]));
  }

  /** Of those that are ready, which place of the set each has. */
  get places(): readonly (readonly [worker: number, place: number])[] {
    return [...this.members].flatMap(([worker, { phase, place }]) =>
      phase === 'starting' ? [] : [[worker, place] as const],
    );
  }

  tell(worker: number, message: ToWorker): void {
    const member = this.members.get(worker);
    if (member !== undefined && member.phase !== 'starting') member.process.send(message);
  }

  /** Those that are not ready yet begin with what is so by then. @param except who knows already */
  tellAll(message: ToWorker, except = 0): void {
    for (const worker of this.ready) if (worker !== except) this.tell(worker, message);
  }

  /** What all say that answer in time, in the order of their numbers. */
  ask(question: WorkerQuestion): Promise<readonly Told<WorkerAnswer>[]> {
    return new Promise((resolve) => {
      const answers: Told<WorkerAnswer>[] = [];
      this.put(question, {
        waiting: new Set(this.ready),
        onPiece: null,
        onAnswer(worker, answer) {
          if (answer !== null) answers.push({ worker, answer });
        },
        onOver: () => resolve(answers.sort((a, b) => a.worker - b.worker)),
      });
    });
  }

  /** A long text, of which each worker tells its own piece by piece. Resolves when all have told it whole. */
  collect(question: WorkerQuestion, onPiece: (worker: number, text: string) => void): Promise<void> {
    return new Promise((resolve) => {
      this.put(question, { waiting: new Set(this.ready), onPiece, onAnswer() {}, onOver: resolve });
    });
  }

  /** No one is replaced any more; each finishes its calls. Resolves when all have. */
  quiesce(): Promise<void> {
    return new Promise((resolve) => {
      this.onDrained.push(resolve);
      if (!this.draining) {
        this.draining = true;
        this.step({ kind: 'ending' });
        this.tellAll({ type: 'quiesce' });
      }
      this.noteDrained();
    });
  }

  /** Ends all. */
  stop(): Promise<void> {
    this.draining = true;
    return new Promise((resolve) => {
      this.onAllGone.push(resolve);
      this.step({ kind: 'ending' });
      for (const { process, phase } of this.members.values()) {
        if (phase === 'starting') process.kill();
        else process.send({ type: 'stop' } satisfies ToWorker);
      }
      const { clock, alarms } = this.options.ports;
      const late = alarms.set(clock.now() + endPatience, () => {
        for (const { process } of this.members.values()) process.kill();
      });
      this.onAllGone.push(() => alarms.cancel(late));
      if (this.members.size === 0) this.allGone();
    });
  }

  private put(question: WorkerQuestion, asked: Asked): void {
    if (asked.waiting.size === 0) {
      asked.onOver();
      return;
    }
    this.lastAsked += 1;
    const id = this.lastAsked;
    const { clock, alarms } = this.options.ports;
    const late = alarms.set(clock.now() + patience, () => this.asked.get(id)?.onOver());
    this.asked.set(id, {
      ...asked,
      onOver: () => {
        this.asked.delete(id);
        alarms.cancel(late);
        asked.onOver();
      },
    });
    for (const worker of asked.waiting) this.tell(worker, { type: 'question', id, question });
  }

  private answered(worker: number, id: number, answer: WorkerAnswer | null): void {
    const asked = this.asked.get(id);
    if (asked === undefined || !asked.waiting.delete(worker)) return;
    asked.onAnswer(worker, answer);
    if (asked.waiting.size === 0) asked.onOver();
  }

  /** @param pid of whom it is about, where that is gone */
  private step(event: RosterEvent, pid?: number): void {
    const { clock, alarms } = this.options.ports;
    const { decisions, wakeAt } = stepRoster(this.roster, event, clock.now());
    if (this.alarm !== null) alarms.cancel(this.alarm);
    this.alarm = wakeAt === null ? null : alarms.set(wakeAt, () => this.step({ kind: 'woke' }));
    for (const decision of decisions) this.apply(decision, pid);
  }

  private apply(decision: RosterDecision, gone?: number): void {
    switch (decision.kind) {
      case 'fork':
        this.fork(decision.worker, decision.place);
        return;
      case 'tell': {
        const { level, worker, message } = decision;
        const pid = this.members.get(worker)?.pid ?? gone;
        if (level !== 'debug')
          this.events.tell(level === 'info' ? 'info' : 'warn', { event: 'worker', worker, pid }, message);
        return;
      }
      case 'ready':
        this.onStarted?.resolve();
        this.onStarted = null;
        return;
      case 'giveUp':
        this.onStarted?.reject(new Error(decision.problem));
        this.onStarted = null;
        return;
      case 'allGone':
        this.allGone();
        return;
      default:
        decision satisfies never;
    }
  }

  private fork(worker: number, place: number): void {
    const process = this.options.fork(worker, {
      onMessage: (message) => {
        try {
          // What a worker of the same program has sent.
          this.hear(worker, message as ToPrimary);
        } catch (error) {
          this.events.onDefect(error);
        }
      },
      onGone: (code, signal) => {
        const { pid } = this.members.get(worker) ?? {};
        this.members.delete(worker);
        for (const id of [...this.asked.keys()]) this.answered(worker, id, null);
        this.events.onGone(worker);
        this.step({ kind: 'gone', worker, code, signal }, pid);
        this.noteDrained();
      },
    });
    this.members.set(worker, { process, pid: process.pid, place, phase: 'starting' });
  }

  private hear(worker: number, message: ToPrimary): void {
    const member = this.members.get(worker);
    if (member === undefined) return;
    switch (message.type) {
      case 'hello':
        member.process.send(this.options.startOf(member.place));
        return;
      case 'ready':
        member.phase = 'ready';
        if (this.listening.length === 0) this.listening = message.listening;
        this.step({ kind: 'ready', worker });
        if (this.draining) this.tell(worker, { type: 'quiesce' });
        return;
      case 'failed':
        this.step({ kind: 'failed', worker, problem: message.problem });
        return;
      case 'drained':
        member.phase = 'drained';
        this.noteDrained();
        return;
      case 'answer':
        this.answered(worker, message.id, message.answer);
        return;
      case 'piece':
        this.asked.get(message.id)?.onPiece?.(worker, message.text);
        return;
      default:
        this.events.onMessage(worker, message);
    }
  }

  private noteDrained(): void {
    if (!this.draining || [...this.members.values()].some(({ phase }) => phase !== 'drained')) return;
    for (const resolve of this.onDrained.splice(0)) resolve();
  }

  private allGone(): void {
    this.noteDrained();
    for (const resolve of this.onAllGone.splice(0)) resolve();
  }
}
