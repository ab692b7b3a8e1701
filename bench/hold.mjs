/**
 * Opens what is then held, so that its memory can be looked at: `node bench/hold.mjs PORT CONNECTIONS STREAMS [--bytes N]
 * [--answered]`. STREAMS calls on each connection do not end; each has sent a message of N bytes where N is given. Prints
 * `held` once the peer has answered a PING behind all of it and, with `--answered`, response headers have come for each.
 */
import net from 'node:net';
import { parseArgs } from 'node:util';
import { flag, frame, frameReader, message, preface, settings, settingsAck, type, windowUpdate } from './wire.mjs';
import { openCallTemplates } from './wire-calls.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { bytes: { type: 'string', default: '0' }, answered: { type: 'boolean', default: false } },
});
const [port = 0, connections = 1, streams = 0] = positionals.map(Number);
const { first, later } = openCallTemplates(port);
const bytes = Number(options.bytes);
const data = bytes === 0 ? Buffer.alloc(0) : frame(type.data, 0, 0, message(bytes));
/** Calls that are opened before the peer's answer to a PING is waited for. */
const batch = 100;

/** @param {string} detail */
function giveUp(detail) {
  process.stderr.write(`${detail}\n`);
  process.exit(1);
}

/** One connection with its calls open. @returns {Promise<void>} */
function hold() {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    let opened = 0;
    let answered = 0;
    let sent = 0;
    let window = 65_535;
    let waiting = false;

    function go() {
      if (waiting) return;
      if (sent > 0 && opened === streams) {
        if (!options.answered || answered === streams) resolve();
        return;
      }
      const out = [];
      for (let i = 0; i < batch && opened < streams && window >= data.length; i += 1) {
        const id = 1 + 2 * opened;
        for (const part of [opened === 0 ? first : later, data]) {
          if (part.length === 0) continue;
          const copy = Buffer.from(part);
          copy.writeUInt32BE(id, 5);
          out.push(copy);
        }
        window -= data.length;
        opened += 1;
      }
      sent += 1;
      const mark = Buffer.alloc(8);
      mark.writeUInt32BE(sent);
      out.push(frame(type.ping, 0, 0, mark));
      waiting = true;
      socket.write(Buffer.concat(out));
    }

    const read = frameReader((kind, flags, stream, buffer, start, end) => {
      if (kind === type.ping) {
        if (flags & flag.ack) {
          waiting = false;
          go();
        } else socket.write(frame(type.ping, flag.ack, 0, buffer.subarray(start, end)));
      } else if (kind === type.headers) {
        if (flags & flag.end) giveUp('a call that is to be held has ended');
        answered += 1;
        if (answered === streams) go();
      } else if (kind === type.settings && !(flags & flag.ack)) socket.write(settingsAck);
      else if (kind === type.window && stream === 0) window += buffer.readUInt32BE(start);
      else if (kind === type.reset) giveUp('a call that is to be held was reset');
      else if (kind === type.goaway) giveUp('the peer sent GOAWAY');
    });
    socket.on('data', read);
    socket.on('error', (error) => giveUp(error.message));
    socket.on('close', () => giveUp('the peer closed a connection'));
    socket.on('connect', () => {
      socket.write(Buffer.concat([preface, settings([[4, 1 << 20]]), windowUpdate(0, 1 << 24)]));
      go();
    });
  });
}

// A few at a time: a listener's queue is short.
for (let left = connections; left > 0; left -= 20) await Promise.all(Array.from({ length: Math.min(20, left) }, hold));
process.stdout.write('held\n');
