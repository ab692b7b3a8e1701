/** Who makes which calls in the chaos. */
import { setTimeout as delay } from 'node:timers/promises';

/** How many of each go on at a time. */
const workers = { unary: 14, hedged: 8, pinned: 8, session: 8, download: 5, chat: 5 };
const sessionIds = 40;

/**
 * Resolves when all are over.
 *
 * @param {{
 *   connections: import('./calls.mjs').ClientConnection[],
 *   names: string[],
 *   random: () => number,
 *   calls: import('./checks.d.mts').CallRecord[],
 *   over: () => boolean,
 * }} part
 */
export async function startWork({ connections, names, random, calls, over }) {
  const below = (count) => Math.floor(random() * count);
  let count = 0;

  function record(kind, pin, session) {
    count += 1;
    const told = {
      code: null,
      words: '',
      backend: null,
      answeredBy: null,
      backends: null,
      retries: null,
      reason: null,
    };
    const times = { begun: Date.now(), ended: null, headersAt: null };
    const call = { id: `c${count}`, kind, ...times, ends: 0, pin, session, ...told, processed: null, wrong: null };
    calls.push(call);
    return call;
  }

  function one(kind, connection) {
    switch (kind) {
      case 'unary':
        return connection.make(record(kind, null, null), { path: '/chaos.Retried/Unary' });
      case 'hedged':
        return connection.make(record(kind, null, null), { path: '/chaos.Hedged/Unary' });
      case 'pinned': {
        const pin = names[below(names.length)];
        // Of a hedged method too: a pin is never hedged.
        const path = below(2) === 0 ? '/chaos.Retried/Unary' : '/chaos.Hedged/Unary';
        return connection.make(record(kind, pin, null), { path, headers: { 'hedgerow-pin': pin } });
      }
      case 'session': {
        const session = `s${below(sessionIds)}`;
        const headers = { 'hedgerow-session': session };
        return connection.make(record(kind, null, session), { path: '/chaos.Retried/Unary', headers });
      }
      case 'download':
        return connection.make(record(kind, null, null), { path: '/chaos.Retried/Download', messages: 5 + below(80) });
      case 'chat':
        return connection.make(record(kind, null, null), {
          path: '/chaos.Retried/Chat',
          messages: 2 + below(40),
          pace: 20 + below(200),
        });
      default:
        throw new Error(`no such kind: ${kind}`);
    }
  }

  async function work(kind) {
    while (!over()) {
      await one(kind, connections[below(connections.length)]);
      await delay(20 + below(80));
    }
  }
  const all = Object.entries(workers).flatMap(([kind, times]) => Array.from({ length: times }, () => kind));
  await Promise.all(all.map(work));
}
