import * as grpc from '@grpc/grpc-js';
import {
  type EchoStatus,
  type InputRequest,
  type OutputRequest,
  type SimpleRequest,
  TestService,
} from './js-protos.js';

const echoInitial = 'x-grpc-test-echo-initial';
const echoTrailing = 'x-grpc-test-echo-trailing-bin';

function payload(size: number): { readonly body: Buffer } {
  return { body: Buffer.alloc(size) };
}

/** The echoed metadata of a call: what goes before the answer, and what after it. */
function echoed(from: grpc.Metadata): { readonly initial: grpc.Metadata; readonly trailing: grpc.Metadata } {
  const initial = new grpc.Metadata();
  const trailing = new grpc.Metadata();
  for (const value of from.get(echoInitial)) initial.add(echoInitial, value);
  for (const value of from.get(echoTrailing)) trailing.add(echoTrailing, value);
  return { initial, trailing };
}

function asked({ responseStatus }: { readonly responseStatus?: EchoStatus | null }): grpc.StatusObject | null {
  if (responseStatus === undefined || responseStatus === null || responseStatus.code === 0) return null;
  return { code: responseStatus.code, details: responseStatus.message, metadata: new grpc.Metadata() };
}

const service: grpc.UntypedServiceImplementation = {
  emptyCall(_: unknown, done: grpc.sendUnaryData<object>) {
    done(null, {});
  },

  unaryCall(call: grpc.ServerUnaryCall<SimpleRequest, object>, done: grpc.sendUnaryData<object>) {
    const { initial, trailing } = echoed(call.metadata);
    if (initial.get(echoInitial).length > 0) call.sendMetadata(initial);
    const status = asked(call.request);
    if (status === null) done(null, { payload: payload(call.request.responseSize ?? 0) }, trailing);
    else done(status);
  },

  streamingOutputCall(call: grpc.ServerWritableStream<OutputRequest, object>) {
    for (const { size } of call.request.responseParameters ?? []) call.write({ payload: payload(size) });
    call.end();
  },

  streamingInputCall(call: grpc.ServerReadableStream<InputRequest, object>, done: grpc.sendUnaryData<object>) {
    let total = 0;
    call.on('data', (request: InputRequest) => {
      total += request.payload?.body.length ?? 0;
    });
    call.on('end', () => done(null, { aggregatedPayloadSize: total }));
  },

  fullDuplexCall(call: grpc.ServerDuplexStream<OutputRequest, object>) {
    const { initial, trailing } = echoed(call.metadata);
    if (initial.get(echoInitial).length > 0) call.sendMetadata(initial);
    let over = false;
    call.on('data', (request: OutputRequest) => {
      const status = over ? null : asked(request);
      if (status !== null) {
        over = true;
        call.emit('error', status);
      }
      if (over) return;
      for (const { size } of request.responseParameters ?? []) call.write({ payload: payload(size) });
    });
    call.on('end', () => {
      if (!over) call.end(trailing);
    });
  },
};

/** gRPC's interop service on grpc-js, on loopback. It cannot compress an answer: the library does not. */
export async function startJsInteropServer(): Promise<{ readonly port: number; stop(): void }> {
  const server = new grpc.Server();
  const { unimplementedCall: _, UnimplementedCall: __, ...implemented } = TestService.service;
  server.addService(implemented as grpc.ServiceDefinition, service);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  return { port, stop: () => server.forceShutdown() };
}
