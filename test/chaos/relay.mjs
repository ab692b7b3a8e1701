/**
 * A relay between the proxy and a backend, for machines without network namespaces: `node relay.mjs PORT`. `{ cut: true }` over
 * IPC: from then on nothing passes and nothing is told, as when a cable is pulled; `{ cut: false }`: what was held passes.
 */
import { once } from 'node:events';
import net from 'node:net';

const [target] = process.argv.slice(2);
let cut = false;
/** @type {Set<() => void>} */
const links = new Set();

// Each side ends alone: an end is passed on as one, and not while it is cut.
const carry = (near) => {
  const far = net.connect({ port: Number(target), host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  const both = [near, far];
  /** The other side's end, held while it is cut. */
  let ended = false;
  const settle = () => {
    if (cut) for (const socket of both) socket.pause();
    else if (ended) for (const socket of both) socket.resetAndDestroy();
    else for (const socket of both) socket.resume();
  };
  links.add(settle);
  for (const [from, to] of [both, both.toReversed()]) {
    from.on('data', (part) => to.write(part));
    from.on('end', () => {
      ended = true;
      settle();
    });
    from.on('error', () => {});
    from.on('close', () => {
      ended = true;
      settle();
      if (both.every((socket) => socket.destroyed)) links.delete(settle);
    });
  }
  settle();
};
/** Two doors to the same backend, so that it can be had at another address. */
const doors = [0, 1].map(() =>
  net.createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, carry).listen(0, '127.0.0.1'),
);
Promise.all(doors.map((door) => once(door, 'listening'))).then(() =>
  process.send?.({ ports: doors.map((door) => door.address().port) }),
);
process.on('message', (message) => {
  cut = message.cut;
  for (const settle of [...links]) settle();
});
process.on('disconnect', () => process.exit(0));
