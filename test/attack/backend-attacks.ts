import { behave } from '../support/behave.js';
import {
  block,
  data,
  endHeaders,
  frame,
  goaway,
  headers,
  type Line,
  ping,
  settings,
  Type,
  windowUpdate,
} from '../support/frames.js';
import type { RawConnection } from '../support/raw-connection.js';
import type { RecordedStream } from '../support/recorded-stream.js';
import type { Assault } from './assault.js';
import type { End } from './client-attacks.js';
import { pause } from './rig.js';

export interface BackendAttack {
  readonly name: string;
  readonly end: End;
  /** The log line that tells of it; null: none does. */
  readonly says: RegExp | null;
  /** Of `hedgerow serve`, where the defaults would make it last too long. */
  readonly flags?: readonly string[];
  /** An accomplice makes calls that only the hostile backend may answer: what it does to those ends them (CON-13). */
  readonly accomplice?: boolean;
  /** What the hostile backend does with each stream while the attack lasts. */
  readonly meet: (stream: RecordedStream, assault: Assault) => void | Promise<void>;
  /** While the attack lasts new connections are taken and not greeted. */
  readonly mute?: boolean;
}

export const accomplicePath = '/attack/Accomplice';
const initialWindowSize = 4;
const perSecond = 25_000;
/** Answers from before the attack are out by then: none may come within a header block (ms). */
const lastAnswers = 100;

/** As the good backend does: what a hostile one is like before and after. */
export const polite = behave.echo;

/**
 * Begins an attack once on each connection. Other streams get no answer: one that had begun to come would bind its call to a
 * backend that is about to be sent away.
 */
function oncePerConnection(
  begin: (connection: RawConnection, stream: RecordedStream, assault: Assault) => Promise<void>,
): BackendAttack['meet'] {
  const met = new WeakSet<RawConnection>();
  return (stream, assault) => {
    const { connection } = stream;
    if (met.has(connection)) return undefined;
    met.add(connection);
    assault.watch(connection);
    return begin(connection, stream, assault);
  };
}

function flooding(attack: (stream: RecordedStream) => Uint8Array, rate = perSecond): BackendAttack['meet'] {
  return oncePerConnection((connection, stream, assault) =>
    assault.pace(rate, (count) => {
      const one = attack(stream);
      connection.send(...Array.from({ length: count }, () => one));
      return !connection.closed;
    }),
  );
}

function answer(extra: readonly Line[]): Line[] {
  return [[':status', '200'], ['content-type', 'application/grpc'], ...extra];
}

function ofAccomplice(stream: RecordedStream): boolean {
  return stream.header(':path') === accomplicePath;
}

/** Connections on which an answer has stopped half-way. */
const silenced = new WeakSet<RawConnection>();

