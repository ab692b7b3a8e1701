/**
 * The backend of every round: answers each call, once its request has ended, with one message and grpc-status 0, from bytes
 * made beforehand. One process, one core, several times faster than any proxy in front of it. Calls that do not end stay open.
 *
 *   --bytes N (100) of the message   --ports N (1)   --tls CERT,KEY   --answer-early (headers at once, also to open calls)
 *   --stall SHARE (0) of the calls, evenly spread, wait a second
 *
 * Prints `{"ports":[…]}`; on SIGUSR2 `{"calls":N}`, how many calls have come.
 */
import { readFileSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import { parseArgs } from 'node:util';
import { headersFrame, LargeAnswers } from './large-answers.mjs';
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

const { values: options } = parseArgs({
  options: {
    bytes: { type: 'string', default: '100' },
    ports: { type: 'string', default: '1' },
    tls: { type: 'string' },
    'answer-early': { type: 'boolean', default: false },
    stall: { type: 'string', default: '0' },
  },
});
const body = message(Number(options.bytes));
const early = options['answer-early'];
const large = body.length > 16_384;
const stallEach = Number(options.stall) === 0 ? 0 : Math.round(1 / Number(options.stall));
const stallTime = 1000;

const status200 = Buffer.from([0x88]);
const blocks = {
  literals: {
    head: Buffer.concat([status200, literal('content-type', 'application/grpc', false)]),
    tail: literal('grpc-status', '0', false),
  },
  first: {
    head: Buffer.concat([status200, literal('content-type', 'application/grpc', true)]),
    tail: literal('grpc-status', '0', true),
  },
  // After `first` the peer's table holds grpc-status (62) and content-type (63).
  later: { head: Buffer.from([0x88, 0x80 | 63]), tail: Buffer.from([0x80 | 62]) },
};

/** @param {{ head: Buffer, tail: Buffer }} of */
function template({ head, tail }) {
  return Buffer.concat([
    frame(type.headers, flag.endHeaders, 0, head),
    frame(type.data, 0, 0, large ? Buffer.alloc(0) : body),
    frame(type.headers, flag.endHeaders | flag.end, 0, tail),
  ]);
}

/** After headers that have been sent already. */
const rest = template(blocks.literals).subarray(9 + blocks.literals.head.length);
const templates = {
  literals: template(blocks.literals),
  first: template(blocks.first),
  later: template(blocks.later),
};

let calls = 0;

/** @param {net.Socket} socket */
function serve(socket) {
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
  const answers = large ? new LargeAnswers(socket, body) : null;

  function flush() {
    if (out.length > 0) socket.write(out.length === 1 ? out[0] : Buffer.concat(out));
    out = [];
    answers?.go();
  }

  /** @param {number} stream */
  function ended(stream) {
    calls += 1;
    if (stallEach === 0 || calls % stallEach !== 0) {
      answer(stream);
      return;
    }
    setTimeout(() => {
      if (socket.destroyed) return;
      answer(stream);
      flush();
    }, stallTime);
  }

  /** @param {number} stream */
  function answer(stream) {
    if (answers !== null) {
      const { head, tail } = blocks.literals;
      answers.begin(stream, headersFrame(stream, head), headersFrame(stream, tail, true));
      return;
    }
    if (window < body.length) {
      waiting.push(stream);
      return;
    }
    window -= body.length;
    const source = early ? rest : templates[tableSize < 256 ? 'literals' : answered === 0 ? 'first' : 'later'];
    answered += 1;
    const copy = Buffer.allocUnsafe(source.length);
    source.copy(copy);
    for (let at = 0; at < copy.length; ) {
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
      if (flags & flag.end) ended(stream);
    } else if (kind === type.headers) {
      if (flags & flag.end) ended(stream);
      else if (early) out.push(headersFrame(stream, blocks.literals.head));
    } else if (kind === type.settings && !(flags & flag.ack)) {
      for (let at = start; at < end; at += 6) {
        const value = buffer.readUInt32BE(at + 2);
        if (buffer.readUInt16BE(at) === 1) tableSize = value;
        if (buffer.readUInt16BE(at) === 4 && answers !== null) answers.initialWindow = value;
      }
      out.push(settingsAck);
    } else if (kind === type.ping && !(flags & flag.ack)) {
      out.push(frame(type.ping, flag.ack, 0, buffer.subarray(start, end)));
    } else if (kind === type.window) {
      const bytes = buffer.readUInt32BE(start);
      answers?.widen(stream, bytes);
      if (stream !== 0) return;
      window += bytes;
      while (waiting.length > 0 && window >= body.length) answer(/** @type {number} */ (waiting.shift()));
    }
  });

  socket.write(
    Buffer.concat([
      settings([
        [3, 1_000_000],
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
}

/** @returns {Promise<number>} */
function listen() {
  const [cert, key] = options.tls?.split(',') ?? [];
  const server =
    cert === undefined || key === undefined
      ? net.createServer({ noDelay: true }, serve)
      : tls.createServer(
          { cert: readFileSync(cert), key: readFileSync(key), ALPNProtocols: ['h2'], noDelay: true },
          serve,
        );
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(/** @type {net.AddressInfo} */ (server.address()).port));
  });
}

process.on('SIGUSR2', () => process.stdout.write(`${JSON.stringify({ calls })}\n`));
const ports = await Promise.all(Array.from({ length: Number(options.ports) }, listen));
process.stdout.write(`${JSON.stringify({ ports })}\n`);
