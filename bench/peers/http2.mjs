/** A passthrough as Node's own HTTP/2 gives it: no policy, no buffer. `node http2.mjs BACKEND_PORT`; prints its port. */
import http2 from 'node:http2';

const upstream = http2.connect(`http://127.0.0.1:${process.argv[2]}`, { settings: { enablePush: false } });
upstream.on('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
const server = http2.createServer({ settings: { maxConcurrentStreams: 1000 } });
server.on('stream', (stream, headers) => {
  const out = upstream.request({
    ':method': 'POST',
    ':path': headers[':path'],
    ':authority': headers[':authority'],
    'content-type': headers['content-type'],
    te: 'trailers',
    'user-agent': headers['user-agent'] ?? '',
  });
  stream.on('error', () => out.close(8));
  out.on('error', () => stream.close(2));
  stream.on('data', (chunk) => out.write(chunk));
  stream.on('end', () => out.end());
  /** @type {http2.IncomingHttpHeaders} */
  let trailers = {};
  out.on('response', (answer) => {
    // The client may have gone with a round's end.
    if (stream.destroyed) return;
    stream.respond({ ':status': 200, 'content-type': answer['content-type'] ?? '' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': trailers['grpc-status'] ?? '0' }));
  });
  out.on('trailers', (fields) => {
    trailers = fields;
  });
  out.on('data', (chunk) => stream.write(chunk));
  out.on('end', () => stream.end());
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' && address !== null ? address.port : 0}\n`);
});
