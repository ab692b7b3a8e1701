/**
 * The backend of every round: answers each call with one 100-byte message and grpc-status 0, from bytes made beforehand.
 * Prints its port. One process, one core, several times faster than any proxy in front of it.
 */
import net from 'node:net';
import {
  flag,
  frame,
  frameReader,
  literal,
  message,
  preface,
  settings,
  settingsAck,
  type,
  windowUpdate,
} from './wire.mjs';

const bytes = Number(process.argv[2] ?? 100);
const body = message(bytes);

function answers() {
  const status200 = Buffer.from([0x88]);
  const literals = {
    head: Buffer.concat([status200, literal('content-type', 'application/grpc', false)]),
    tail: literal('grpc-status', '0', false),
  };
  const first = {
    head: Buffer.concat([status200, literal('content-type', 'application/grpc', true)]),
    tail: literal('grpc-status', '0', true),
  };
  // After `first` the peer's table holds grpc-status (62) and content-type (63).
  const later = { head: Buffer.from([0x88, 0x80 | 63]), tail: Buffer.from([0x80 | 62]) };
  return { literals, first, later };
}

const { literals, first, later } = answers();

/** @param {{ head: Buffer, tail: Buffer }} blocks */
function template({ head, tail }) {
  return Buffer.concat([
    frame(type.headers, flag.endHeaders, 0, head),
    frame(type.data, 0, 0, body),
    frame(type.headers, flag.endHeaders | flag.end, 0, tail),
  ]);
}

const templates = { literals: template(literals), first: template(first), later: template(later) };

const server = net.createServer({ noDelay: true }, (socket) => {
  let started = false;
  let greeting = Buffer.alloc(0);
  let tableSize = 4096;
  let answered = 0;
  let window = 65535;
  let received = 0;
  /** @type {Buffer[]} */
  let out = [];
  /** @type {number[]} */
  const waiting = [];

  function flush() {
    if (out.length === 0) return;
    socket.write(out.length === 1 ? out[0] : Buffer.concat(out));
    out = [];
  }

  /** @param {number} stream */
  function answer(stream) {
    if (window < body.length) {
      waiting.push(stream);
      return;
    }
    window -= body.length;
    const blocks = tableSize < 256 ? 'literals' : answered === 0 ? 'first' : 'later';
    answered += 1;
    const source = templates[blocks];
    const copy = Buffer.allocUnsafe(source.length);
    source.copy(copy);
    let at = 0;
    for (let i = 0; i < 3; i += 1) {
      copy.writeUInt32BE(stream, at + 5);
      at += 9 + copy.readUIntBE(at, 3);
    }
    out.push(copy);
  }

  const read = frameReader((kind, flags, stream, buffer, start, end) => {
    if (kind === type.data) {
      received += end - start;
      if (received > 1 << 20) {
        out.push(windowUpdate(0, received));
        received = 0;
      }
      if (flags & flag.end) answer(stream);
    } else if (kind === type.headers) {
      if (flags & flag.end) answer(stream);
    } else if (kind === type.settings && !(flags & flag.ack)) {
      for (let at = start; at < end; at += 6)
        if (buffer.readUInt16BE(at) === 1) tableSize = buffer.readUInt32BE(at + 2);
      out.push(settingsAck);
    } else if (kind === type.ping && !(flags & flag.ack)) {
      out.push(frame(type.ping, flag.ack, 0, buffer.subarray(start, end)));
    } else if (kind === type.window && stream === 0) {
      window += buffer.readUInt32BE(start);
      while (waiting.length > 0 && window >= body.length) answer(/** @type {number} */ (waiting.shift()));
    }
  });

  socket.write(
    Buffer.concat([
      settings([
        [3, 100_000],
        [4, 8 << 20],
      ]),
      windowUpdate(0, (1 << 30) - 65535),
    ]),
  );
  socket.on('data', (chunk) => {
    let bytesIn = chunk;
    if (!started) {
      greeting = Buffer.concat([greeting, chunk]);
      if (greeting.length < preface.length) return;
      started = true;
      bytesIn = greeting.subarray(preface.length);
    }
    read(bytesIn);
    flush();
  });
  socket.on('error', () => socket.destroy());
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' && address !== null ? address.port : 0}\n`);
});
