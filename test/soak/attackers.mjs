/**
 * Attackers of the soak: floods, each of which sends what the flood budget does not allow, and must be sent away for it; clients
 * that stall before they have spoken, who must be sent away in their time; and clients that do not read, who may stay.
 */
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { flag, frame, message, preface, settings, type } from '../../bench/wire.mjs';

const ping = frame(type.ping, 0, 0, Buffer.alloc(8));
const contentType = Buffer.concat([Buffer.from([0x0f, 0x10, 16]), Buffer.from('application/grpc')]);
/** `:method POST`, `:scheme http`, `:path /` from the static table, and a content type (RFC 7541 A). */
const block = Buffer.concat([Buffer.from([0x83, 0x86, 0x84]), contentType]);
const largePath = '/soak/Large';
/** The same for a path of its own (RFC 7541 6.2.2). */
const largeBlock = Buffer.concat([
  Buffer.from([0x83, 0x86, 0x04, largePath.length]),
  Buffer.from(largePath),
  contentType,
]);
const tiny = (id) => frame(type.data, 0, id, Buffer.alloc(1));
const open = (id) => frame(type.headers, 4, id, block);
const reset = (id) => frame(type.reset, 0, id, Buffer.from([0, 0, 0, 8]));

/** What a flood sends as its nth unit. Each unit spends one credit or more (design, 5). */
const floods = [
  { name: 'pings', unit: () => ping },
  { name: 'pings with tiny data', unit: (n) => Buffer.concat(n === 0 ? [open(1), ping] : [ping, tiny(1)]) },
  { name: 'settings', unit: () => settings([]) },
  { name: 'rapid resets', unit: (n) => Buffer.concat([open(2 * n + 1), reset(2 * n + 1)]) },
  {
    name: 'rapid resets with tiny data',
    unit: (n) => Buffer.concat([open(2 * n + 1), tiny(2 * n + 1), tiny(2 * n + 1), reset(2 * n + 1)]),
  },
  { name: 'endless headers', unit: (n) => frame(n === 0 ? type.headers : type.continuation, 0, 1, block) },
  { name: 'empty data', unit: (n) => (n === 0 ? open(1) : frame(type.data, 0, 1, Buffer.alloc(0))) },
  { name: 'streams past the limit', unit: (n) => open(2 * n + 1) },
];

/** Credits at first and a second, and streams that are within the limit (design, 5; `--max-concurrent-streams`). */
const budget = { atFirst: 10_000, aSecond: 200, streams: 1000 };
/** So many times what the budget allows has to be sent before the attacker is wronged. */
const margin = 2;
const burst = 1000;

/** A client's time to speak (`--preface-timeout`), and what a busy machine may add (ms). */
const prefaceTime = 5000;
const grace = 10_000;
/** How long a client that does not read stays, and how much it asks for (design, 5: more than its share of the relay budget). */
const sitting = { time: 5000, calls: 400 };

const attacks = [
  ...floods.map(
    ({ name, unit }) =>
      (port, turns) =>
        flood(port, name, unit, turns),
  ),
  slowPreface,
  zeroWindows,
];

/**
 * Mounts the nth attack.
 *
 * @param {number} port
 * @param {number} n
 * @param {() => Promise<unknown>} turns resolves when the program has answered something else
 * @returns {Promise<{ name: string, ended: string, problem: string | null }>}
 */
export function attack(port, n, turns) {
  return attacks[n % attacks.length](port, turns);
}

/** Says one byte of the preface, and nothing more. */
async function slowPreface(port) {
  const socket = connect(port);
  socket.write(preface.subarray(0, 1));
  await Promise.race([closed(socket), delay(prefaceTime + grace)]);
  const problem = socket.destroyed ? null : `slow preface: still there after ${prefaceTime + grace} ms`;
  socket.destroy();
  return { name: 'slow preface', ended: 'sent away', problem };
}

/** Asks for large answers and takes no byte of them. It may stay or be sent away; the calls of others show what it does to them. */
async function zeroWindows(port) {
  const socket = connect(port);
  const initialWindow = 4;
  socket.write(Buffer.concat([preface, settings([[initialWindow, 0]])]));
  for (let n = 0; n < sitting.calls; n += 1) {
    const id = 2 * n + 1;
    const call = [frame(type.headers, flag.endHeaders, id, largeBlock), frame(type.data, flag.end, id, message(0))];
    socket.write(Buffer.concat(call));
  }
  await Promise.race([closed(socket), delay(sitting.time)]);
  const ended = socket.destroyed ? 'sent away' : 'that stayed';
  socket.destroy();
  return { name: 'zero windows', ended, problem: null };
}

/**
 * Mounts a flood. How long it takes says nothing on a busy machine, where the attacker may get no processor for
 * seconds: it is judged by what it sent. Once that is `margin` times what the budget allows it stops, and the program, which
 * `turns` shows to be running, must send it away.
 */
async function flood(port, name, unit, turns) {
  const socket = connect(port);
  socket.write(Buffer.concat([preface, settings([])]));
  const begun = performance.now();
  const allowed = () => budget.atFirst + budget.streams + (budget.aSecond * (performance.now() - begun)) / 1000;
  let sent = 0;
  while (!socket.destroyed && sent < margin * allowed()) {
    const taken = socket.write(Buffer.concat(Array.from({ length: burst }, (_, i) => unit(sent + i))));
    sent += burst;
    // A program that no longer reads, or a busy one, takes its time.
    if (!taken) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed(socket)]);
    await delay(20);
  }
  for (let turn = 0; turn < 100 && !socket.destroyed; turn += 1) {
    await turns();
    await delay(100);
  }
  const problem = socket.destroyed
    ? null
    : `${name}: not sent away after ${sent}, with ${socket.writableLength} bytes unread`;
  socket.destroy();
  return { name, ended: 'sent away', problem };
}

function connect(port) {
  const socket = net.connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  socket.resume();
  return socket;
}

function closed(socket) {
  return new Promise((resolve) => socket.once('close', resolve));
}
