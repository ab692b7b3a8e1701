import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createConnection } from '../../../src/http2/connection.js';
import { bindSocket, type SocketEvents } from '../../../src/http2/socket.js';
import { defaultHttp2Settings, type Http2Settings, type StreamEvents } from '../../../src/http2/types.js';
import { frame, headers, preface, requestLines, settings, Type } from '../../support/frames.js';
import { createVirtualTime } from '../../support/virtual-time.js';

/** A socket whose peer reads nothing: all that is written stays in its buffer. */
class StuckSocket extends EventEmitter {
  destroyed = false;
  writableEnded = false;
  writableLength = 0;
  private paused = false;

  write(bytes: Uint8Array): boolean {
    this.writableLength += bytes.length;
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
