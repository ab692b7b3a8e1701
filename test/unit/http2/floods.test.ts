import { describe, expect, it } from 'vitest';
import {
  ack,
  data,
  endHeaders,
  endStream,
  frame,
  goaway,
  headers,
  ping,
  requestLines,
  reset,
  responseLines,
  settings,
  settingsAck,
  Type,
  uint32,
  windowUpdate,
} from '../../support/frames.js';
import { fields, Recorder } from '../../support/recorder.js';

const calm = 0xb;
const last = endHeaders | endStream;
const budget = 24;
/** What is left when `Recorder.ready` has taken SETTINGS and their acknowledgement. */
const left = budget - 2;

function server(): Recorder {
  return Recorder.ready('server', { floodBudget: budget });
}

/** How many of these the peer may send before the connection ends ENHANCE_YOUR_CALM. */
function endured(peer: Recorder, attack: (n: number) => Uint8Array): number {
  for (let n = 0; n < 1000; n += 1) {
    peer.receive(attack(n));
    const failed = peer.events().filter((line) => line.startsWith('failed'));
    if (failed.length === 0) continue;
    expect(failed).toEqual([`failed ${calm}`]);
    expect(peer.sent().at(-1)).toMatch(new RegExp(`^goaway \\d+ ${calm}$`));
    expect(peer.connection.ready).toBe(false);
    return n;
  }
  return Number.POSITIVE_INFINITY;
}

const id = (n: number): number => 2 * n + 1;
const priority = frame(Type.priority, 0, 9, Buffer.alloc(5));

describe('a flood of frames that carry nothing ends the connection ENHANCE_YOUR_CALM (design §5)', () => {
  const floods: readonly (readonly [what: string, frame: Uint8Array])[] = [
    ['PING', ping('abcdefgh')],
    ['PING answers', ping('abcdefgh', ack)],
    ['SETTINGS', settings()],
    ['SETTINGS acknowledgements', settingsAck],
    ['PRIORITY', priority],
    ['WINDOW_UPDATE', windowUpdate(0, 1)],
    ['frames of unknown type', frame(0x99, 0, 0)],
    ['GOAWAY', goaway(0, 0)],
  ];
  it.each(floods)('%s', (_what, one) => {
    expect(endured(server(), () => one)).toBe(left);
    expect(endured(Recorder.ready('client', { floodBudget: budget }), () => one)).toBe(left);
  });

  it('WINDOW_UPDATE on a stream', () => {
    const peer = server();
    peer.receive(headers(1, requestLines));
    expect(endured(peer, () => windowUpdate(1, 1))).toBe(left);
  });

  it('empty DATA, and DATA that is padding alone', () => {
    for (const empty of [data(1, ''), frame(Type.data, 0x8, 1, Buffer.of(3, 0, 0, 0))]) {
      const peer = server();
      peer.receive(headers(1, requestLines));
      expect(endured(peer, () => empty)).toBe(left);
    }
  });

  it('DATA on a stream that we have reset', () => {
    const peer = server();
    peer.receive(headers(1, requestLines));
    peer.connection.reset(peer.stream(1), 0);
    expect(endured(peer, () => data(1, ''))).toBe(left);
  });

  it('PRIORITY of a wrong size on a closed stream', () => {
    const peer = server();
    peer.receive(headers(1, requestLines, last));
    peer.connection.sendHeaders(peer.stream(1), fields(responseLines), true);
    expect(endured(peer, () => frame(Type.priority, 0, 1))).toBe(budget);
  });

  it('empty CONTINUATION, before the limit of frames in a block', () => {
    const peer = server();
    peer.receive(headers(1, requestLines, 0));
    expect(endured(peer, () => frame(Type.continuation, 0, 1))).toBe(left);
  });

  it('interim responses', () => {
    const client = Recorder.ready('client', { floodBudget: budget });
    client.request();
    expect(endured(client, () => headers(1, [[':status', '103']]))).toBe(left);
  });

  it('requests after our last GOAWAY', () => {
    const peer = server();
    peer.connection.goaway(0, 0);
    expect(endured(peer, (n) => headers(id(n), requestLines))).toBe(left);
  });

  it('PING beside tiny DATA, which pays for none', () => {
    const peer = server();
    peer.receive(headers(1, requestLines));
    peer.connection.sendHeaders(peer.stream(1), fields(responseLines), false);
    expect(endured(peer, () => Buffer.concat([ping('abcdefgh'), data(1, 'x')]))).toBe(left);
  });

  it('a change of the window costs a credit more for each 1000 streams that are open', () => {
    const window = settings([4, 70_000]);
    for (const [count, frames] of [
      [0, left],
      [1000, Math.floor(left / 2)],
    ] as const) {
      const peer = server();
      for (let n = 0; n < count; n += 1) peer.connection.receive(headers(id(n), requestLines));
      peer.events();
      expect(endured(peer, () => window)).toBe(frames);
      expect(endured(server(), () => settings([3, 70_000]))).toBe(left);
    }
  });

  it('many settings in one frame cost more than the frame', () => {
    const many = settings(...Array.from({ length: 16 + 9 }, () => [4, 65_535] as const));
    expect(endured(server(), () => many)).toBe(2);
  });
});

