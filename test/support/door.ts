import net, { type AddressInfo } from 'node:net';

/** A port that stays where it is while what stands behind it changes. Each connection keeps to what it began with. */
export interface Door {
  readonly port: number;
  /** Connections that came so far. */
  readonly connections: number;
  /** New connections go to this port on loopback. */
  lead(port: number): void;
  close(): void;
}

export async function openDoor(to: number): Promise<Door> {
  let target = to;
  let connections = 0;
  const sockets = new Set<net.Socket>();
  const server = net.createServer({ noDelay: true }, (near) => {
    connections += 1;
    const far = net.connect({ port: target, host: '127.0.0.1', noDelay: true });
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('close', () => sockets.delete(from));
      from.on('error', () => into.destroy());
      from.pipe(into);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    lead(port) {
      target = port;
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
