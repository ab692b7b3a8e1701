import * as grpc from '@grpc/grpc-js';
import { Happenings } from '../support/alive.js';

/** What came of the attempts of one call id. */
interface Seen {
  readonly previous: string[];
  cancelled: number;
}

function same(bytes: Buffer): Buffer {
  return bytes;
}

function first(metadata: grpc.Metadata, key: string): string | null {
  const [value] = metadata.get(key);
  return typeof value === 'string' ? value : null;
}

function methodOf(name: string): grpc.MethodDefinition<Buffer, Buffer> {
  return {
    path: `/hedgerow.interop.Flaky/${name}`,
    requestStream: true,
    responseStream: false,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
}

type Call = grpc.ServerReadableStream<Buffer, Buffer>;
type Done = grpc.sendUnaryData<Buffer>;

/** The flaky backend of docs/interop.md on grpc-js. */
class Flaky {
  private readonly calls = new Map<string, Seen>();
  private readonly happenings = new Happenings();

  tell(call: Call, done: Done): void {
    call.resume();
    const wanted = (key: string): number => Number(first(call.metadata, key) ?? 0);
    const seen = this.seen(call);
    void this.happenings
      .until('the attempts and cancels that were asked for', () =>
        seen.previous.length >= wanted('wait-attempts') && seen.cancelled >= wanted('wait-cancelled')
          ? `previous=${seen.previous.join(',')} cancelled=${seen.cancelled}`
          : undefined,
      )
      .then(
        (text) => done(null, Buffer.from(text)),
        (error: Error) => done({ code: grpc.status.INTERNAL, details: error.message }),
      );
  }

  handle(method: string, call: Call, done: Done): void {
    const { metadata } = call;
    const seen = this.seen(call);
    seen.previous.push(first(metadata, 'grpc-previous-rpc-attempts') ?? '0');
    this.happenings.changed();
    const attempt = seen.previous.length;
    let answered = false;
    call.on('cancelled', () => {
      // grpc-js tells of the end of every call so.
      if (answered) return;
      seen.cancelled += 1;
      this.happenings.changed();
    });
    const received: Buffer[] = [];
    call.on('data', (message: Buffer) => received.push(message));
    call.on('end', () => {
      if (attempt <= Number(first(metadata, 'fail-first') ?? 0)) {
        answered = true;
        fail(call, done);
        return;
      }
      if (first(metadata, 'hang') !== null) return;
      answered = true;
      const echoed = new grpc.Metadata();
      for (const key of Object.keys(metadata.getMap()).filter((name) => name.startsWith('echo-')))
        for (const value of metadata.get(key)) echoed.add(key, value);
      call.sendMetadata(echoed);
      const all = Buffer.concat(received);
      done(null, Buffer.from(`${method} ${all.length} ${all.subarray(0, 16)}`), echoed);
    });
  }

  private seen(call: Call): Seen {
    const id = first(call.metadata, 'call-id') ?? '';
    const found = this.calls.get(id) ?? { previous: [], cancelled: 0 };
    this.calls.set(id, found);
    return found;
  }
}

function fail(call: Call, done: Done): void {
  if (first(call.metadata, 'early-headers') !== null) {
    const early = new grpc.Metadata();
    early.set('early', 'yes');
    call.sendMetadata(early);
  }
  const metadata = new grpc.Metadata();
  for (const value of call.metadata.get('details-bin')) metadata.add('grpc-status-details-bin', value);
  done({ code: grpc.status.UNAVAILABLE, details: 'ä\nb', metadata });
}

export async function startJsFlaky(): Promise<{ readonly port: number; stop(): void }> {
  const flaky = new Flaky();
  const server = new grpc.Server();
  server.addService(
    { unary: methodOf('Unary'), collect: methodOf('Collect'), seen: methodOf('Seen') },
    {
      unary: (call: Call, done: Done) => flaky.handle('Unary', call, done),
      collect: (call: Call, done: Done) => flaky.handle('Collect', call, done),
      seen: (call: Call, done: Done) => flaky.tell(call, done),
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  return { port, stop: () => server.forceShutdown() };
}
