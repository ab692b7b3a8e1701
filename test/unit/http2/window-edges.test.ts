import { describe, expect, it } from 'vitest';
import type { Http2Stream, Role } from '../../../src/http2/types.js';
import { headers, requestLines, settings, Type, windowUpdate } from '../../support/frames.js';
import { fields, Recorder } from '../../support/recorder.js';

/*
 * Send windows at their edges (RFC 9113 6.9.1, 6.9.2): 2^31-1 exactly and one over it, and windows below zero.
 */

const INITIAL_WINDOW_SIZE = 4;
const most = 2 ** 31 - 1;
const defaultWindow = 65_535;
const FLOW_CONTROL_ERROR = 3;

/** A core with one stream that it sends DATA on: a client's request, or a server's answer. */
function sending(role: Role, initialWindow = defaultWindow): { core: Recorder; stream: Http2Stream } {
  const core = Recorder.ready(role, {}, [[INITIAL_WINDOW_SIZE, initialWindow]]);
  let stream: Http2Stream;
  if (role === 'client') {
    stream = core.request();
  } else {
    core.receive(headers(1, requestLines));
    stream = core.stream(1);
    core.connection.sendHeaders(stream, fields([[':status', '200']]), false);
  }
  core.bytes();
  core.events();
  return { core, stream };
}

/** Offers `bytes`; returns how many were taken, after those have left. */
function offer(core: Recorder, stream: Http2Stream, bytes: number): number {
  const taken = core.connection.sendData(stream, Buffer.alloc(bytes), 0, bytes, false);
  const framed = core.frames().reduce((sum, { type, payload }) => sum + (type === Type.data ? payload.length : 0), 0);
  expect(framed).toBe(taken);
  return taken;
}

describe.each(['client', 'server'] as const)('as %s, a window at 2^31-1', (role) => {
  it('CON-25: of a stream is right, and one more is a stream error', () => {
    const { core, stream } = sending(role);
    core.receive(windowUpdate(1, most - defaultWindow));
    expect(core.events()).toEqual([]);
    core.receive(windowUpdate(1, 1));
    expect(core.events()).toEqual([`end 1 streamError ${FLOW_CONTROL_ERROR}`, 'closed 1']);
    expect(core.sent()).toEqual([`reset 1 ${FLOW_CONTROL_ERROR}`]);
    expect(offer(core, stream, 10)).toBe(0);
  });

  it('CON-25: of a stream that has sent has room for as much again, and no more', () => {
    const { core, stream } = sending(role);
    core.receive(windowUpdate(1, most - defaultWindow));
    expect(offer(core, stream, 10)).toBe(10);
    core.receive(windowUpdate(1, 10));
    expect(core.events()).toEqual([]);
    core.receive(windowUpdate(1, 1));
    expect(core.events()[0]).toBe(`end 1 streamError ${FLOW_CONTROL_ERROR}`);
  });

  it('CON-25: of the connection is right, and one more is a connection error', () => {
    const { core, stream } = sending(role);
    expect(offer(core, stream, 10)).toBe(10);
    core.receive(windowUpdate(0, most - defaultWindow + 10));
    expect(core.events()).toEqual([]);
    expect(offer(core, stream, 10)).toBe(10);
    core.receive(windowUpdate(0, 11));
    expect(core.events()[0]).toBe(`failed ${FLOW_CONTROL_ERROR}`);
    expect(core.sent()).toEqual([expect.stringMatching(/^goaway \d+ 3$/)]);
  });

  it('CON-25: that one WINDOW_UPDATE fills from nothing is right', () => {
    const { core, stream } = sending(role, 0);
    expect(offer(core, stream, 10)).toBe(0);
    core.receive(windowUpdate(1, most));
    expect(core.events()).toEqual(['writable 1']);
    expect(offer(core, stream, 10)).toBe(10);
  });

  it('CON-27: as the initial one is right, for open streams and new ones; not one more', () => {
    const { core, stream } = sending(role, 0);
    expect(offer(core, stream, 10)).toBe(0);
    core.receive(settings([INITIAL_WINDOW_SIZE, most]));
    expect(core.events()).toEqual(['settings', 'writable 1']);
    expect(offer(core, stream, 10)).toBe(10);
    core.receive(settings([INITIAL_WINDOW_SIZE, most + 1]));
    expect(core.events()[0]).toBe(`failed ${FLOW_CONTROL_ERROR}`);
  });

  it('CON-27: SETTINGS that fill an open stream’s window to it are right; one more is a connection error', () => {
    const { core } = sending(role, 10);
    core.receive(windowUpdate(1, most - 100));
    core.receive(settings([INITIAL_WINDOW_SIZE, 100]));
    expect(core.events()).toEqual(['settings']);
    core.receive(settings([INITIAL_WINDOW_SIZE, 101]));
    expect(core.events()[0]).toBe(`failed ${FLOW_CONTROL_ERROR}`);
  });

  it('CON-27: the same where one frame takes it back at once: its values are processed in order (RFC 9113 6.5.3)', () => {
    for (const [high, fails] of [
      [100, false],
      [101, true],
    ] as const) {
      const { core, stream } = sending(role, 10);
      core.receive(windowUpdate(1, most - 100));
      core.receive(settings([INITIAL_WINDOW_SIZE, high], [INITIAL_WINDOW_SIZE, 0]));
      expect(core.events()[0]).toBe(fails ? `failed ${FLOW_CONTROL_ERROR}` : 'settings');
      // Within the bound of the output.
      if (!fails) expect(offer(core, stream, 10)).toBe(10);
    }
  });
});

