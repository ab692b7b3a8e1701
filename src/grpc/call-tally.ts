import { Status, type StatusCode } from './status.js';

/** Calls as channelz counts them (gRFC A14): plain numbers on the hot path. */
export class CallTally {
  started = 0;
  /** Ended OK. */
  succeeded = 0;
  /** Ended otherwise, cancelled ones included. */
  failed = 0;
  /** Clock milliseconds; null: none has been. */
  lastStartedAt: number | null = null;

  /** @param now clock milliseconds */
  began(now: number): void {
    this.started += 1;
    this.lastStartedAt = now;
  }

  /** @param code null: it was cancelled by us */
  ended(code: StatusCode | null): void {
    if (code === Status.OK) this.succeeded += 1;
    else this.failed += 1;
  }
}
