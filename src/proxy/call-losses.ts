import { decodeMessage } from '../grpc/percent.js';
import type { StopReason } from '../grpc/stop-reason.js';
import type { UpstreamBackend } from '../upstream/types.js';
import type { Attempt } from './attempt.js';
import type { LossBook, LossOutcome, OpenLoss } from './losses.js';

/** One lost attempt of a call. */
export interface CallLoss {
  /** The machine has heard of it, and the call goes on. */
  follow(): void;
}

/** An attempt of which it is not known yet what becomes of it. */
interface Waiting {
  readonly loss: OpenLoss;
  /** Others were in flight: whatever is sent then, they had the call in hand. */
  readonly siblings: boolean;
}

/** What becomes of one call's attempts whose backends were lost under them (D19). */
export class CallLosses {
  private readonly book: LossBook;
  /** Null: none, as in nearly all calls. */
  private waiting: Waiting[] | null = null;

  constructor(book: LossBook) {
    this.book = book;
  }

  /**
   * Before the machine hears of it.
   *
   * @param terminated the client has response headers of the attempt
   * @param siblings other attempts are in flight
   */
  open(attempt: Attempt, { id }: UpstreamBackend, terminated: boolean, siblings: boolean): CallLoss {
    const loss = this.book.open(id, attempt.lostGeneration, decodeMessage(attempt.end?.message ?? ''));
    if (terminated) loss.settle('terminated');
    else {
      this.waiting ??= [];
      this.waiting.push({ loss, siblings });
    }
    return {
      follow() {
        if (siblings) loss.settle('absorbed');
      },
    };
  }

  /** Another attempt has been sent: the next hedge, too, where a loss with siblings brought it forward. */
  sent(): void {
    for (const { loss, siblings } of this.waiting ?? []) loss.settle(siblings ? 'absorbed' : 're_dispatched');
    this.waiting = null;
  }

  /** @param placeless the last attempt found no backend */
  over(reason: StopReason, placeless: boolean): void {
    if (this.waiting === null) return;
    if (reason === 'client_cancelled') this.settle('cancelled');
    else this.settle(placeless ? 'no_alternative' : 'failed');
  }

  private settle(outcome: LossOutcome): void {
    for (const { loss } of this.waiting ?? []) loss.settle(outcome);
    this.waiting = null;
  }
}
