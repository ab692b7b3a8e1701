import net, { type AddressInfo } from 'node:net';
import { alive, Happenings } from './alive.js';
import { type Behaviour, behave } from './behave.js';
import { RawConnection, type RawOptions } from './raw-connection.js';
import { RecordedStream } from './recorded-stream.js';

export interface RawBackendOptions extends RawOptions {
  /** For the tests' own eyes. */
  readonly name?: string;
  /** 0: any free one. */
  readonly port?: number;
  /** Called at each stream's HEADERS. Without: an answer OK, empty, after the request. */
  readonly onStream?: Behaviour;
}

export interface RawBackend {
  readonly name: string;
  readonly port: number;
  /** `127.0.0.1:port` */
  readonly address: string;
  /** Every stream on every connection, in order of their HEADERS. */
  readonly streams: readonly RecordedStream[];
  readonly connections: readonly RawConnection[];
  /** The nth stream (from 1). */
  waitForStream(nth: number): Promise<RecordedStream>;
  /** The stream after the one that the last call gave. */
  nextStream(): Promise<RecordedStream>;
  /** The nth connection (from 1). */
  waitForConnection(nth: number): Promise<RawConnection>;
  nextConnection(): Promise<RawConnection>;
  /** Told of each new connection. */
  onConnection: (connection: RawConnection) => void;
  /** From now on, streams are met so. */
  behave(behaviour: Behaviour): void;
  /** The next streams are met so, one each; those after them fail the test in `close`. */
  script(behaviours: readonly Behaviour[]): void;
  /** GOAWAY on every open connection. */
  goaway(lastStreamId: number, code: number, debug?: string): void;
  /** Cuts every connection; goes on listening. */
  kill(): void;
  /** Takes no new connections; those there are go on. */
  stopListening(): Promise<void>;
  /** Ends all. Rejects with what went wrong inside a behaviour, or with a stream beyond the script. */
  close(): Promise<void>;
}

/** Listens on loopback. */
export async function startRawBackend(options: RawBackendOptions = {}): Promise<RawBackend> {
  const name = options.name ?? 'backend';
  const streams: RecordedStream[] = [];
  const connections: RawConnection[] = [];
  const happenings = new Happenings();
  const problems: unknown[] = [];
  let behaviour: Behaviour = options.onStream ?? behave.ok();
  let closing = false;

  const server = net.createServer((socket) => {
    const connection = new RawConnection(socket, 'server', options);
    connections.push(connection);
    backend.onConnection(connection);
    connection.onRequest = (raw) => {
      const stream = new RecordedStream(raw, name);
      streams.push(stream);
      happenings.changed();
      void meet(stream);
    };
    happenings.changed();
  });

  async function meet(stream: RecordedStream): Promise<void> {
    try {
      await behaviour(stream);
    } catch (error) {
      // A stream that the proxy gave up is no news to a behaviour that was waiting on it.
      const { end } = stream.raw;
      if (!closing && (end === null || end.kind === 'ended')) problems.push(error);
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  let stopped: Promise<void> | null = null;
  const cursor = { stream: 0, connection: 0 };

  const backend: RawBackend = {
    name,
    port,
    address: `127.0.0.1:${port}`,
    streams,
    connections,
    onConnection() {},
    waitForStream: (nth) => happenings.until(`stream ${nth} at ${name}`, () => streams[nth - 1]),
    nextStream() {
      cursor.stream += 1;
      return backend.waitForStream(cursor.stream);
    },
    waitForConnection: (nth) => happenings.until(`connection ${nth} at ${name}`, () => connections[nth - 1]),
    nextConnection() {
      cursor.connection += 1;
      return backend.waitForConnection(cursor.connection);
    },
    behave(next) {
      behaviour = next;
    },
    script(behaviours) {
      const queue = [...behaviours];
      behaviour = (stream) => {
        const next = queue.shift();
        if (next !== undefined) return next(stream);
        problems.push(new Error(`${name} got a stream beyond its script of ${behaviours.length}`));
        stream.trailersOnly(2, [['grpc-message', 'beyond the script']]);
        return undefined;
      };
    },
    goaway(lastStreamId, code, debug) {
      for (const connection of connections) connection.goaway(lastStreamId, code, debug);
    },
    kill() {
      for (const connection of connections) connection.kill();
    },
    stopListening() {
      stopped ??= new Promise((resolve) => server.close(() => resolve()));
      // `close` calls back when the last connection has ended too; to stop listening takes effect at once.
      return Promise.resolve();
    },
    async close() {
      closing = true;
      await backend.stopListening();
      for (const connection of connections) connection.socket.destroy();
      if (stopped !== null) await alive(`${name} to close`, stopped);
      const [first] = problems;
      if (first !== undefined) throw first;
    },
  };
  return backend;
}
