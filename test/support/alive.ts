/** How long a test waits for something that must happen before it says what did not (ms). */
const patience = 10_000;

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
        clearTimeout(bound);
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
      const bound = setTimeout(() => {
        settle(() => reject(new Error(`waited ${patience / 1000} s for ${what}`)));
      }, patience);
      this.waits.add(look);
      look();
    });
  }
}

/** `promise`, or an error that says what did not come within 10 s. */
export function alive<T>(what: string, promise: Promise<T>): Promise<T> {
  let bound: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    bound = setTimeout(() => reject(new Error(`waited ${patience / 1000} s for ${what}`)), patience);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(bound));
}
