import * as grpc from '@grpc/grpc-js';

/*
 * Real gRPC peers for messages of plain bytes: no proto, so that what a test sends is what stands on the wire.
 */

type Bytes = Buffer;

function same(bytes: Bytes): Bytes {
  return bytes;
}

function methodOf(name: string, requestStream: boolean, responseStream: boolean) {
  return {
    path: `/peer.Test/${name}`,
    requestStream,
    responseStream,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
}

const service = {
  unary: methodOf('Unary', false, false),
  serverStream: methodOf('ServerStream', false, true),
  clientStream: methodOf('ClientStream', true, false),
  bidi: methodOf('Bidi', true, true),
};

export interface Handlers {
  readonly unary?: grpc.handleUnaryCall<Bytes, Bytes>;
  readonly serverStream?: grpc.handleServerStreamingCall<Bytes, Bytes>;
  readonly clientStream?: grpc.handleClientStreamingCall<Bytes, Bytes>;
  readonly bidi?: grpc.handleBidiStreamingCall<Bytes, Bytes>;
}

export interface GrpcJsServer {
  readonly port: number;
  stop(): void;
}

/** Listens on loopback. Methods without a handler are UNIMPLEMENTED. */
export async function startGrpcJsServer(
  handlers: Handlers,
  options: grpc.ServerOptions = {},
  credentials = grpc.ServerCredentials.createInsecure(),
): Promise<GrpcJsServer> {
  const server = new grpc.Server(options);
  server.addService(service, { ...handlers });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  return { port, stop: () => server.forceShutdown() };
}

/** What a call with one answer came to. */
export interface Outcome {
  readonly code: grpc.status;
  readonly details: string;
  /** Null unless OK. */
  readonly answer: Bytes | null;
  readonly headers: grpc.Metadata | null;
  readonly trailers: grpc.Metadata;
}

/** A stock client whose own retries are off: what is retried, the proxy retries. */
export class GrpcJsClient {
  readonly raw: grpc.Client;

  constructor(port: number, options: grpc.ClientOptions = {}, credentials = grpc.credentials.createInsecure()) {
    this.raw = new grpc.Client(`127.0.0.1:${port}`, credentials, {
      'grpc.enable_retries': 0,
      // Each with a connection of its own.
      'grpc.use_local_subchannel_pool': 1,
      // Newer versions of Node let no address be a server name, which grpc-js makes of its target (RFC 6066 3); the
      // fixtures' certificates name both loopback and localhost.
      'grpc.ssl_target_name_override': 'localhost',
      ...options,
    });
  }

  unary(message: Bytes | string, metadata = new grpc.Metadata(), options: grpc.CallOptions = {}): Promise<Outcome> {
    return this.outcome((done) =>
      this.raw.makeUnaryRequest(service.unary.path, same, same, Buffer.from(message), metadata, options, done),
    );
  }

  clientStream(
    send: (call: grpc.ClientWritableStream<Bytes>) => void,
    metadata = new grpc.Metadata(),
    options: grpc.CallOptions = {},
  ): Promise<Outcome> {
    return this.outcome((done) => {
      const call = this.raw.makeClientStreamRequest(service.clientStream.path, same, same, metadata, options, done);
      send(call);
      return call;
    });
  }

  serverStream(
    message: Bytes | string,
    metadata = new grpc.Metadata(),
    options: grpc.CallOptions = {},
  ): grpc.ClientReadableStream<Bytes> {
    const { path } = service.serverStream;
    return this.raw.makeServerStreamRequest(path, same, same, Buffer.from(message), metadata, options);
  }

  bidi(metadata = new grpc.Metadata(), options: grpc.CallOptions = {}): grpc.ClientDuplexStream<Bytes, Bytes> {
    return this.raw.makeBidiStreamRequest(service.bidi.path, same, same, metadata, options);
  }

  close(): void {
    this.raw.close();
  }

  private outcome(start: (done: grpc.requestCallback<Bytes>) => grpc.ClientUnaryCall): Promise<Outcome> {
    return new Promise((resolve) => {
      let headers: grpc.Metadata | null = null;
      let answer: Bytes | null = null;
      const call = start((_error, value) => {
        answer = value ?? null;
      });
      call.on('metadata', (metadata) => {
        headers = metadata;
      });
      // `status` comes after the callback.
      call.on('status', ({ code, details, metadata }) => {
        queueMicrotask(() => resolve({ code, details, answer, headers, trailers: metadata }));
      });
    });
  }
}

/** All messages of a stream, and its status, which is not thrown. */
export function collect(
  call: grpc.ClientReadableStream<Bytes> | grpc.ClientDuplexStream<Bytes, Bytes>,
): Promise<{ readonly messages: readonly Bytes[]; readonly status: grpc.StatusObject }> {
  const messages: Bytes[] = [];
  call.on('data', (message: Bytes) => messages.push(message));
  call.on('error', () => {});
  return new Promise((resolve) => {
    let status: grpc.StatusObject | null = null;
    let ended = false;
    const settle = (): void => {
      if (status !== null && (ended || status.code !== grpc.status.OK)) resolve({ messages, status });
    };
    call.on('status', (given: grpc.StatusObject) => {
      status = given;
      settle();
    });
    call.on('end', () => {
      ended = true;
      settle();
    });
  });
}
