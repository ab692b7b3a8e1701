import type { BackendId } from '../grpc/backend-id.js';
import type { AlarmHandle, Alarms, Clock, Turn } from '../runtime/ports.js';

/**
 * What became of an attempt whose backend was lost under it (D19), a closed set: `re_dispatched`: another attempt was sent;
 * `absorbed`: a sibling goes on; `no_alternative`: another attempt was wanted, and no backend could be had; `terminated`:
 * the client had response headers already; `failed`: no further attempt was to be made; `cancelled`: the client left first.
 */
export type LossOutcome = 're_dispatched' | 'absorbed' | 'no_alternative' | 'terminated' | 'failed' | 'cancelled';

/** All of them, for those who count. */
export const lossOutcomes = [
  're_dispatched',
  'absorbed',
  'no_alternative',
  'terminated',
  'failed',
  'cancelled',
] as const satisfies readonly LossOutcome[];

/** One loss of a backend, for the log (D34): told when the outcome of each attempt is known, or after a second. */
export interface LossRecord {
  readonly backend: BackendId;
  /** Of the connection that was lost. */
  readonly generation: number;
  readonly detail: string;
  /** Those whose outcome is in this record. */
  readonly attempts: number;
  /** Those of which it is not known yet: another record follows for them. Absent where there are none. */
  readonly undecided?: number;
  readonly outcomes: Readonly<Partial<Record<LossOutcome, number>>>;
}

/** One attempt that was lost, until it is known what becomes of it. */
export interface OpenLoss {
  readonly settled: boolean;
  /** The first one counts. */
  settle(outcome: LossOutcome): void;
}

/** Where losses are told. */
export interface LossEvents {
  /** Of each attempt, as soon as it is known. */
  onOutcome(one: LossRecord): void;
  /** For the log. */
  onLoss(record: LossRecord): void;
}

/** What the book needs of the process. */
export interface LossPorts {
  readonly turn: Turn;
  readonly clock: Clock;
  readonly alarms: Alarms;
}

interface Pending {
  readonly backend: BackendId;
  readonly generation: number;
  readonly detail: string;
  attempts: number;
  open: number;
  outcomes: Partial<Record<LossOutcome, number>>;
  /** Rings when those that are known are told without those that are not; null: it has rung. */
  bound: AlarmHandle | null;
}

/** How long (ms) a record waits for attempts of which it is not known what becomes of them: a backoff may take minutes. */
const patience = 1000;

/** Counts what becomes of attempts whose backends are lost, and tells each loss. */
export class LossBook {
  private readonly ports: LossPorts;
  private readonly events: LossEvents;
  private readonly pending = new Map<string, Pending>();

  constructor(ports: LossPorts, events: LossEvents) {
    this.ports = ports;
    this.events = events;
  }

  atEndOfTurn(task: () => void): void {
    this.ports.turn.atEnd(task);
  }

  /** An attempt's connection is lost. */
  open(backend: BackendId, generation: number, detail: string): OpenLoss {
    const key = `${generation} ${backend}`;
    const loss = this.pending.get(key) ?? this.begin(key, backend, generation, detail);
    loss.open += 1;
    let settled = false;
    return {
      get settled() {
        return settled;
      },
      settle: (outcome) => {
        if (settled) return;
        settled = true;
        loss.open -= 1;
        loss.attempts += 1;
        loss.outcomes[outcome] = (loss.outcomes[outcome] ?? 0) + 1;
        this.events.onOutcome({ backend, generation, detail, attempts: 1, outcomes: { [outcome]: 1 } });
        // Further attempts may be lost in this turn.
        if (loss.open === 0) this.ports.turn.atEnd(() => this.close(key, loss));
      },
    };
  }

  private begin(key: string, backend: BackendId, generation: number, detail: string): Pending {
    const { alarms, clock } = this.ports;
    const loss: Pending = { backend, generation, detail, attempts: 0, open: 0, outcomes: {}, bound: null };
    loss.bound = alarms.set(clock.now() + patience, () => {
      loss.bound = null;
      this.tell(loss);
    });
    this.pending.set(key, loss);
    return loss;
  }

  private close(key: string, loss: Pending): void {
    if (loss.open > 0 || this.pending.get(key) !== loss) return;
    this.pending.delete(key);
    if (loss.bound !== null) this.ports.alarms.cancel(loss.bound);
    if (loss.attempts > 0) this.tell(loss);
  }

  private tell(loss: Pending): void {
    const { backend, generation, detail, attempts, open, outcomes } = loss;
    loss.attempts = 0;
    loss.outcomes = {};
    const undecided = open === 0 ? {} : { undecided: open };
    this.events.onLoss({ backend, generation, detail, attempts, ...undecided, outcomes });
  }
}
