import { setTimeout as delay } from 'node:timers/promises';
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceError,
  type StatusObject,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { Status } from '../grpc/status.js';
import { detailsKey, encodeFailure } from './failure-details.js';
import type {
  ChargeRequest,
  ChargeResponse,
  ChatLine,
  FindOrderRequest,
  GetOrderRequest,
  ListOrdersRequest,
  Order,
  Protocol,
  UploadOrdersResponse,
} from './protocol.js';
import type { Failure, Part, Stage } from './stage.js';

/** A running backend of the demo. */
export interface DemoBackend {
  readonly name: string;
  /** On 127.0.0.1. */
  readonly port: number;
  stop(): void;
}

export const backendNames = ['oak', 'elm', 'hazel'] as const;

/** No order has an id below this. */
const firstOrder = 1000;

/** Starts three grpc-js servers on free ports of 127.0.0.1. Rejects where a port cannot be had. */
export async function startBackends(protocol: Protocol, stage: Stage): Promise<DemoBackend[]> {
  return Promise.all(backendNames.map((name) => startBackend(name, protocol, stage)));
}

function startBackend(name: string, protocol: Protocol, stage: Stage): Promise<DemoBackend> {
  const server = new Server();
  const service = createService(name, stage);
  server.addService(protocol.orders, {
    GetOrder: service.getOrder,
    FindOrder: service.findOrder,
    ListOrders: service.listOrders,
    UploadOrders: service.uploadOrders,
    Chat: service.chat,
  });
  server.addService(protocol.payments, { Charge: service.charge });
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve({ name, port, stop: () => server.forceShutdown() });
      else reject(error);
    });
  });
}

function createService(name: string, stage: Stage) {
  function enter({ metadata }: { readonly metadata: Metadata }): Part {
    const [previous] = metadata.get('grpc-previous-rpc-attempts');
    return stage.enter({ backend: name, previous: previous === undefined ? null : String(previous) });
  }

  /** Does not keep the process alive. */
  const pause = (ms: number): Promise<void> => delay(ms, undefined, { ref: false });

  function order(id: number): Order {
    return { id, item: items[id % items.length] ?? '', quantity: 1 + (id % 3), servedBy: name };
  }

  /** @param refusal what the backend itself has against the request */
  async function answerOnce<A>(
    call: { readonly metadata: Metadata },
    answer: sendUnaryData<A>,
    content: A,
    refusal: Failure | null = null,
  ): Promise<void> {
    const { pace, failure } = enter(call);
    await pause(pace);
    const wrong = failure ?? refusal;
    if (wrong === null) answer(null, content);
    else answer(asError(wrong));
  }

  return {
    getOrder(call: ServerUnaryCall<GetOrderRequest, Order>, answer: sendUnaryData<Order>) {
      const { id } = call.request;
      return answerOnce(call, answer, order(id), id < firstOrder ? noSuchOrder(id) : null);
    },

    findOrder: (call: ServerUnaryCall<FindOrderRequest, Order>, answer: sendUnaryData<Order>) =>
      answerOnce(call, answer, { ...order(firstOrder), item: call.request.item }),

    async listOrders(call: ServerWritableStream<ListOrdersRequest, Order>): Promise<void> {
      const { firstId, count } = call.request;
      const { pace, failure } = enter(call);
      if (failure !== null) {
        await pause(pace);
        call.emit('error', asError(failure));
        return;
      }
      for (let id = firstId; id < firstId + count && !call.cancelled; id += 1) {
        await pause(pace);
        call.write(order(id));
      }
      call.end();
    },

    /** Takes all of them before it fails: the proxy has to send them all again. */
    uploadOrders(call: ServerReadableStream<Order, UploadOrdersResponse>, answer: sendUnaryData<UploadOrdersResponse>) {
      const { pace, failure } = enter(call);
      let stored = 0;
      call.on('data', () => {
        stored += 1;
      });
      call.on('end', () => {
        void pause(pace).then(() => (failure === null ? answer(null, { stored }) : answer(asError(failure))));
      });
    },

    chat(call: ServerDuplexStream<ChatLine, ChatLine>): void {
      const { pace, failure } = enter(call);
      if (failure !== null) {
        void pause(pace).then(() => call.emit('error', asError(failure)));
        return;
      }
      let last = Promise.resolve();
      call.on('data', ({ text }: ChatLine) => {
        last = last.then(() => pause(pace)).then(() => void call.write({ from: name, text: `about “${text}”: yes` }));
      });
      call.on('end', () => void last.then(() => call.end()));
    },

    charge: (call: ServerUnaryCall<ChargeRequest, ChargeResponse>, answer: sendUnaryData<ChargeResponse>) =>
      answerOnce(call, answer, { receipt: `receipt for order ${call.request.orderId}` }),
  };
}

const items = ['secateurs', 'hawthorn', 'twine', 'gloves', 'hazel', 'billhook', 'dog rose'];

function noSuchOrder(id: number): Failure {
  return { code: Status.NOT_FOUND, message: `there is no order ${id}`, reason: 'NO_SUCH_ORDER', pushback: null };
}

function asError({ code, message, reason, pushback }: Failure): Partial<StatusObject> & ServiceError {
  const metadata = new Metadata();
  metadata.set(detailsKey, encodeFailure(code, message, { reason, domain: 'orders.demo' }));
  if (pushback !== null) metadata.set('grpc-retry-pushback-ms', String(pushback));
  return Object.assign(new Error(message), { code, details: message, metadata });
}
