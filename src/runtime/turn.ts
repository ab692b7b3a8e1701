import type { Turn } from './ports.js';

/** How often one drain goes on with what its own tasks asked for. */
const maxRounds = 16;

/**
 * Collects tasks and runs them all at once. What a task asks for while it runs is run in the same drain, in order, since
 * bytes that one connection frees are often another's to send in this very turn; after 16 rounds of that the rest waits for
 * the next turn, so that no chain of tasks keeps the sockets from being read. A task that throws stops no other: the first
 * error is thrown when the drain is through.
 *
 * @param soon runs its argument once, after the sockets that are readable now have been read
 */
export function createTurn(soon: (drain: () => void) => void): Turn {
  let tasks: (() => void)[] = [];
  /** The host has been asked for a drain that is not through. */
  let asked = false;

  function drain(): void {
    let failure: { readonly error: unknown } | null = null;
    for (let round = 0; round < maxRounds && tasks.length > 0; round += 1) {
      const batch = tasks;
      tasks = [];
      for (const task of batch) {
        try {
          task();
        } catch (error) {
          failure ??= { error };
        }
      }
    }
    asked = tasks.length > 0;
    if (asked) soon(drain);
    if (failure !== null) throw failure.error;
  }

  return {
    atEnd(task) {
      tasks.push(task);
      if (asked) return;
      asked = true;
      soon(drain);
    },
  };
}

/** The end of Node's turn: its check phase, which comes right after the poll for input. */
export const nodeTurn: Turn = createTurn((drain) => {
  setImmediate(drain);
});

/**
 * For work in pieces that is not to keep the sockets waiting: each call resolves in a turn of its own, in order.
 *
 * @param soon runs its argument once, after the sockets that are readable now have been read
 */
export function createPace(soon: (go: () => void) => void): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => new Promise<void>(soon));
    return last;
  };
}

export const nodePace: () => Promise<void> = createPace((go) => {
  setImmediate(go);
});
