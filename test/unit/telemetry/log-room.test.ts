import { expect, test } from 'vitest';
import { createLogRoom } from '../../../src/telemetry/log-room.js';

const bounds = { call: 100, other: 400 };

test('up to its bound a line is written, above it not: lines of calls first', () => {
  const room = createLogRoom(bounds);
  expect([room.admit('call', 100), room.admit('other', 400)]).toEqual([true, true]);
  expect([room.admit('call', 101), room.admit('other', 101)]).toEqual([false, true]);
  expect(room.admit('other', 401)).toBe(false);
});

test('lines of calls go on once half of their bound is free and what was dropped is told, others at once', () => {
  const room = createLogRoom(bounds);
  room.admit('call', 101);
  room.admit('call', 101);
  room.admit('other', 401);
  expect(room.toTell(51)).toBeNull();
  expect([room.admit('call', 51), room.admit('other', 51)]).toEqual([false, true]);
  expect(room.toTell(50)).toEqual({ call: 3, other: 1 });
  expect(room.toTell(0)).toBeNull();
  expect(room.admit('call', 50)).toBe(true);
});

test('where nothing was dropped there is nothing to tell', () => {
  const room = createLogRoom(bounds);
  room.admit('call', 100);
  expect(room.toTell(0)).toBeNull();
});
