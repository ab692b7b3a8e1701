/** How long a test waits for something that must happen before it says what did not (ms). */
const patience = 10_000;
/** In this many parts (ms). */
const tick = 100;

/**
 * Rings once this process has run for so long (ms). A tick that comes late counts as one: the time in which a busy machine
 * gave this process none is not held against what it waits for.
 * @returns takes it back
 */
function afterRunning(ms: number, ring: () => void): () => void {
  let left = ms;
  const timer = setInterval(() => {
    left -= tick;
    if (left > 0) return;
    clearInterval(timer);
    ring();
  }, tick);
  return () => clearInterval(timer);
}

/**
 * Things that happen, one after another, and those who wait for some state to be reached. A wait is judged at once and again
 * after every change; it never sleeps and never polls.
 */
export class Happenings {
  private readonly waits = new Set<() => void>();

  /** Something changed: every wait looks again. */
  changed(): void {
    for (const look of [...this.waits]) look();
  }

  /**
   * Resolves with the first value of `read` that is not undefined; rejects with what `read` throws.
   * @param what ends the sentence "waited 10 s for …", in the error that comes when nothing did
   */
  until<T>(what: string, read: () => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        stopWaiting();
        this.waits.delete(look);
        act();
      };
      const look = (): void => {
        try {
          const value = read();
          if (value !== undefined) settle(() => resolve(value));
        } catch (error) {
          settle(() => reject(error));
        }
      };
      const stopWaiting = afterRunning(patience, () => {
        settle(() => reject(new Error(`waited ${patience / 1000} s for ${what}`)));
      });
      this.waits.add(look);
      look();
    });
  }
}

/**
 * `promise`, or an error that says what did not come in time.
 * @param within ms [10 s]
 */
export function alive<T>(what: string, promise: Promise<T>, within = patience): Promise<T> {
  let stopWaiting = (): void => {};
  const late = new Promise<never>((_, reject) => {
    stopWaiting = afterRunning(within, () => reject(new Error(`waited ${within / 1000} s for ${what}`)));
  });
  return Promise.race([promise, late]).finally(() => stopWaiting());
}
