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
  GetOrderRequest,
  ListOrdersRequest,
  Order,
  Protocol,
  UploadOrdersResponse,
} from './protocol.js';

/** A running backend of the demo. */
export interface DemoBackend {
  readonly name: string;
  /** One line for the reader: how it behaves. */
  readonly about: string;
  /** On 127.0.0.1. */
  readonly port: number;
  stop(): void;
}

/** A failure that a backend tells, as Trailers-Only. */
interface Failure {
  readonly code: number;
  readonly message: string;
  /** For google.rpc.ErrorInfo. */
  readonly reason: string;
}

/** How one backend behaves. */
interface Character {
  readonly name: string;
  readonly about: string;
  /** What each answer takes (ms). */
  readonly pace: number;
  /** Repeats: what goes wrong with its first call, its second, and so on; null: nothing. */
  readonly faults: readonly (Failure | null)[];
}

const restarting: Failure = { code: Status.UNAVAILABLE, message: 'restarting', reason: 'RESTARTING' };
const shedding: Failure = { code: Status.RESOURCE_EXHAUSTED, message: 'too many orders', reason: 'SHEDDING_LOAD' };

/** In the order in which the proxy's round robin visits them; scenes.ts counts on it. */
const characters: readonly Character[] = [
  { name: 'well', about: 'answers at once', pace: 2, faults: [null] },
  {
    name: 'flaky',
    about: 'fails three calls of four with UNAVAILABLE',
    pace: 2,
    faults: [restarting, restarting, restarting, null],
  },
  {
    name: 'slow',
    about: 'takes its time, and refuses each third call with RESOURCE_EXHAUSTED',
    pace: 30,
    faults: [null, null, shedding],
  },
];

/** Orders with ids from here on are in the archive, which takes this long (ms). */
const archiveFrom = 9000;
const archivePace = 1500;
/** No order has an id below this. */
const firstOrder = 1000;
/** How many orders of an upload a failing backend takes before it fails: the proxy has to send them again. */
const takenBeforeFailure = 3;

/** Starts three grpc-js servers on free ports of 127.0.0.1. Rejects where a port cannot be had. */
export async function startBackends(protocol: Protocol): Promise<DemoBackend[]> {
  return Promise.all(characters.map((character) => startBackend(character, protocol)));
}

function startBackend(character: Character, protocol: Protocol): Promise<DemoBackend> {
  const { name, about } = character;
  const server = new Server();
  const behaviour = createBehaviour(character);
  server.addService(protocol.orders, {
    GetOrder: behaviour.getOrder,
    ListOrders: behaviour.listOrders,
    UploadOrders: behaviour.uploadOrders,
    Chat: behaviour.chat,
  });
  server.addService(protocol.payments, { Charge: behaviour.charge });
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve({ name, about, port, stop: () => server.forceShutdown() });
      else reject(error);
    });
  });
}

function createBehaviour({ name, pace, faults }: Character) {
  let visits = 0;

  function nextFault(): Failure | null {
    const fault = faults[visits % faults.length] ?? null;
    visits += 1;
    return fault;
  }

  /** Does not keep the process alive. */
  const pause = (ms: number): Promise<void> => delay(ms, undefined, { ref: false });

  function order(id: number): Order {
    return { id, item: items[id % items.length] ?? '', quantity: 1 + (id % 3), servedBy: name };
  }

  return {
    async getOrder(call: ServerUnaryCall<GetOrderRequest, Order>, answer: sendUnaryData<Order>): Promise<void> {
      const { id } = call.request;
      const fault = nextFault();
      await pause(fault === null && id >= archiveFrom ? archivePace : pace);
      if (fault !== null) answer(failure(fault));
      else if (id < firstOrder) {
        answer(failure({ code: Status.NOT_FOUND, message: `there is no order ${id}`, reason: 'NO_SUCH_ORDER' }));
      } else answer(null, order(id));
    },

    async listOrders(call: ServerWritableStream<ListOrdersRequest, Order>): Promise<void> {
      const { firstId, count } = call.request;
      const fault = nextFault();
      if (fault !== null) {
        await pause(pace);
        call.emit('error', failure(fault));
        return;
      }
      for (let id = firstId; id < firstId + count && !call.cancelled; id += 1) {
        await pause(pace);
        call.write(order(id));
      }
      call.end();
    },

    uploadOrders(call: ServerReadableStream<Order, UploadOrdersResponse>, answer: sendUnaryData<UploadOrdersResponse>) {
      const fault = nextFault();
      let stored = 0;
      call.on('data', () => {
        stored += 1;
        if (fault !== null && stored === takenBeforeFailure) answer(failure(fault));
      });
      call.on('end', () => {
        if (fault === null) void pause(pace).then(() => answer(null, { stored }));
        else if (stored < takenBeforeFailure) answer(failure(fault));
      });
    },

    chat(call: ServerDuplexStream<ChatLine, ChatLine>): void {
      const fault = nextFault();
      if (fault !== null) {
        void pause(pace).then(() => call.emit('error', failure(fault)));
        return;
      }
      let last = Promise.resolve();
      call.on('data', ({ text }: ChatLine) => {
        last = last.then(() => pause(pace)).then(() => void call.write({ from: name, text: `about “${text}”: yes` }));
      });
      call.on('end', () => void last.then(() => call.end()));
    },

    async charge(call: ServerUnaryCall<ChargeRequest, ChargeResponse>, answer: sendUnaryData<ChargeResponse>) {
      const fault = nextFault();
      await pause(pace);
      if (fault === null) answer(null, { receipt: `receipt for order ${call.request.orderId}` });
      else answer(failure(fault));
    },
  };
}

const items = ['secateurs', 'hawthorn', 'twine', 'gloves', 'hazel', 'billhook', 'dog rose'];

function failure({ code, message, reason }: Failure): Partial<StatusObject> & ServiceError {
  const metadata = new Metadata();
  metadata.set(detailsKey, encodeFailure(code, message, { reason, domain: 'orders.demo' }));
  return Object.assign(new Error(message), { code, details: message, metadata });
}
