/**
 * hedgerow without telemetry, for the bench alone: the same proxy from the same parts, nothing counted and no line logged but
 * the one that says it is ready. To be kept in step with src/main.ts: the bench fails where it does not start. `node hedgerow-bare.mjs serve FLAGS`.
 */
import { networkInterfaces } from 'node:os';
import { run } from '../../dist/cli/run.js';
import { serve } from '../../dist/cli/serve.js';
import { createNodeAlarms } from '../../dist/runtime/alarms.js';
import { nodeClock } from '../../dist/runtime/clock.js';
import { nodeRandom } from '../../dist/runtime/random.js';
import { readText } from '../../dist/runtime/read-text.js';
import { nodeTurn } from '../../dist/runtime/turn.js';
import { nodeStamp, readAgain, watchFile } from '../../dist/runtime/watch-file.js';

const ports = {
  clock: nodeClock,
  random: nodeRandom,
  alarms: createNodeAlarms(),
  turn: nodeTurn,
  readAsset: () => Promise.reject(new Error('the bare proxy has no dashboard')),
};
const stderr = (/** @type {string} */ text) => process.stderr.write(text);
const nothing = () => {};

const log = {
  observer: { wants: () => false, onCallEnded: nothing },
  onBackendChange: nothing,
  onHealthChange: nothing,
  onLoss: nothing,
  onClientRefused: nothing,
  onDefect: (/** @type {unknown} */ error) => stderr(`a defect: ${error}\n`),
  ready: (/** @type {object} */ facts) => process.stdout.write(`${JSON.stringify({ msg: 'ready', ...facts })}\n`),
  info: nothing,
  warn: nothing,
  tell: nothing,
  tracing: null,
};

const io = {
  env: {},
  readFile: readText,
  stdout: (/** @type {string} */ text) => process.stdout.write(text),
  stderr,
  columns: null,
  localAddresses: Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address)),
  version: 'bare',
};

process.exitCode = await run(process.argv.slice(2), io, {
  serve: (...given) =>
    serve(...given, {
      readFile: readText,
      readAgain,
      watch: (path, onChange) => watchFile(path, { ...ports, stampOf: nodeStamp }, onChange),
      stderr,
      ports: { ...ports, localAddresses: io.localAddresses },
      wallNow: Date.now,
      log,
      terminated: new Promise((resolve) => process.once('SIGTERM', resolve)),
      onHangup: nothing,
    }),
  demo: async () => 2,
});
