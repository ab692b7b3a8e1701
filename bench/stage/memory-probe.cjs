/**
 * Preloaded into the hedgerow whose memory is measured (`--expose-gc --require`): at SIGUSR2 it collects garbage and writes a
 * JSON line of process.memoryUsage() in bytes to descriptor 3. What is left after a collection is what is held.
 */
const { writeSync } = require('node:fs');

process.on('SIGUSR2', () => {
  // Twice: the first runs finalizers, the second frees what they let go.
  globalThis.gc?.();
  globalThis.gc?.();
  writeSync(3, `${JSON.stringify({ memory: process.memoryUsage() })}\n`);
});
