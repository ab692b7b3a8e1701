import { once } from 'node:events';
import net from 'node:net';
import {
  ack,
  block,
  data,
  endHeaders,
  endStream,
  frame,
  headers,
  type Line,
  ping,
  preface,
  reset,
  settings,
  Type,
  windowUpdate,
} from '../support/frames.js';
import type { Assault } from './assault.js';
import { pause } from './rig.js';

/** What an attack must come to: its connection is closed within a second, or it goes on and harms nobody. */
export type End = 'closed' | 'held';

export interface ClientAttack {
  readonly name: string;
  readonly end: End;
  /** The log line that tells of it; null: none does, as nothing was turned away. */
  readonly says: RegExp | null;
  /** Over TLS, the honest client's calls as well. */
  readonly secure?: boolean;
  /** The honest client has answers of 1 MiB too, as the attack is on who may have such. */
  readonly large?: boolean;
  /** How long it goes on (ms), where not as long as others. */
  readonly lasts?: number;
  /** Bytes of memory more than before that are its due, where not those of others. */
  readonly mayTake?: number;
  /** Of `hedgerow serve`, where the defaults would make it last too long. */
  readonly flags?: readonly string[];
  readonly mount: (assault: Assault) => Promise<void>;
}

const id = (n: number): number => 2 * n + 1;
const initialWindowSize = 4;
const maxHeaderListSize = 6;

function request(method: string, extra: readonly Line[] = []): Line[] {
  return [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', `/attack/${method}`],
    [':authority', 'attacker'],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
    ...extra,
  ];
}

/** Of a method that is never answered. */
export const silentPath = '/attack/Silent';
const silent = request('Silent');
const large = headers(1, request('Large'), endHeaders | endStream).subarray(9);

/** A whole request for the large answer. */
function askLarge(n: number): Buffer {
  return frame(Type.headers, endHeaders | endStream, id(n), large);
}

/** Literals with indexing of 4000 bytes, then references to it: 4000 bytes for each byte sent (RFC 7541 6.1, 6.2.1). */
function bomb(streamId: number): Buffer {
  const value = Buffer.alloc(4000, 'x');
  const length = value.length - 127;
  const entry = Buffer.concat([Buffer.of(0x40, 1, 0x78, 127, (length & 0x7f) | 0x80, length >> 7), value]);
  const references = Buffer.alloc(12_000, 0xbe);
  return frame(Type.headers, endHeaders | endStream, streamId, Buffer.concat([block(silent), entry, references]));
}

/** Header lists of 60 KB in four frames. */
function giant(streamId: number): Buffer {
  const bytes = block(
    request(
      'Silent',
      Array.from({ length: 60 }, (_, i) => [`x-${i}`, 'g'.repeat(1000)] as const),
    ),
  );
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 16_384) {
    const last = at + 16_384 >= bytes.length;
    const flags = (at === 0 ? endStream : 0) | (last ? endHeaders : 0);
    parts.push(frame(at === 0 ? Type.headers : Type.continuation, flags, streamId, bytes.subarray(at, at + 16_384)));
  }
  return Buffer.concat(parts);
}

/** Opens one stream whose backend says nothing, then floods. */
function onOpenStream(attack: Uint8Array): (n: number) => Uint8Array {
  return (n) => (n === 0 ? headers(1, silent) : attack);
}

/** Many sockets that say what `hello` is and then only what `more` does, one byte each 100 ms. */
export async function dawdle(assault: Assault, sockets: number, hello: Uint8Array, more: Uint8Array): Promise<void> {
  const all = Array.from({ length: sockets }, () => net.connect({ port: assault.port, host: '127.0.0.1' }));
  for (const socket of all) {
    socket.on('error', () => {});
    socket.resume();
    assault.watch({ socket });
    socket.write(hello);
  }
  for (let at = 0; !assault.over; at += 1) {
    for (const socket of all) if (!socket.destroyed && socket.writable) socket.write(more.subarray(at, at + 1));
    await pause(100);
  }
  for (const socket of all) socket.destroy();
}

/** So many connections that are greeted and idle; nearly all that --max-connections permits. */
async function crowd(assault: Assault, size: number): Promise<void> {
  let greeted = 0;
  for (let n = 0; n < size; n += 100) {
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        const socket = net.connect({ port: assault.port, host: '127.0.0.1' });
        socket.on('error', () => {});
        assault.hold(socket);
        socket.write(hello);
        await once(socket, 'data');
        greeted += 1;
      }),
    );
  }
  if (greeted < size) throw new Error(`only ${greeted} connections were taken`);
}

