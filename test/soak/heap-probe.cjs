/**
 * Preloaded into the program that a soak runs (`--expose-gc --require`): each 10 s it collects garbage and writes what is
 * used then to descriptor 3, a JSON line of process.memoryUsage() in bytes. What is left after a collection is what is
 * held; RSS also counts what the heap has not given back.
 */
const { writeSync } = require('node:fs');

const every = 10_000;
setInterval(() => {
  // Twice: the first runs finalizers, the second frees what they let go.
  globalThis.gc?.();
  globalThis.gc?.();
  try {
    writeSync(3, `${JSON.stringify(process.memoryUsage())}\n`);
  } catch {
    // The soak is gone, and kills the program.
  }
}, every).unref();
