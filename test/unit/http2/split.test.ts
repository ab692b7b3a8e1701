import { describe, expect, it } from 'vitest';
import {
  block,
  data,
  endHeaders,
  endStream,
  frame,
  goaway,
  headers,
  pad,
  padded,
  ping,
  preface,
  prioritized,
  requestLines,
  reset,
  responseLines,
  settings,
  settingsAck,
  Type,
  windowUpdate,
} from '../../support/frames.js';
import { fields, Recorder } from '../../support/recorder.js';

const last = endHeaders | endStream;
const bytes = block(requestLines);

/** A bit of everything that a client may send. */
const toServer = Buffer.concat([
  preface,
  settings([4, 100], [5, 20_000]),
  settingsAck,
  headers(1, requestLines),
  data(1, 'abc'),
  frame(Type.data, padded, 1, pad(Buffer.from('def'), 9)),
  windowUpdate(0, 1000),
  frame(Type.headers, endStream | prioritized, 3, Buffer.concat([Buffer.of(0, 0, 0, 1, 9), bytes.subarray(0, 20)])),
  frame(Type.continuation, 0, 3, bytes.subarray(20, 21)),
  frame(Type.continuation, endHeaders, 3, bytes.subarray(21)),
  ping('abcdefgh'),
  frame(0xbb, 3, 77, Buffer.from('unknown')),
  reset(1, 8),
  headers(5, [['bad name', 'x']], last),
  windowUpdate(3, 1),
  headers(7, requestLines),
  data(7, '', endStream),
  goaway(0, 0, 'bye'),
]);

/** And a server. */
const toClient = Buffer.concat([
  settings([3, 100]),
  settingsAck,
  headers(1, [[':status', '103']]),
  headers(1, responseLines),
  data(1, 'abc'),
  headers(3, responseLines, last),
  headers(1, [['grpc-status', '0']], last),
  reset(5, 7),
  ping('abcdefgh'),
  goaway(7, 0),
  data(7, 'before the headers'),
]);

function runServer(cut: (bytes: Buffer) => Buffer[]): { events: string[]; output: string } {
  const core = new Recorder('server');
  core.connection.start();
  core.during = (event, stream) => {
    if (event.startsWith('request 3') && stream !== null)
      core.connection.sendHeaders(stream, fields(responseLines), true);
  };
  core.receive(...cut(toServer));
  return { events: core.events(), output: core.bytes().toString('hex') };
}

function runClient(cut: (bytes: Buffer) => Buffer[]): { events: string[]; output: string } {
  const core = new Recorder('client');
  core.connection.start();
  core.during = (event) => {
    if (event === 'settings') for (let i = 0; i < 5; i += 1) core.request(i % 2 === 0);
  };
  core.receive(...cut(toClient));
  return { events: core.events(), output: core.bytes().toString('hex') };
}

describe.each([
  ['server', runServer, toServer.length, 11],
  ['client', runClient, toClient.length, 12],
] as const)('the bytes to a %s', (_role, run, length, events) => {
  const whole = run((all) => [all]);

  it('say something to begin with', () => {
    expect(whole.events.length).toBeGreaterThanOrEqual(events);
    expect(whole.events.some((event) => event.startsWith('failed'))).toBe(false);
  });

  it('give the same events and the same output at every split', () => {
    for (let at = 1; at < length; at += 1) {
      expect(run((all) => [all.subarray(0, at), all.subarray(at)])).toEqual(whole);
    }
  });

  it('give the same byte by byte', () => {
    expect(run((all) => [...all].map((byte) => Buffer.of(byte)))).toEqual(whole);
  });
});