const hello = Buffer.concat([preface, settings()]);
const perSecond = 25_000;
const tiny = Buffer.alloc(1);

export const clientAttacks: readonly ClientAttack[] = [
  {
    name: 'rapid reset',
    end: 'closed',
    says: /too many frames that carry nothing for a call: \d+ RST_STREAM/,
    mount: (assault) => assault.flood(5000, (n) => Buffer.concat([headers(id(n), silent), reset(id(n), 8)])),
  },
  {
    name: 'rapid reset with tiny DATA',
    end: 'closed',
    says: /too many frames that carry nothing for a call: \d+ RST_STREAM/,
    mount: (assault) =>
      assault.flood(5000, (n) =>
        Buffer.concat([headers(id(n), silent), data(id(n), tiny), data(id(n), tiny), reset(id(n), 8)]),
      ),
  },
  {
    name: 'made-you-reset',
    end: 'closed',
    says: /too many .*\d+ streams that had to be reset/,
    mount: (assault) => assault.flood(5000, (n) => Buffer.concat([headers(id(n), silent), windowUpdate(id(n), 0)])),
  },
  {
    name: 'CONTINUATION flood',
    end: 'closed',
    says: /a header block of more than 64 frames/,
    mount: (assault) =>
      assault.flood(1000, (n) =>
        n === 0 ? headers(1, silent, 0) : frame(Type.continuation, 0, 1, block([['x', 'y'.repeat(1000)]])),
      ),
  },
  {
    name: 'SETTINGS flood',
    end: 'closed',
    says: /too many .*: \d+ SETTINGS/,
    mount: (assault) => assault.flood(perSecond, () => settings()),
  },
  {
    name: 'SETTINGS with 2000 windows each',
    end: 'closed',
    says: /too many .*: \d+ SETTINGS/,
    mount(assault) {
      const many = settings(...Array.from({ length: 2000 }, (_, i) => [initialWindowSize, 65_535 + (i & 1)] as const));
      return assault.flood(500, (n) => (n < 50 ? headers(id(n), silent) : many));
    },
  },
  {
    name: 'PING flood',
    end: 'closed',
    says: /too many .*: \d+ PING/,
    mount: (assault) => assault.flood(perSecond, () => ping('attacker')),
  },
  {
    name: 'PING flood with tiny DATA',
    end: 'closed',
    says: /too many .*: \d+ PING/,
    mount: (assault) => assault.flood(perSecond, onOpenStream(Buffer.concat([ping('attacker'), data(1, tiny)]))),
  },
  {
    name: 'PING answers flood',
    end: 'closed',
    says: /too many .*: \d+ PING/,
    mount: (assault) => assault.flood(perSecond, () => ping('attacker', ack)),
  },
  {
    name: 'empty DATA flood',
    end: 'closed',
    says: /too many .*: \d+ empty DATA/,
    mount: (assault) => assault.flood(perSecond, onOpenStream(data(1, ''))),
  },
  {
    name: 'WINDOW_UPDATE flood',
    end: 'closed',
    says: /too many .*: \d+ WINDOW_UPDATE/,
    mount: (assault) => assault.flood(perSecond, onOpenStream(windowUpdate(1, 1))),
  },
  {
    name: 'PRIORITY flood',
    end: 'closed',
    says: /too many .*: \d+ PRIORITY/,
    mount: (assault) => assault.flood(perSecond, () => frame(Type.priority, 0, 99, Buffer.alloc(5))),
  },
  {
    name: 'unknown frames flood',
    end: 'closed',
    says: /too many .*: \d+ frames of unknown type/,
    mount: (assault) => assault.flood(perSecond, () => frame(0xee, 0, 0, Buffer.alloc(64))),
  },
  {
    name: 'streams past the limit',
    end: 'closed',
    says: /too many .*: \d+ streams past the limit/,
    mount: (assault) => assault.flood(6000, (n) => headers(id(n), silent)),
  },
  { name: 'HPACK bomb', end: 'held', says: null, mount: (assault) => assault.flood(200, (n) => bomb(id(n))) },
  { name: 'giant header lists', end: 'held', says: null, mount: (assault) => assault.flood(100, (n) => giant(id(n))) },
  {
    name: 'answers too big for the client',
    end: 'held',
    says: null,
    async mount(assault) {
      const client = await assault.connect({ settings: [[maxHeaderListSize, 1000]] });
      let statuses = 0;
      await assault.pace(200, (count) => {
        for (let i = 0; i < count; i += 1)
          void client
            .call('/attack/Wide')
            .done()
            .then((call) => {
              statuses += call.status === 8 ? 1 : 0;
            })
            .catch(() => {});
        return !client.connection.closed;
      });
      await client.ping().catch(() => {});
      if (statuses < 100) throw new Error(`only ${statuses} calls got a status`);
    },
  },
  {
    name: 'headers without end',
    end: 'closed',
    says: /a header block was not whole within 700 ms/,
    flags: ['--header-timeout', '700ms'],
    mount: (assault) =>
      dawdle(
        assault,
        200,
        Buffer.concat([hello, headers(1, silent, 0)]),
        frame(Type.continuation, 0, 1, block(silent)),
      ),
  },
  {
    name: 'slow headers',
    end: 'closed',
    says: /a header block was not whole within 700 ms/,
    flags: ['--header-timeout', '700ms'],
    mount: (assault) =>
      dawdle(assault, 200, Buffer.concat([hello, headers(1, silent).subarray(0, 10)]), headers(1, silent).subarray(10)),
  },
  {
    name: 'slow preface',
    end: 'closed',
    says: /within 700 ms/,
    flags: ['--preface-timeout', '700ms'],
    mount: (assault) => dawdle(assault, 500, preface.subarray(0, 1), preface.subarray(1)),
  },
  {
    name: 'slow readers of large answers',
    end: 'held',
    says: /a client has the most bytes waiting for a peer: \d+ of \d+ in all, more than --relay-buffer-limit/,
    flags: ['--relay-buffer-limit', '4MiB'],
    large: true,
    async mount(assault) {
      const client = await assault.connect({ settings: [[initialWindowSize, 2 ** 31 - 1]] });
      client.connection.pause();
      await assault.pace(100, (count) => {
        client.connection.send(...Array.from({ length: count }, (_, i) => askLarge(i + asked)));
        asked += count;
        return asked < 100;
      });
      await assault.sitOut();
    },
  },
  {
    name: 'zero windows',
    end: 'held',
    says: /a client has the most bytes waiting for a peer: \d+ of \d+ in all, more than --relay-buffer-limit/,
    flags: ['--relay-buffer-limit', '4MiB'],
    large: true,
    async mount(assault) {
      const client = await assault.connect({ settings: [[initialWindowSize, 0]] });
      for (let n = 0; n < 60; n += 1) client.connection.send(askLarge(n));
      await assault.sitOut();
    },
  },
  {
    name: 'data dribble',
    end: 'held',
    says: null,
    mount: (assault) =>
      assault.flood(3000, (n) => (n < 100 ? headers(id(n), silent) : data(id(n % 100), Buffer.alloc(1)))),
  },
  {
    name: '2000 idle connections',
    end: 'held',
    says: null,
    async mount(assault) {
      for (let n = 0; n < 2000 && !assault.over; n += 50)
        await Promise.all(Array.from({ length: 50 }, () => assault.connect()));
      await assault.sitOut();
    },
  },
  {
    name: '9900 idle connections',
    end: 'held',
    says: null,
    lasts: 4000,
    // 14 KiB each (docs/limits.md, Memory).
    mayTake: 9900 * 24 * 1024,
    async mount(assault) {
      await crowd(assault, 9900);
      await assault.sitOut();
    },
  },
  {
    name: '5000 idle streams',
    end: 'held',
    says: null,
    async mount(assault) {
      for (let c = 0; c < 5; c += 1) {
        const client = await assault.connect();
        for (let n = 0; n < 1000; n += 100) {
          client.connection.send(...Array.from({ length: 100 }, (_, i) => headers(id(n + i), silent)));
          await pause(10);
        }
      }
      await assault.sitOut();
    },
  },
  {
    name: 'clients that end their side alone',
    end: 'closed',
    says: null,
    async mount(assault) {
      while (!assault.over) {
        const client = await assault.connect();
        client.connection.send(headers(1, silent));
        client.connection.end();
        await pause(10);
      }
    },
  },
  {
    name: 'replay memory filler',
    end: 'held',
    says: null,
    async mount(assault) {
      const client = await assault.connect();
      const part = Buffer.alloc(16_384, 'r');
      // 8 MiB kept are this client's share; other calls are retried all the while: see honest.mjs.
      for (let n = 0; n < 100 && !assault.over; n += 1) {
        client.connection.send(headers(id(n), silent), ...Array.from({ length: 15 }, () => data(id(n), part)));
        await pause(5);
      }
      await assault.sitOut();
    },
  },
];

/** Requests made by the slow readers so far. */
let asked = 0;
