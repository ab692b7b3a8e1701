import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createConnection } from '../../../src/http2/connection.js';
import { bindSocket, type SocketEvents } from '../../../src/http2/socket.js';
import { defaultHttp2Settings, type Http2Settings, type StreamEvents } from '../../../src/http2/types.js';
import { ack, endHeaders, frame, headers, ping, preface, requestLines, settings, Type } from '../../support/frames.js';
import { createVirtualTime } from '../../support/virtual-time.js';

/** A socket whose peer reads nothing: all that is written stays in its buffer. */
class StuckSocket extends EventEmitter {
  destroyed = false;
  writableEnded = false;
  writableLength = 0;
  readonly written: Uint8Array[] = [];
  private paused = false;

  write(bytes: Uint8Array): boolean {
    this.writableLength += bytes.length;
    this.written.push(bytes);
    return false;
  }
  cork(): void {}
  uncork(): void {}
  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
  isPaused(): boolean {
    return this.paused;
  }
  end(): void {
    this.writableEnded = true;
  }
  destroy(): void {
    this.destroyed = true;
  }
}

function bind(changes: Partial<SocketEvents> = {}, limits: Partial<Http2Settings> = {}) {
  const time = createVirtualTime();
  const socket = new StuckSocket();
  const binding = bindSocket(socket as unknown as Socket, {
    create: (events) => createConnection('server', { ...defaultHttp2Settings, ...limits }, events),
    turn: time.turn,
    alarms: time.alarms,
    clock: time.clock,
    events: {
      onRequest() {},
      onSettings() {},
      onGoaway() {},
      onStreamClosed() {},
      onFailed() {},
      onClosed() {},
      ...changes,
    },
  });
  binding.start();
  socket.emit('data', Buffer.concat([preface, settings()]));
  time.endTurn();
  return { time, socket, binding };
}

test('a peer that does not read is not read from once its answers pile up, and is again when it has taken them', () => {
  const { time, socket } = bind({}, { floodBudget: 1_000_000 });
  const pings = Buffer.concat(Array.from({ length: 1000 }, () => frame(Type.ping, 0, 0, Buffer.alloc(8))));
  let turns = 0;
  for (; turns < 1000 && !socket.isPaused(); turns += 1) {
    socket.emit('data', pings);
    time.endTurn();
  }
  expect(socket.isPaused()).toBe(true);
  expect(socket.writableLength).toBeLessThan(1024 * 1024 + 2 * pings.length);
  socket.writableLength = 0;
  socket.emit('drain');
  expect(socket.isPaused()).toBe(false);
});

describe('a connection that is not read from, as its peer does not take ours', () => {
  const pings = Buffer.concat(Array.from({ length: 1000 }, () => ping('abcdefgh')));

  function paused() {
    const failed: string[] = [];
    const bound = bind({ onFailed: (_code, detail) => failed.push(detail) }, { floodBudget: 1_000_000 });
    const fill = () => {
      while (!bound.socket.isPaused()) {
        bound.socket.emit('data', pings);
        bound.time.endTurn();
      }
    };
    return { ...bound, failed, fill };
  }

  test('is read from for one chunk where its life hangs on it', () => {
    const { time, socket, binding, fill } = paused();
    expect(binding.readOn()).toBe(false);
    fill();
    time.advance(1000);
    expect([binding.readOn(), socket.isPaused()]).toEqual([true, false]);
    const before = time.clock.now();
    socket.emit('data', frame(Type.data, 0, 99).subarray(0, 3));
    expect([binding.lastReadAt, socket.isPaused()]).toEqual([before, true]);
  });

  test('has not been silent in that time: a header block under way has all of its own after it', () => {
    const { time, socket, failed } = paused();
    const lets = (ms: number) => {
      time.advance(ms);
      time.endTurn();
    };
    const half = headers(1, requestLines, 0);
    while (!socket.isPaused()) {
      // The last bytes that are read before the pause begin it.
      socket.emit(
        'data',
        socket.writableLength + 3 * pings.length > 1024 * 1024 ? Buffer.concat([pings, pings, pings, half]) : pings,
      );
      time.endTurn();
    }
    lets(60_000);
    expect(failed).toEqual([]);
    socket.writableLength = 0;
    socket.emit('drain');
    lets(4999);
    expect(failed).toEqual([]);
    lets(1);
    expect(failed).toEqual(['a header block was not whole within 5000 ms']);
  });
});

