/**
 * A backend of the chaos: `node backend.mjs NAME HOST PORT[,PORT] FILE`. Before it does anything else for a call it appends
 * `TIME ID` to FILE, at once, so that what it executed is known even when it is killed in the next moment. Methods: Unary answers with
 * the request; Download sends messages at intervals; Chat sends back each message. Over IPC it is told to be slow.
 */
import { once } from 'node:events';
import { openSync, writeSync } from 'node:fs';
import http2 from 'node:http2';

const [name, host, ports, file] = process.argv.slice(2);
const executed = openSync(file, 'a');
/** What an answer waits (ms). */
let slowness = 0;

function serve(stream, headers) {
  writeSync(executed, `${Date.now()} ${headers['x-call-id']}\n`);
  stream.on('error', () => {});
  const begin = () => {
    if (stream.headersSent || stream.destroyed) return false;
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'x-answered-by': name },
      { waitForTrailers: true },
    );
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    return true;
  };
  switch (headers[':path']?.split('/').pop()) {
    case 'Download':
      stream.resume();
      if (begin()) download(stream, Number(headers['x-messages']));
      return;
    case 'Chat':
      if (!begin()) return;
      stream.on('data', (part) => stream.write(part));
      stream.on('end', () => stream.end());
      return;
    default: {
      const parts = [];
      stream.on('data', (part) => parts.push(part));
      stream.on('end', () => setTimeout(() => begin() && stream.end(Buffer.concat(parts)), slowness));
    }
  }
}

function download(stream, messages) {
  let sent = 0;
  const timer = setInterval(() => {
    if (stream.destroyed) {
      clearInterval(timer);
      return;
    }
    const message = Buffer.alloc(9);
    message.writeUInt32BE(4, 1);
    message.writeUInt32BE(sent, 5);
    stream.write(message);
    sent += 1;
    if (sent === messages) {
      clearInterval(timer);
      stream.end();
    }
  }, 100);
}

const servers = ports.split(',').map((port) => {
  const server = http2.createServer({ settings: { maxConcurrentStreams: 1000 } });
  server.on('session', (session) => session.on('error', () => {}));
  server.on('stream', serve);
  return server.listen(Number(port), host);
});
Promise.all(servers.map((server) => once(server, 'listening'))).then(() =>
  process.send?.({ ports: servers.map((server) => server.address().port) }),
);
process.on('message', (message) => {
  slowness = message.slowness;
});
process.on('disconnect', () => process.exit(0));
