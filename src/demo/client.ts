import {
  Client,
  credentials,
  Metadata,
  type MetadataValue,
  type MethodDefinition,
  type StatusObject,
} from '@grpc/grpc-js';
import type { StatusCode } from '../grpc/status.js';
import { decodeFailure, detailsKey, type FailureInfo } from './failure-details.js';

/** How a call ended, for its client. */
export interface ClientView {
  readonly code: StatusCode;
  /** Messages that came. */
  readonly answers: number;
  /** From the status details, which pass through the proxy untouched; null where there were none. */
  readonly info: FailureInfo | null;
  /** The proxy's keys among the trailers, in its order. */
  readonly told: ReadonlyMap<string, string>;
}

/** What a call asks beside its request: metadata keys and values. */
export type Asking = Readonly<Record<string, string>>;

/** A grpc-js client that never retries by itself. */
export interface DemoClient {
  /** One request, one answer. */
  unary<Q, A>(method: MethodDefinition<Q, A>, request: Q, asking: Asking): Promise<ClientView>;
  serverStream<Q, A>(method: MethodDefinition<Q, A>, request: Q): Promise<ClientView>;
  clientStream<Q, A>(method: MethodDefinition<Q, A>, requests: readonly Q[]): Promise<ClientView>;
  /** Sends the next request when the answer to the one before has come. */
  talk<Q, A>(method: MethodDefinition<Q, A>, requests: readonly Q[]): Promise<ClientView>;
  close(): void;
}

const keyPrefix = 'hedgerow-';

/** @param port the proxy's, on 127.0.0.1 */
export function createDemoClient(port: number): DemoClient {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.enable_retries': 0 });

  return {
    // A deadline is asked for by key: grpc-js's own timer would race the proxy's, and the demo shows the proxy keep it.
    unary(method, request, asking) {
      const metadata = new Metadata();
      for (const [key, value] of Object.entries(asking)) metadata.set(key, value);
      const { path, requestSerialize, responseDeserialize } = method;
      const once = oneAnswer();
      once.watch(
        client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, metadata, once.onAnswer),
      );
      return once.view;
    },

    serverStream(method, request) {
      const { path, requestSerialize, responseDeserialize } = method;
      return collect(client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request), () => {});
    },

    clientStream(method, requests) {
      const { path, requestSerialize, responseDeserialize } = method;
      const once = oneAnswer();
      const call = client.makeClientStreamRequest(path, requestSerialize, responseDeserialize, once.onAnswer);
      once.watch(call);
      for (const request of requests) call.write(request);
      call.end();
      return once.view;
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

/** For calls with one answer: grpc-js tells the answer by callback, and the trailers by event. */
function oneAnswer() {
  let resolve: (view: ClientView) => void = () => {};
  const view = new Promise<ClientView>((settle) => {
    resolve = settle;
  });
  return {
    view,
    onAnswer: (): void => {},
    watch(call: NodeJS.EventEmitter): void {
      // The same comes as `status`, for calls that end well too.
      call.on('error', () => {});
      call.on('status', (status: StatusObject) => resolve(viewOf(status, status.code === 0 ? 1 : 0)));
    },
  };
}

function collect(call: NodeJS.EventEmitter, onAnswer: () => void): Promise<ClientView> {
  return new Promise((resolve) => {
    let answers = 0;
    call.on('data', () => {
      answers += 1;
      onAnswer();
    });
    call.on('error', () => {});
    call.on('status', (status: StatusObject) => resolve(viewOf(status, answers)));
  });
}

function viewOf({ code, metadata }: StatusObject, answers: number): ClientView {
  const [details] = metadata.get(detailsKey);
  const told = new Map<string, string>();
  for (const [key, value] of Object.entries<MetadataValue>(metadata.getMap())) {
    if (key.startsWith(keyPrefix)) told.set(key.slice(keyPrefix.length), String(value));
  }
  return { code, answers, info: details instanceof Buffer ? decodeFailure(details) : null, told };
}
