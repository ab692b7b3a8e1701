import type { BackendId } from '../grpc/backend-id.js';
import type { Turn } from '../runtime/ports.js';

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

/** One loss of a backend, for the log (D34): told when the outcome of each attempt is known. */
export interface LossRecord {
  readonly backend: BackendId;
  /** Of the connection that was lost. */
  readonly generation: number;
  readonly detail: string;
  readonly attempts: number;
  readonly outcomes: Readonly<Partial<Record<LossOutcome, number>>>;
}

/** One attempt that was lost, until it is known what becomes of it. */
export interface OpenLoss {
  settle(outcome: LossOutcome): void;
}

interface Pending {
  readonly backend: BackendId;
  readonly generation: number;
  readonly detail: string;
  attempts: number;
  open: number;
  readonly outcomes: Partial<Record<LossOutcome, number>>;
}

/** Counts what becomes of attempts whose backends are lost, and tells each loss once. */
export class LossBook {
  private readonly turn: Turn;
  private readonly tell: (record: LossRecord) => void;
  private readonly pending = new Map<string, Pending>();

  constructor(turn: Turn, tell: (record: LossRecord) => void) {
    this.turn = turn;
    this.tell = tell;
  }

  /** An attempt's connection is lost. */
  open(backend: BackendId, generation: number, detail: string): OpenLoss {
    const key = `${generation} ${backend}`;
    let loss = this.pending.get(key);
    if (loss === undefined) {
      loss = { backend, generation, detail, attempts: 0, open: 0, outcomes: {} };
      this.pending.set(key, loss);
    }
    const mine = loss;
    mine.attempts += 1;
    mine.open += 1;
    let settled = false;
    return {
      settle: (outcome) => {
        if (settled) return;
        settled = true;
        mine.open -= 1;
        mine.outcomes[outcome] = (mine.outcomes[outcome] ?? 0) + 1;
        // Further attempts may be lost in this turn.
        if (mine.open === 0) this.turn.atEnd(() => this.close(key, mine));
      },
    };
  }

  private close(key: string, loss: Pending): void {
    if (loss.open > 0 || this.pending.get(key) !== loss) return;
    this.pending.delete(key);
    const { backend, generation, detail, attempts, outcomes } = loss;
    this.tell({ backend, generation, detail, attempts, outcomes });
  }
}
