/** Monotonic time in milliseconds, fractional. */
export interface Clock {
  now(): number;
  /** Of a clock that stands still within a turn: what it would say if it did not. Without it `now` never stands still. */
  fresh?(): number;
}

/** A source of numbers in [0, 1). */
export interface Random {
  next(): number;
}

/** A pending alarm. Opaque: give it back to `cancel`. */
export interface AlarmHandle {
  /** When it is due, on the clock's scale. */
  readonly at: number;
}

/** Many deadlines on one timer. Alarms never ring early; they ring at most a few milliseconds late. */
export interface Alarms {
  /** Rings once at `at` (now or past: on the next tick, never synchronously). */
  set(at: number, ring: () => void): AlarmHandle;
  /** Does nothing for an alarm that rang or was cancelled. */
  cancel(handle: AlarmHandle): void;
  /** Pending alarms, for the leak ledger. */
  readonly pending: number;
}

/** Work put off to the end of the event loop's turn, so that one turn makes one write per socket. */
export interface Turn {
  /** Runs `task` once, after all sockets readable in this turn have been read, in the order asked. */
  atEnd(task: () => void): void;
}