export const backendAttacks: readonly BackendAttack[] = [
  { name: 'PING flood', end: 'closed', says: /too many .*: \d+ PING/, meet: flooding(() => ping('attacker')) },
  { name: 'SETTINGS flood', end: 'closed', says: /too many .*: \d+ SETTINGS/, meet: flooding(() => settings()) },
  {
    name: 'WINDOW_UPDATE flood',
    end: 'closed',
    says: /too many .*: \d+ WINDOW_UPDATE/,
    meet: flooding(() => windowUpdate(0, 1)),
  },
  {
    name: 'GOAWAY flood',
    end: 'closed',
    says: /the backend sent GOAWAY with code 0/,
    meet: flooding(() => goaway(2 ** 31 - 1, 0)),
  },
  {
    name: 'DATA on streams that were reset',
    end: 'closed',
    says: /too many .*\d+ frames on closed streams/,
    // What the stream had window for may have been under way: 4096 of these are free.
    meet: flooding(({ id }) => data(id, Buffer.alloc(64))),
  },
  {
    name: 'tiny DATA on streams that it reset itself',
    end: 'closed',
    says: /too many .*\d+ frames on closed streams/,
    meet: oncePerConnection(async (connection, stream, assault) => {
      stream.reset(8);
      await assault.pace(perSecond, (count) => {
        connection.send(...Array.from({ length: count }, () => data(stream.id, 'x')));
        return !connection.closed;
      });
    }),
  },
  {
    name: 'interim responses',
    end: 'closed',
    says: /too many .*: \d+ (interim responses|frames on closed streams)/,
    meet: flooding(({ id }) => headers(id, [[':status', '103']])),
  },
  {
    name: 'CONTINUATION flood',
    end: 'closed',
    says: /a header block of more than 64 frames/,
    meet: oncePerConnection(async (connection, { id }, assault) => {
      await pause(lastAnswers);
      connection.send(headers(id, answer([]), 0));
      const more = frame(Type.continuation, 0, id, block([['x', 'y'.repeat(1000)]]));
      await assault.pace(1000, (count) => {
        connection.send(...Array.from({ length: count }, () => more));
        return !connection.closed;
      });
    }),
  },
  {
    name: 'headers without end',
    end: 'closed',
    says: /a header block was not whole within 700 ms/,
    flags: ['--header-timeout', '700ms'],
    meet: oncePerConnection(async (connection, { id }, assault) => {
      await pause(lastAnswers);
      connection.send(headers(id, answer([]), 0));
      while (!assault.over && !connection.closed) {
        await pause(100);
        connection.send(frame(Type.continuation, 0, id, block([['x', 'y']])));
      }
    }),
  },
  {
    name: 'bytes that are no HTTP/2',
    end: 'closed',
    says: /a frame of type/,
    meet: oncePerConnection(async (connection) => connection.send(Buffer.alloc(100_000, 0x41))),
  },
  {
    name: 'giant header lists',
    end: 'held',
    says: null,
    accomplice: true,
    meet(stream) {
      if (!ofAccomplice(stream)) return;
      stream.block(answer(Array.from({ length: 60 }, (_, i) => [`x-${i}`, 'g'.repeat(1000)] as const)), false);
    },
  },
  {
    name: 'HPACK bomb',
    end: 'held',
    says: null,
    accomplice: true,
    meet(stream) {
      if (!ofAccomplice(stream)) return;
      const { connection, id } = stream;
      const entry = Buffer.concat([Buffer.of(0x40, 1, 0x78, 127, 0xa1, 0x1e), Buffer.alloc(4000, 'x')]);
      const bomb = Buffer.concat([block(answer([])), entry, Buffer.alloc(12_000, 0xbe)]);
      connection.send(frame(Type.headers, endHeaders, id, bomb));
    },
  },
  {
    name: 'no SETTINGS',
    end: 'closed',
    says: /connect timed out after 500 ms, waiting for/,
    flags: ['--connect-timeout', '500ms', '--connect-backoff-max', '250ms'],
    mute: true,
    // What is connected goes; what comes in its place is taken, and hears nothing.
    meet: ({ connection }) => connection.kill(),
  },
  {
    name: 'DATA past the window of its stream',
    end: 'held',
    says: null,
    accomplice: true,
    meet(stream) {
      if (!ofAccomplice(stream)) return;
      const { connection, id } = stream;
      stream.block(answer([]), false);
      // 256 KiB are permitted. The connection's window is given back as bytes come, so that it cannot be overdrawn.
      for (let n = 0; n < 20; n += 1) connection.send(data(id, Buffer.alloc(16_384)));
    },
  },
  {
    name: 'half an answer, then silence',
    end: 'closed',
    says: /no answer to a keepalive PING within 300 ms/,
    flags: ['--keepalive-time', '300ms', '--keepalive-timeout', '300ms'],
    accomplice: true,
    meet(stream, assault) {
      const { connection, id } = stream;
      if (ofAccomplice(stream) && !silenced.has(connection)) {
        silenced.add(connection);
        assault.watch(connection);
        stream.block(answer([]), false);
        connection.send(settings([initialWindowSize, 0]), data(id, Buffer.from([0, 0, 0, 9, 9, 1])));
      }
    },
  },
  { name: 'every stream reset', end: 'held', says: null, meet: (stream) => stream.reset(2) },
  {
    name: 'zero windows',
    end: 'held',
    says: null,
    meet({ connection }) {
      connection.send(settings([initialWindowSize, 0]));
    },
  },
  {
    name: 'every connection cut',
    end: 'held',
    says: /the connection was reset by the peer/,
    meet: ({ connection }) => connection.kill(),
  },
  {
    name: 'answers that never end',
    end: 'held',
    says: null,
    meet: oncePerConnection(async (connection, { id }, assault) => {
      // Headers would commit an honest call to it: DATA alone.
      await assault.pace(2000, (count) => {
        connection.send(...Array.from({ length: count }, () => data(id, Buffer.alloc(1000))));
        return false;
      });
    }),
  },
];
