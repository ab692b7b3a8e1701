import { decodeMessage } from '../grpc/percent.js';
import type { StopReason } from '../grpc/stop-reason.js';
import type { UpstreamBackend } from '../upstream/types.js';
import type { Attempt } from './attempt.js';
import type { LossBook, LossOutcome, OpenLoss } from './losses.js';

/** One lost attempt of a call. */
export interface CallLoss {
  /**
   * The machine has heard of it, and the call goes on.
   *
   * @param siblings other attempts were in flight
   * @param sent another one has been sent since
   */
  follow(siblings: boolean, sent: boolean): void;
}

/** What becomes of one call's attempts whose backends were lost under them (D19). */
export class CallLosses {
  private readonly book: LossBook;
  /** Those of which it is not known yet; null: none, as in nearly all calls. */
  private waiting: OpenLoss[] | null = null;

  constructor(book: LossBook) {
    this.book = book;
  }

  /** @param terminated the client has response headers of the attempt */
  open(attempt: Attempt, { id, generation }: UpstreamBackend, terminated: boolean): CallLoss {
    const loss = this.book.open(id, generation, decodeMessage(attempt.end?.message ?? ''));
    if (terminated) loss.settle('terminated');
    else {
      this.waiting ??= [];
      this.waiting.push(loss);
    }
    return {
      follow(siblings, sent) {
        if (siblings) loss.settle('absorbed');
        else if (sent) loss.settle('re_dispatched');
      },
    };
  }

  /** Another attempt has been sent. */
  sent(): void {
    if (this.waiting !== null) this.settle('re_dispatched');
  }

  /** @param placeless the last attempt found no backend */
  over(reason: StopReason, placeless: boolean): void {
    if (this.waiting === null) return;
    if (reason === 'client_cancelled') this.settle('cancelled');
    else this.settle(placeless ? 'no_alternative' : 'failed');
  }

  private settle(outcome: LossOutcome): void {
    for (const loss of this.waiting ?? []) loss.settle(outcome);
    this.waiting = null;
  }
}