test('a peer that floods us has half a second for our last bytes', () => {
  const failed: string[] = [];
  const { time, socket } = bind({ onFailed: (code) => failed.push(`failed: ${code}`) }, { floodBudget: 2 });
  const { ping } = Type;
  socket.emit('data', Buffer.concat(Array.from({ length: 9 }, () => frame(ping, 0, 0, Buffer.alloc(8)))));
  expect(failed).toEqual(['failed: 11']);
  expect(socket.writableEnded).toBe(true);
  time.advance(499);
  expect(socket.destroyed).toBe(false);
  time.advance(1);
  expect(socket.destroyed).toBe(true);
});

describe('a header block that does not come to its end', () => {
  const half = headers(1, requestLines, 0);
  const rest = frame(Type.continuation, 4, 1);
  const after = 'a header block was not whole within 5000 ms';

  function watched() {
    const failed: string[] = [];
    const bound = bind({ onFailed: (code, detail) => failed.push(`${code}: ${detail}`) });
    const receive = (bytes: Uint8Array) => bound.socket.emit('data', bytes);
    const wait = (ms: number) => {
      bound.time.advance(ms);
      bound.time.endTurn();
    };
    return { ...bound, failed, receive, wait };
  }

  test.each([
    ['HEADERS without its CONTINUATION', half],
    ['a HEADERS frame that comes byte by byte', headers(1, requestLines).subarray(0, 12)],
  ])('%s: the connection ends after 5 s, whatever part of it comes meanwhile', (_what, begun) => {
    const { failed, receive, wait } = watched();
    receive(begun);
    wait(4000);
    receive(begun === half ? frame(Type.continuation, 0, 1) : headers(1, requestLines).subarray(12, 13));
    wait(999);
    expect(failed).toEqual([]);
    wait(1);
    expect(failed).toEqual([`11: ${after}`]);
  });

  test('one that comes to its end in time leaves nothing behind; the next one has its own time', () => {
    const { failed, receive, wait } = watched();
    receive(half);
    wait(4000);
    receive(Buffer.concat([rest, headers(3, requestLines, 0)]));
    wait(4000);
    expect(failed).toEqual([]);
    receive(frame(Type.continuation, endHeaders, 3));
    wait(60_000);
    expect(failed).toEqual([]);
    receive(headers(5, requestLines, 0));
    wait(5000);
    expect(failed).toEqual([`11: ${after}`]);
  });

  test('the rest of it that was there, and not read, when the time was over counts', () => {
    const { failed, receive, time } = watched();
    receive(half);
    // In the turn of the alarm, and after it.
    time.alarms.set(time.clock.now() + 5000, () => receive(rest));
    time.advance(9000);
    expect(failed).toEqual([]);
  });

  test('other frames may come as slowly as they like', () => {
    const { failed, receive, wait } = watched();
    receive(ping('abcdefgh').subarray(0, 12));
    wait(60_000);
    receive(ping('abcdefgh').subarray(12));
    receive(headers(1, requestLines));
    receive(frame(Type.data, 0, 1, Buffer.alloc(100)).subarray(0, 20));
    wait(60_000);
    expect(failed).toEqual([]);
  });
});

test('the end of a connection waits for the peer so long, or as long as the last word on it says', () => {
  const { time, socket, binding } = bind();
  binding.end();
  time.advance(1000);
  expect(socket.destroyed).toBe(false);
  binding.end(100);
  time.advance(99);
  expect(socket.destroyed).toBe(false);
  time.advance(1);
  expect(socket.destroyed).toBe(true);
});

