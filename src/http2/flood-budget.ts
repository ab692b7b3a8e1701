/** What credits are spent on: the words for the end of a connection that has none left. */
export type FloodCause =
  | 'SETTINGS'
  | 'PING'
  | 'PRIORITY'
  | 'WINDOW_UPDATE'
  | 'GOAWAY'
  | 'RST_STREAM'
  | 'empty DATA'
  | 'empty CONTINUATION'
  | 'interim responses'
  | 'frames of unknown type'
  | 'frames on closed streams'
  | 'streams that had to be reset'
  | 'streams past the limit';

/** Credits for each second that passes. */
const perSecond = 200;
/** Credits for a request and its answer, both to their END_STREAM. */
const perCall = 20;
/** Credits for each byte of DATA that the peer sends: a full frame of 16 KiB gives 20, one of a byte next to none. */
const perByteReceived = 20 / 16_384;
/**
 * Credits for a DATA frame that we send, and for each KiB of it: a full one gives 20. Small ones give some as well, because
 * C-core sends two WINDOW_UPDATE frames with each message that it reads. How many there are is not the peer's to say.
 */
const perDataFrameSent = 4;
/** What a stream costs that is reset before it is `young` no more and before any answer. */
const earlyReset = 6;
/** How long a stream is young (ms). */
const young = 1000;
/** How many kinds of frames the words for a flood name. */
const told = 2;

/**
 * What one peer may still send that carries nothing for a call (design §5). Such a frame spends a credit; time, calls and
 * DATA give some back, up to the size, so that an honest peer never comes near the end. Plain numbers, and no clock: time is
 * that of the last read.
 */
export class FloodBudget {
  /** Credits left; below 0 the peer has overdrawn. */
  credits: number;
  /** When the bytes were read that are being taken (clock ms). */
  now = 0;
  private readonly size: number;
  /** What was spent on since the credits were last whole, and how often: the first `kinds` of each. */
  private readonly causes: FloodCause[] = [];
  private readonly counts: number[] = [];
  private kinds = 0;

  /** @param size the most credits there can be, and what a connection begins with */
  constructor(size: number) {
    this.size = size;
    this.credits = size;
  }

  /** Bytes were read at `now` (clock ms). */
  advance(now: number): void {
    const passed = now - this.now;
    this.now = now;
    if (passed > 0) this.earn((passed * perSecond) / 1000);
  }

  /** @returns false where there was too little left */
  spend(cause: FloodCause, credits = 1): boolean {
    if (this.credits >= this.size) this.kinds = 0;
    this.count(cause);
    this.credits -= credits;
    return this.credits >= 0;
  }

  /** What took most of the credits since they were last whole, for people: `9874 WINDOW_UPDATE and 21 PING`. */
  get account(): string {
    const spent = this.causes.slice(0, this.kinds).map((cause, i) => ({ cause, count: this.counts[i] ?? 0 }));
    return spent
      .sort((a, b) => b.count - a.count)
      .slice(0, told)
      .map(({ cause, count }) => `${count} ${cause}`)
      .join(' and ');
  }

  /** A call is over, both ways. */
  callCompleted(): void {
    this.earn(perCall);
  }

  /** We sent a DATA frame. */
  dataSent(bytes: number): void {
    if (bytes > 0) this.earn(perDataFrameSent + (bytes >>> 10));
  }

  /** A DATA frame came. On a stream whose reset would still be early it gives nothing, so that no such reset is paid by it. */
  dataReceived(bytes: number, openedAt: number, answered: boolean): void {
    if (!this.early(openedAt, answered)) this.earn(bytes * perByteReceived);
  }

  /** What the reset of a stream costs that the peer opened at `openedAt` (clock ms). */
  resetCost(openedAt: number, answered: boolean): number {
    return this.early(openedAt, answered) ? earlyReset : 1;
  }

  private early(openedAt: number, answered: boolean): boolean {
    return !answered && this.now - openedAt <= young;
  }

  /** Few kinds come from one peer: a search is cheaper than a map, and this is done for each WINDOW_UPDATE of honest ones. */
  private count(cause: FloodCause): void {
    for (let i = 0; i < this.kinds; i += 1) {
      if (this.causes[i] !== cause) continue;
      this.counts[i] = (this.counts[i] ?? 0) + 1;
      return;
    }
    this.causes[this.kinds] = cause;
    this.counts[this.kinds] = 1;
    this.kinds += 1;
  }

  private earn(credits: number): void {
    this.credits = Math.min(this.size, this.credits + credits);
  }
}