describe.each(['client', 'server'] as const)('as %s, a window below zero', (role) => {
  it('CON-26: takes nothing until it is above zero again, by WINDOW_UPDATE', () => {
    const { core, stream } = sending(role, 100);
    expect(offer(core, stream, 200)).toBe(100);
    core.receive(settings([INITIAL_WINDOW_SIZE, 0]));
    core.events();
    // -100 now.
    expect(offer(core, stream, 200)).toBe(0);
    core.receive(windowUpdate(1, 99));
    expect(offer(core, stream, 200)).toBe(0);
    core.receive(windowUpdate(1, 1));
    expect(core.events()).toEqual([]);
    expect(offer(core, stream, 200)).toBe(0);
    core.receive(windowUpdate(1, 1));
    expect(core.events()).toEqual(['writable 1']);
    expect(offer(core, stream, 200)).toBe(1);
  });

  it('CON-26: the same by SETTINGS, down and up again within one frame, too', () => {
    const { core, stream } = sending(role, 100);
    expect(offer(core, stream, 200)).toBe(100);
    core.receive(settings([INITIAL_WINDOW_SIZE, 0]));
    expect(offer(core, stream, 200)).toBe(0);
    core.receive(settings([INITIAL_WINDOW_SIZE, 100]));
    expect(core.events()).toEqual(['settings', 'settings']);
    expect(offer(core, stream, 200)).toBe(0);
    core.receive(settings([INITIAL_WINDOW_SIZE, 0], [INITIAL_WINDOW_SIZE, 101]));
    expect(core.events()).toEqual(['settings', 'writable 1']);
    expect(offer(core, stream, 200)).toBe(1);
  });

  it('CON-26: fills to 2^31-1 all the same, and not over it', () => {
    const { core, stream } = sending(role, 100);
    expect(offer(core, stream, 100)).toBe(100);
    core.receive(settings([INITIAL_WINDOW_SIZE, most]), settings([INITIAL_WINDOW_SIZE, 0]));
    core.receive(windowUpdate(1, most));
    expect(core.events()).toEqual(['settings', 'settings']);
    // most - 100 now.
    core.receive(windowUpdate(1, 100));
    expect(core.events()).toEqual([]);
    core.receive(windowUpdate(1, 1));
    expect(core.events()[0]).toBe(`end 1 streamError ${FLOW_CONTROL_ERROR}`);
  });

  it('CON-26: is the stream’s alone: SETTINGS leave the connection’s as it is', () => {
    const { core, stream } = sending(role, 2 * defaultWindow);
    expect(offer(core, stream, 2 * defaultWindow)).toBe(defaultWindow);
    core.receive(settings([INITIAL_WINDOW_SIZE, most]));
    expect(core.events()).toEqual(['settings']);
    expect(offer(core, stream, 10)).toBe(0);
    core.receive(windowUpdate(0, 10));
    expect(core.events()).toEqual(['writable 1']);
    expect(offer(core, stream, 100)).toBe(10);
  });
});
