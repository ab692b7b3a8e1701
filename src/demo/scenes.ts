import type { ClientView, DemoClient } from './client.js';
import type { Order, Protocol } from './protocol.js';

/** One call that the demo makes. */
export interface Scene {
  /** What the call is, beside its method's name. */
  readonly title: string;
  play(client: DemoClient, protocol: Protocol): Promise<ClientView>;
}

function order(id: number): Order {
  return { id, item: 'hawthorn', quantity: 1, servedBy: '' };
}

function orders(count: number): Order[] {
  return Array.from({ length: count }, (_, index) => order(2000 + index));
}

function getOrder(id: number, note = ''): Scene {
  return {
    title: `unary, order ${id}${note}`,
    play: (client, { orders: { GetOrder } }) => client.unary(GetOrder, { id }, null),
  };
}

function chat(...texts: readonly string[]): Scene {
  return {
    title: `bidirectional stream, ${texts.length} lines each way`,
    play: (client, protocol) =>
      client.talk(
        protocol.orders.Chat,
        texts.map((text) => ({ from: 'client', text })),
      ),
  };
}

function list(count: number): Scene {
  return {
    title: `server stream, ${count} orders`,
    play: (client, { orders: { ListOrders } }) => client.serverStream(ListOrders, { firstId: 1100, count }),
  };
}

function upload(count: number): Scene {
  return {
    title: `client stream, ${count} orders`,
    play: (client, { orders: { UploadOrders } }) => client.clientStream(UploadOrders, orders(count)),
  };
}

function charge(orderId: number): Scene {
  return {
    title: 'unary, moves money: no retry policy',
    play: (client, { payments: { Charge } }) => client.unary(Charge, { orderId, cents: 1250 }, null),
  };
}

const archiveTimeout = 120;
const archived: Scene = {
  title: `unary, from the archive, deadline ${archiveTimeout} ms`,
  play: (client, { orders: { GetOrder } }) => client.unary(GetOrder, { id: 9001 }, archiveTimeout),
};

/**
 * The calls, over and over. First attempts go round robin, so the scenes' places in the list say which backend meets them
 * first: well, flaky, slow, well, flaky, slow …
 */
export const scenes: readonly Scene[] = [
  getOrder(1001),
  getOrder(1002),
  list(3),
  upload(5),
  upload(20),
  getOrder(1003),
  getOrder(7, ' (never given)'),
  chat('hedge laid?', 'gaps filled?', 'gate shut?'),
  archived,
  chat('any twine left?', 'gloves?'),
  charge(1002),
  getOrder(1004),
];
