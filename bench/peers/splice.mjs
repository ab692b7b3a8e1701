/** The floor of Node: bytes from one socket to another, nothing read. `node splice.mjs BACKEND_PORT`; prints its port. */
import net from 'node:net';

const target = Number(process.argv[2]);
const server = net.createServer({ noDelay: true }, (client) => {
  const upstream = net.connect({ port: target, host: '127.0.0.1', noDelay: true });
  client.on('data', (chunk) => upstream.write(chunk));
  upstream.on('data', (chunk) => client.write(chunk));
  for (const [one, other] of [
    [client, upstream],
    [upstream, client],
  ]) {
    one.on('close', () => other.destroy());
    one.on('error', () => other.destroy());
  }
});
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${/** @type {net.AddressInfo} */ (server.address()).port}\n`),
);
