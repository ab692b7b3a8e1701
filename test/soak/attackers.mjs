/** Attackers of the soak: each sends what the flood budget does not allow, and must be sent away for it. */
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { frame, preface, settings, type } from '../../bench/wire.mjs';

const ping = frame(type.ping, 0, 0, Buffer.alloc(8));
/** `:method POST`, `:scheme http`, `:path /` from the static table, and a content type (RFC 7541 A). */
const block = Buffer.concat([Buffer.from([0x83, 0x86, 0x84, 0x0f, 0x10, 16]), Buffer.from('application/grpc')]);
const open = (id) => frame(type.headers, 4, id, block);
const reset = (id) => frame(type.reset, 0, id, Buffer.from([0, 0, 0, 8]));

/** What it sends as its nth unit. Each unit spends one credit or more (design, 5). */
const attacks = [
  { name: 'pings', unit: () => ping },
  { name: 'settings', unit: () => settings([]) },
  { name: 'rapid resets', unit: (n) => Buffer.concat([open(2 * n + 1), reset(2 * n + 1)]) },
  { name: 'endless headers', unit: (n) => frame(n === 0 ? type.headers : type.continuation, 0, 1, block) },
  { name: 'empty data', unit: (n) => (n === 0 ? open(1) : frame(type.data, 0, 1, Buffer.alloc(0))) },
  { name: 'streams past the limit', unit: (n) => open(2 * n + 1) },
];

/** Credits at first and a second, and streams that are within the limit (design, 5; `--max-concurrent-streams`). */
const budget = { atFirst: 10_000, aSecond: 200, streams: 1000 };
/** So many times what the budget allows has to be sent before the attacker is wronged. */
const margin = 2;
const burst = 1000;

/**
 * Mounts the nth attack. How long it takes says nothing on a busy machine, where the attacker may get no processor for
 * seconds: it is judged by what it sent. Once that is `margin` times what the budget allows it stops, and the program, which
 * `turns` shows to be running, must send it away.
 *
 * @param {number} port
 * @param {number} n
 * @param {() => Promise<unknown>} turns resolves when the program has answered something else
 * @returns {Promise<{ name: string, problem: string | null }>}
 */
export async function attack(port, n, turns) {
  const { name, unit } = attacks[n % attacks.length];
  const socket = net.connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  socket.resume();
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
  return { name, problem };
}

function closed(socket) {
  return new Promise((resolve) => socket.once('close', resolve));
}
