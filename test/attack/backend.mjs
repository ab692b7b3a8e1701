/**
 * The backend that attacks pass through the proxy to, on the built engine: `node backend.mjs DIST [PORT]`. Sends its port over IPC.
 * The path says what it does with a call; nothing that the proxy sends ever makes it give up.
 */
import net from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [dist, port = '0'] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.join(dist, name)).href);
const { createConnection } = await load('http2/connection.js');
const { bindSocket } = await load('http2/socket.js');
const { defaultHttp2Settings } = await load('http2/types.js');
const { nodeTurn } = await load('runtime/turn.js');

const settings = { ...defaultHttp2Settings, maxConcurrentStreams: 100_000, floodBudget: 1e12 };
/** What `/attack/Large` answers with: a message of 1 MiB. */
const large = Buffer.alloc(5 + 1024 * 1024);
large.writeUInt32BE(1024 * 1024, 1);

const field = ([name, value]) => ({ name, value, neverIndexed: false });
const head = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
].map(field);
const ok = [['grpc-status', '0']].map(field);
const unavailable = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
  ['grpc-status', '14'],
  ['grpc-message', 'try again'],
].map(field);
const wide = [...head, field(['x-wide', 'w'.repeat(12_000)])];

/** @param {import('../../src/http2/types.js').Http2Connection} connection */
function meet(connection, stream, fields, endStream) {
  const lineOf = (wanted) => fields.find(({ name }) => name === wanted)?.value;
  const method = lineOf(':path')?.split('/').pop();
  const parts = [];
  /** @type {Buffer | null} */
  let rest = null;
  let ended = endStream;
  const spill = () => {
    while (rest !== null && rest.length > 0) {
      const taken = connection.sendData(stream, rest, 0, rest.length, false);
      if (taken === 0) return false;
      rest = rest.subarray(taken);
    }
    return true;
  };
  const pour = () => {
    if (spill() && ended) connection.sendHeaders(stream, ok, true);
  };
  const answer = () => {
    switch (method) {
      case 'Flaky':
        if (lineOf('grpc-previous-rpc-attempts') === undefined) {
          connection.sendHeaders(stream, unavailable, true);
          return;
        }
        break;
      case 'Silent':
        return;
      case 'Bidi':
        if (rest === null) break;
        pour();
        return;
      case 'Large':
        rest = large;
        break;
      case 'Wide':
        connection.sendHeaders(stream, wide, false);
        connection.sendHeaders(stream, ok, true);
        return;
      default:
    }
    connection.sendHeaders(stream, head, false);
    rest ??= Buffer.concat(parts);
    pour();
  };
  stream.events = {
    onHeaders() {},
    onTrailers() {},
    onEnd() {},
    onWritable: pour,
    onData(_stream, chunk, start, end, last) {
      if (method === 'Bidi') {
        // Each part at once; what the windows do not take now follows with the next ones.
        if (rest === null) connection.sendHeaders(stream, head, false);
        rest = Buffer.concat([rest ?? Buffer.alloc(0), chunk.subarray(start, end)]);
        spill();
      } else if (method === 'Echo' || method === 'Flaky') {
        parts.push(Buffer.from(chunk.subarray(start, end)));
      }
      connection.consume(stream, end - start);
      if (last) ended = true;
      if (last) answer();
    },
  };
  if (endStream) answer();
}

const clock = { now: () => performance.now() };
const alarms = { set: () => 0, cancel() {} };
const server = net.createServer({ noDelay: true }, (socket) => {
  const binding = bindSocket(socket, {
    create: (events) => createConnection('server', settings, events),
    clock,
    alarms,
    turn: nodeTurn,
    events: {
      onRequest: (stream, fields, endStream) => meet(binding.connection, stream, fields, endStream),
      onSettings() {},
      onGoaway() {},
      onStreamClosed() {},
      onFailed() {},
      onClosed() {},
    },
  });
  binding.start();
});
server.listen(Number(port), '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('disconnect', () => process.exit(0));