describe('streams that end before they came to anything', () => {
  it('rapid reset: six credits a stream', () => {
    expect(endured(server(), (n) => Buffer.concat([headers(id(n), requestLines), reset(id(n), 8)]))).toBe(
      Math.floor(left / 6),
    );
  });

  it('rapid reset is not paid by DATA, tiny or large, on the streams that are reset', () => {
    for (const parts of [[1, 1], [16_384]]) {
      const count = endured(server(), (n) =>
        Buffer.concat([
          headers(id(n), requestLines),
          ...parts.map((bytes) => data(id(n), Buffer.alloc(bytes))),
          reset(id(n), 8),
        ]),
      );
      expect(count).toBe(Math.floor(left / 6));
    }
  });

  it('made-you-reset: six credits a stream, whatever the rule that is broken', () => {
    const broken: readonly ((id: number) => Uint8Array)[] = [
      (id) => windowUpdate(id, 0),
      (id) => windowUpdate(id, 2 ** 31 - 1),
      (id) => frame(Type.priority, 0, id),
      (id) => frame(Type.priority, 0, id, Buffer.concat([uint32(id), Buffer.of(0)])),
      (id) => headers(id, [['not', 'last']]),
    ];
    for (const breaks of broken) {
      const count = endured(server(), (n) => Buffer.concat([headers(id(n), requestLines), breaks(id(n))]));
      expect(count).toBe(Math.floor(left / 6));
    }
  });

  it('requests that are malformed: six credits each', () => {
    expect(endured(server(), (n) => headers(id(n), [['x', 'no path']]))).toBe(Math.floor(left / 6));
  });

  it('a reset is cheap after our answer began, or a second after the request', () => {
    const peer = server();
    const counts = endured(peer, (n) => {
      peer.connection.receive(headers(id(n), requestLines));
      peer.connection.sendHeaders(peer.stream(id(n)), fields(responseLines), false);
      return reset(id(n), 8);
    });
    expect(counts).toBe(left);
    const slow = server();
    slow.connection.receive(Buffer.concat(Array.from({ length: left + 1 }, (_, n) => headers(id(n), requestLines))), 1);
    slow.connection.receive(ping('abcdefgh'), 1002);
    expect(endured(slow, (n) => reset(id(n), 8))).toBe(budget - 1);
  });

  it('past the limit: one credit a stream while the peer cannot know the limit, then six', () => {
    const knowing = Recorder.ready('server', { floodBudget: budget, maxConcurrentStreams: 1 });
    knowing.receive(headers(1, requestLines));
    expect(endured(knowing, (n) => headers(id(n + 1), requestLines))).toBe(Math.floor(left / 6));
    const early = new Recorder('server', { floodBudget: budget, maxConcurrentStreams: 1 });
    early.connection.start();
    early.receive(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), settings()]));
    early.receive(headers(1, requestLines));
    expect(endured(early, (n) => headers(id(n + 1), requestLines))).toBe(budget - 1);
  });

  it('past the limit of all streams together, as the owner tells: one credit', () => {
    const peer = server();
    const count = endured(peer, (n) => {
      peer.connection.receive(headers(id(n), requestLines, last));
      peer.connection.reset(peer.stream(id(n)), 7);
      return new Uint8Array(0);
    });
    expect(count).toBe(left);
  });

  it('a backend that resets every stream of ours spends nothing', () => {
    const client = Recorder.ready('client', { floodBudget: budget });
    const attack = (n: number): Uint8Array => {
      client.request(true);
      return reset(id(n), 7);
    };
    expect(endured(client, attack)).toBe(Number.POSITIVE_INFINITY);
  });

  it('the words name what came, and how often', () => {
    const peer = server();
    const said: string[] = [];
    peer.onFailed = (_code, detail) => said.push(detail);
    for (let n = 0; n <= left; n += 1) peer.receive(ping('abcdefgh'));
    expect(said).toEqual(['too many frames that carry nothing for a call: 23 PING and 2 SETTINGS']);
  });
});

describe('what gives credits back', () => {
  it('time, as the reads tell it', () => {
    const peer = server();
    for (let n = 0; n < budget; n += 1) peer.connection.receive(ping('abcdefgh'), 1000);
    for (let n = 1; n <= 500; n += 1) peer.connection.receive(ping('abcdefgh'), 1000 + 5 * n);
    expect(peer.connection.ready).toBe(true);
    peer.connection.receive(ping('abcdefgh'), 3500);
    expect(peer.connection.ready).toBe(false);
  });

  it('calls: twenty each, whoever ends last', () => {
    for (const clientLast of [false, true]) {
      const peer = server();
      for (let n = 0; n < left; n += 1) peer.receive(ping('abcdefgh'));
      peer.receive(headers(1, requestLines, clientLast ? endHeaders : last));
      peer.connection.sendHeaders(peer.stream(1), fields(responseLines), true);
      if (clientLast) peer.receive(data(1, '', endStream));
      expect(endured(peer, () => ping('abcdefgh'))).toBe(20);
    }
  });

  it('DATA, received and sent', () => {
    const received = server();
    for (let n = 0; n < left; n += 1) received.receive(ping('abcdefgh'));
    received.receive(headers(1, requestLines));
    received.connection.sendHeaders(received.stream(1), fields(responseLines), false);
    received.receive(data(1, Buffer.alloc(16_384)));
    expect(endured(received, () => ping('abcdefgh'))).toBe(20);
    const sent = server();
    for (let n = 0; n < left; n += 1) sent.receive(ping('abcdefgh'));
    sent.receive(headers(1, requestLines));
    sent.connection.sendHeaders(sent.stream(1), fields(responseLines), false);
    sent.connection.sendData(sent.stream(1), Buffer.alloc(16_384), 0, 16_384, false);
    expect(endured(sent, () => ping('abcdefgh'))).toBe(20);
  });
});
