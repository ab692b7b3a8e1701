import type { AttemptEnd } from '../grpc/attempt-facts.js';
import type { BackendId } from '../grpc/backend-id.js';
import { decodeMessage } from '../grpc/percent.js';
import type { StopReason } from '../grpc/stop-reason.js';
import type { LossBook, OpenLoss } from './losses.js';

/** What of an attempt tells what becomes of a lost one beside it. */
export interface LossyAttempt {
  /** 0: its HEADERS were not handed over: it has nothing in flight. */
  readonly dispatched: number;
  readonly end: AttemptEnd | null;
  readonly cancelled: boolean;
  readonly lostGeneration: number;
}

/** One lost attempt of a call. */
export interface CallLoss {
  /** The machine has heard of it, and the call goes on. */
  follow(): void;
}

/** An attempt of which it is not known yet what becomes of it. */
interface Waiting {
  readonly loss: OpenLoss;
  /** Attempts that were started before. */
  readonly started: number;
  /** Were in flight beside it: whatever is sent then, one that lives has the call in hand. Empty once none of them does. */
  siblings: readonly LossyAttempt[];
  /** The call went on. */
  followed: boolean;
  /** Another attempt has been sent since. */
  resent: boolean;
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
   * @param attempts all of the call's
   * @param terminated the client has response headers of the attempt
   */
  open(attempt: LossyAttempt, backend: BackendId, attempts: readonly LossyAttempt[], terminated: boolean): CallLoss {
    const loss = this.book.open(backend, attempt.lostGeneration, decodeMessage(attempt.end?.message ?? ''));
    const siblings = attempts.filter((other) => other !== attempt && other.dispatched > 0 && isInFlight(other));
    const mine: Waiting = { loss, started: attempts.length, siblings, followed: false, resent: false };
    if (terminated) loss.settle('terminated');
    else {
      this.waiting ??= [];
      this.waiting.push(mine);
    }
    return {
      follow: () => {
        mine.followed = true;
        // Siblings that are lost with it hear of that in this turn.
        if (siblings.length > 0) this.book.atEndOfTurn(() => this.look(mine));
      },
    };
  }

  /** Another attempt has been sent: the next hedge, too, where a loss with siblings brought it forward. */
  sent(): void {
    if (this.waiting === null) return;
    for (const mine of this.waiting) {
      mine.resent = true;
      if (mine.siblings.length === 0) mine.loss.settle('re_dispatched');
    }
    this.keepOpen();
  }

  /** @param attempts all of the call's */
  over(reason: StopReason, attempts: readonly LossyAttempt[]): void {
    if (this.waiting === null) return;
    const placeless = isPlaceless(attempts.at(-1)?.end ?? null);
    for (const { loss, siblings, followed, resent, started } of this.waiting) {
      if (followed && siblings.some(({ end }) => end?.by !== 'loss')) loss.settle('absorbed');
      else if (resent) loss.settle('re_dispatched');
      else if (reason === 'client_cancelled') loss.settle('cancelled');
      else loss.settle(placeless && attempts.length > started ? 'no_alternative' : 'failed');
    }
    this.waiting = null;
  }

  /** The turn is over. */
  private look(mine: Waiting): void {
    if (this.waiting === null || !this.waiting.includes(mine)) return;
    if (mine.siblings.some(({ end }) => end?.by !== 'loss')) mine.loss.settle('absorbed');
    else if (mine.resent) mine.loss.settle('re_dispatched');
    else mine.siblings = [];
    this.keepOpen();
  }

  private keepOpen(): void {
    const open = this.waiting?.filter(({ loss }) => !loss.settled) ?? [];
    this.waiting = open.length === 0 ? null : open;
  }
}

function isInFlight({ end, cancelled }: LossyAttempt): boolean {
  return end === null && !cancelled;
}

/** Another attempt was wanted and found nobody, or nobody with room; what was dropped for a cause of its own was not. */
function isPlaceless(end: AttemptEnd | null): boolean {
  if (end === null) return false;
  return end.reach === 'unplaced' || (end.reach === 'dropped' && (end.reason ?? 'overloaded') === 'overloaded');
}
