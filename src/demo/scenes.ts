import { Status } from '../grpc/status.js';
import type { ClientView, DemoClient } from './client.js';
import type { Order, Protocol } from './protocol.js';
import type { Failure, Part } from './stage.js';

/** One call that the demo makes. */
export interface Scene {
  /** What the call is, beside its method's name. */
  readonly title: string;
  /** What one sees and why; null for a call that needs no words. */
  readonly lesson: string | null;
  /** What its attempts meet, whichever backends they reach. */
  readonly parts: readonly [Part, ...Part[]];
  /** Ordinary calls are made before it until the token bucket is full: it would end otherwise without. */
  readonly fullBucket?: boolean;
  play(client: DemoClient, protocol: Protocol): Promise<ClientView>;
}

const quick: Part = { pace: 3, failure: null };
const unhurried: Part = { pace: 20, failure: null };
const stuck: Part = { pace: 1000, failure: null };

function failing(failure: Partial<Failure>): Part {
  const restarting: Failure = { code: Status.UNAVAILABLE, message: 'restarting', reason: 'RESTARTING', pushback: null };
  return { pace: 10, failure: { ...restarting, ...failure } };
}

const shedding = { code: Status.RESOURCE_EXHAUSTED, message: 'too many orders', reason: 'SHEDDING_LOAD' };

/** What the proxy's record says of itself. */
const pinKeys: readonly string[] = ['hedgerow-pin', 'hedgerow-allow-retry'];

/** @param asking metadata keys and values */
function getOrder(id: number, asking: Readonly<Record<string, string>> = {}): Pick<Scene, 'title' | 'play'> {
  const asked = Object.entries(asking).flatMap(([key, value]) => (pinKeys.includes(key) ? [] : [`${key}: ${value}`]));
  return {
    title: ['unary', ...asked].join(', '),
    play: (client, { orders: { GetOrder } }) => client.unary(GetOrder, { id }, asking),
  };
}

const findOrder: Pick<Scene, 'title' | 'play'> = {
  title: 'unary, may be hedged',
  play: (client, { orders: { FindOrder } }) => client.unary(FindOrder, { item: 'twine' }, {}),
};

function chat(...texts: readonly string[]): Pick<Scene, 'title' | 'play'> {
  return {
    title: `bidirectional stream, ${texts.length} lines each way`,
    play: (client, protocol) =>
      client.talk(
        protocol.orders.Chat,
        texts.map((text) => ({ from: 'client', text })),
      ),
  };
}

function list(count: number): Pick<Scene, 'title' | 'play'> {
  return {
    title: `server stream, ${count} orders`,
    play: (client, { orders: { ListOrders } }) => client.serverStream(ListOrders, { firstId: 1100, count }),
  };
}

/** @param item what each order is of */
function upload(count: number, item: string): Pick<Scene, 'title' | 'play'> {
  const order = (index: number): Order => ({ id: 2000 + index, item, quantity: 1, servedBy: '' });
  const bytes = count * item.length;
  return {
    title: `client stream, ${count} orders${bytes < 1024 ? '' : `, ${Math.round(bytes / 1024)} KiB`}`,
    play: (client, { orders: { UploadOrders } }) =>
      client.clientStream(
        UploadOrders,
        Array.from({ length: count }, (_, index) => order(index)),
      ),
  };
}

const charge: Pick<Scene, 'title' | 'play'> = {
  title: 'unary, moves money',
  play: (client, { payments: { Charge } }) => client.unary(Charge, { orderId: 1002, cents: 1250 }, {}),
};

/**
 * A round in twelve calls, and what else there is. The bucket of service-config.json has 10 tokens and gets half a one for a
 * success: it is full before the first, and calls 4 to 8 bring it from 9.5 to the threshold of 5.
 */
export const scenes: readonly [Scene, ...Scene[]] = [
  {
    ...getOrder(1001),
    fullBucket: true,
    lesson: 'A retry. The first attempt fails with a listed code; after a backoff another backend answers (A6, Retry).',
    parts: [failing({}), quick],
  },
  {
    ...findOrder,
    lesson:
      'Hedges. Two backends are stuck for a second. Every 60 ms without an answer one more is asked; the first answer wins, the others are cancelled (A6, Hedging).',
    parts: [stuck, stuck, quick],
  },
  {
    ...upload(5, 'hawthorn'),
    lesson:
      'Pushback. The backend says when to come back, 150 ms, and that replaces the backoff, without jitter (A6, Pushback). The stream’s messages are sent again.',
    parts: [failing({ pushback: 150 }), quick],
  },
  {
    ...getOrder(1002),
    lesson: 'Pushback -1. The backend asks not to be tried again: no retry, though the code is listed (A6, Pushback).',
    parts: [failing({ ...shedding, pushback: -1 })],
  },
  {
    ...getOrder(1003, { 'hedgerow-pin': 'elm' }),
    lesson:
      'A pin. The client sends hedgerow-pin: elm, this backend or none: it gets elm’s own error, and no retry elsewhere.',
    parts: [failing({})],
  },
  {
    ...getOrder(1003, { 'hedgerow-pin': 'elm', 'hedgerow-allow-retry': 'true' }),
    lesson:
      'The same, loosened by hedgerow-allow-retry: true. The pin holds for the first attempt, and the policy goes on from there.',
    parts: [failing({}), quick],
  },
  {
    ...getOrder(1004, { 'grpc-timeout': '1S' }),
    lesson:
      'A deadline. The backend asks for 3 s, and the client has given the call 1 s: nobody waits for what cannot come (A6, one deadline over all attempts).',
    parts: [failing({ pushback: 3000 })],
  },
  {
    ...getOrder(1005),
    lesson:
      'The throttle. As at first, but so many calls have failed by now that the bucket is down to half: no retry, so that retries do not keep the backends down (A6, Throttling).',
    parts: [failing({})],
  },
  {
    ...getOrder(1006, { 'hedgerow-exclude': 'oak,elm' }),
    lesson: 'An exclude: hazel alone is left. Each success puts half a token back (A6, Throttling).',
    parts: [quick],
  },
  {
    ...chat('hedge laid?', 'gaps filled?', 'gate shut?'),
    lesson: 'A stream is a call like any other: one success, half a token.',
    parts: [unhurried],
  },
  { ...list(3), lesson: 'One more success.', parts: [unhurried] },
  {
    ...getOrder(1007),
    lesson: 'The same once more: the bucket has recovered, and a retry heals the failure again.',
    parts: [failing({}), quick],
  },
  {
    ...findOrder,
    fullBucket: true,
    lesson: 'A hedge that need not wait: a non-fatal failure brings it forward (A6, Hedging).',
    parts: [failing({}), quick],
  },
  {
    ...getOrder(7),
    lesson: 'A code that is not listed is the answer: NOT_FOUND would be so anywhere.',
    parts: [quick],
  },
  {
    ...charge,
    lesson: 'No policy. Its owner wants no charge to run twice.',
    parts: [failing({})],
  },
  {
    ...list(3),
    lesson:
      'Nothing helps while all backends fail: each wait is twice the one before, four attempts are the policy’s most.',
    parts: [failing({})],
  },
  {
    ...upload(60, 'hawthorn '.repeat(910)),
    lesson:
      'A request larger than what is kept for another attempt (256 KiB): it is carried, and can no longer be retried (A6, Buffering).',
    parts: [failing({})],
  },
];

/** Fills the bucket. */
export const ordinary: Scene = { ...getOrder(1008), title: 'unary, nothing wrong', lesson: null, parts: [quick] };