describe('the end of a connection whose peer may read late', () => {
  const isPing = (bytes: Uint8Array): boolean => bytes[3] === Type.ping;

  function leaving() {
    const bound = bind();
    bound.socket.written.length = 0;
    bound.binding.endWhenRead(10_000);
    expect([bound.socket.writableEnded, bound.socket.written.map(isPing)]).toEqual([true, [true]]);
    return { ...bound, payload: Buffer.from(bound.socket.written[0] ?? []).toString('latin1', 9) };
  }

  test('comes when the time is over, and no sooner', () => {
    const { time, socket } = leaving();
    // Nor does a SETTINGS frame change it.
    socket.emit('data', settings());
    time.advance(9999);
    expect(socket.destroyed).toBe(false);
    time.advance(1);
    expect(socket.destroyed).toBe(true);
  });

  test('waits no longer than any end once the peer shows that it has read', () => {
    const { time, socket, payload } = leaving();
    time.advance(100);
    socket.emit('data', ping(payload, ack));
    time.advance(1999);
    expect(socket.destroyed).toBe(false);
    time.advance(1);
    expect(socket.destroyed).toBe(true);
  });

  test('is cut short by a word that says so', () => {
    const { time, socket, binding } = leaving();
    binding.end(100);
    time.advance(100);
    expect(socket.destroyed).toBe(true);
  });
});

test('a loss is told to the owner first, once, then to streams: who looks for another place in that turn finds it elsewhere', () => {
  const time = createVirtualTime();
  const socket = new StuckSocket();
  const heard: string[] = [];
  const streamEvents: StreamEvents = {
    onHeaders() {},
    onTrailers() {},
    onData() {},
    onWritable() {},
    onEnd: (_stream, end) => void heard.push(`stream: ${end.kind}`),
  };
  const binding = bindSocket(socket as unknown as Socket, {
    create: (events) => createConnection('client', defaultHttp2Settings, events),
    turn: time.turn,
    alarms: time.alarms,
    clock: time.clock,
    events: {
      onRequest() {},
      onSettings() {},
      onGoaway() {},
      onStreamClosed() {},
      onFailed: (code) => void heard.push(`failed: ${code}`),
      onLost: (detail) => void heard.push(`lost: ${detail}`),
      onClosed: (detail) => void heard.push(`closed: ${detail}`),
    },
  });
  binding.start();
  socket.emit('data', settings());
  binding.connection.openStream(streamEvents);
  socket.emit('end');
  socket.emit('close');
  expect(heard).toEqual([
    'lost: the peer closed the connection',
    'stream: lost',
    'closed: the peer closed the connection',
  ]);
});

test('a broken rule is told to the owner first, without a loss, then to streams', () => {
  const heard: string[] = [];
  const { time, socket } = bind({
    onRequest: (stream) => {
      stream.events = {
        onHeaders() {},
        onTrailers() {},
        onData() {},
        onWritable() {},
        onEnd: (_stream, end) => void heard.push(`stream: ${end.kind}`),
      };
    },
    onFailed: (code) => void heard.push(`failed: ${code}`),
    onLost: (detail) => void heard.push(`lost: ${detail}`),
  });
  socket.emit('data', Buffer.concat([headers(1, requestLines), frame(Type.ping, 0, 1, Buffer.alloc(8))]));
  time.endTurn();
  expect(heard).toEqual(['failed: 1', 'stream: lost']);
});

describe('what is held for a peer that does not do its part', () => {
  test('output that it does not read, from 64 KiB on, until it has', () => {
    const held: number[] = [];
    const { time, socket } = bind({ onHeld: (bytes) => held.push(bytes) }, { floodBudget: 1_000_000 });
    const pings = (count: number): Buffer => Buffer.concat(Array.from({ length: count }, () => ping('abcdefgh')));
    socket.emit('data', pings(3000));
    time.endTurn();
    expect(held).toEqual([]);
    socket.emit('data', pings(1000));
    time.endTurn();
    expect(held).toEqual([socket.writableLength]);
    socket.writableLength = 0;
    socket.emit('drain');
    expect(held.at(-1)).toBe(0);
  });

  test('a header block in several frames, until it is whole', () => {
    const held: number[] = [];
    const { socket } = bind({ onHeld: (bytes) => held.push(bytes) });
    socket.emit('data', headers(1, requestLines, 0));
    for (let i = 0; i < 2; i += 1) socket.emit('data', frame(Type.continuation, 0, 1, Buffer.alloc(10_000, 0x88)));
    const [first = 0, second = 0, third = 0] = held;
    expect(first).toBeGreaterThan(0);
    expect(second).toBeGreaterThan(first + 9999);
    expect(third).toBeGreaterThan(20_000);
    socket.emit('data', frame(Type.continuation, 4, 1));
    expect(held.at(-1)).toBe(0);
  });
});
