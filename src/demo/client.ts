import {
  Client,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceError,
  type StatusObject,
} from '@grpc/grpc-js';
import { Status, type StatusCode } from '../grpc/status.js';
import { decodeFailure, detailsKey, type FailureInfo } from './failure-details.js';

/** How a call ended, for its client. */
export interface ClientView {
  readonly code: StatusCode;
  /** Messages that came. */
  readonly answers: number;
  /** From the status details, which pass through the proxy untouched; null where there were none. */
  readonly info: FailureInfo | null;
}

/** A grpc-js client that never retries by itself. */
export interface DemoClient {
  /** One request, one answer. @param timeout milliseconds, kept by the proxy; null: none */
  unary<Q, A>(method: MethodDefinition<Q, A>, request: Q, timeout: number | null): Promise<ClientView>;
  serverStream<Q, A>(method: MethodDefinition<Q, A>, request: Q): Promise<ClientView>;
  clientStream<Q, A>(method: MethodDefinition<Q, A>, requests: readonly Q[]): Promise<ClientView>;
  /** Sends the next request when the answer to the one before has come. */
  talk<Q, A>(method: MethodDefinition<Q, A>, requests: readonly Q[]): Promise<ClientView>;
  close(): void;
}

/** @param port the proxy's, on 127.0.0.1 */
export function createDemoClient(port: number): DemoClient {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.enable_retries': 0 });

  return {
    unary(method, request, timeout) {
      const metadata = new Metadata();
      // Not grpc-js's own deadline, whose timer here would race the proxy's: the demo shows the proxy keep it.
      if (timeout !== null) metadata.set('grpc-timeout', `${timeout}m`);
      return new Promise((resolve) => {
        const { path, requestSerialize, responseDeserialize } = method;
        client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, metadata, (error) =>
          resolve(viewOf(error, error === null ? 1 : 0)),
        );
      });
    },

    serverStream(method, request) {
      const { path, requestSerialize, responseDeserialize } = method;
      return collect(client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request), () => {});
    },

    clientStream(method, requests) {
      return new Promise((resolve) => {
        const { path, requestSerialize, responseDeserialize } = method;
        const call = client.makeClientStreamRequest(path, requestSerialize, responseDeserialize, (error) =>
          resolve(viewOf(error, error === null ? 1 : 0)),
        );
        for (const request of requests) call.write(request);
        call.end();
      });
    },

    talk(method, requests) {
      const { path, requestSerialize, responseDeserialize } = method;
      const call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
      const queue = [...requests];
      const next = (): void => {
        const request = queue.shift();
        if (request === undefined) call.end();
        else call.write(request);
      };
      next();
      return collect(call, next);
    },

    close: () => client.close(),
  };
}

function collect(call: NodeJS.EventEmitter, onAnswer: () => void): Promise<ClientView> {
  return new Promise((resolve) => {
    let answers = 0;
    call.on('data', () => {
      answers += 1;
      onAnswer();
    });
    // The same comes as `status`, for calls that end well too.
    call.on('error', () => {});
    call.on('status', (status: StatusObject) => resolve(viewOf(status, answers)));
  });
}

function viewOf(end: ServiceError | StatusObject | null, answers: number): ClientView {
  if (end === null) return { code: Status.OK, answers, info: null };
  const [details] = end.metadata.get(detailsKey);
  return { code: end.code, answers, info: details instanceof Buffer ? decodeFailure(details) : null };
}
