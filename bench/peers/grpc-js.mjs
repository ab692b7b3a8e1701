/** A passthrough of grpc-js parts: server and client, messages as bytes. `node grpc-js.mjs BACKEND_PORT`; prints its port. */
import grpc from '@grpc/grpc-js';

const raw = (/** @type {Buffer} */ bytes) => bytes;
const client = new grpc.Client(`127.0.0.1:${process.argv[2]}`, grpc.credentials.createInsecure(), {
  'grpc.enable_retries': 1,
});
const server = new grpc.Server();
server.addService(
  {
    unary: {
      path: '/bench.Echo/Unary',
      requestStream: false,
      responseStream: false,
      requestSerialize: raw,
      requestDeserialize: raw,
      responseSerialize: raw,
      responseDeserialize: raw,
    },
  },
  {
    unary: (
      /** @type {grpc.ServerUnaryCall<Buffer, Buffer>} */ call,
      /** @type {grpc.sendUnaryData<Buffer>} */ callback,
    ) => {
      client.makeUnaryRequest('/bench.Echo/Unary', raw, raw, call.request, call.metadata, (error, answer) =>
        callback(error, answer),
      );
    },
  },
);
server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  process.stdout.write(`${port}\n`);
});
