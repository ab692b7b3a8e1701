import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Role } from '../../../src/http2/types.js';
import {
  block,
  data,
  endHeaders,
  endStream,
  frame,
  headers,
  preface,
  requestLines,
  responseLines,
  settings,
  settingsAck,
  Type,
  windowUpdate,
} from '../../support/frames.js';
import { fuzz, fuzzTimeout } from '../../support/fuzz.js';
import { fields, Recorder } from '../../support/recorder.js';

const last = endHeaders | endStream;

/** Runs `chunks` through a core that has calls open and an owner that acts. Recorder throws on an event after an end. */
function attack(role: Role, chunks: readonly Uint8Array[], begun: boolean): void {
  const core = begun ? Recorder.ready(role, { maxConcurrentStreams: 5 }) : new Recorder(role);
  if (begun && role === 'client') for (let i = 0; i < 3; i += 1) core.request(i === 0);
  else if (!begun) core.connection.start();
  let acting = false;
  core.during = (event, stream) => {
    if (stream === null || acting) return;
    acting = true;
    if (event.startsWith('request')) core.connection.sendHeaders(stream, fields(responseLines), false);
    if (event.startsWith('data')) core.connection.sendData(stream, Buffer.alloc(500), 0, 500, event.length % 2 === 0);
    if (event.startsWith('writable')) core.connection.sendData(stream, Buffer.alloc(50_000), 0, 50_000, false);
    if (event.startsWith('trailers')) core.connection.reset(stream, 8);
    acting = false;
  };
  let output = 0;
  for (const chunk of chunks) {
    core.receive(chunk);
    // What it says must be whole frames.
    output += begun ? core.frames().length : core.bytes().length;
  }
  core.connection.lost('end of the test');
  expect(core.connection.openStreams).toBe(0);
  expect(output).toBeGreaterThanOrEqual(0);
}

/** All that a core says of these chunks, to its owner and to its peer. */
function told(role: Role, chunks: readonly Uint8Array[]): string[] {
  const core = Recorder.ready(role);
  if (role === 'client') for (let i = 0; i < 3; i += 1) core.request(i === 0);
  core.receive(...chunks);
  return [...core.events(), ...core.sent()];
}

/** Bytes that are likely to mean something to HPACK: opcodes, short lengths, indices of entries there are. */
const meaningfulBlock = fc
  .array(
    fc.oneof(
      fc.constantFrom(0x82, 0x83, 0x86, 0x88, 0xbe, 0xbf, 0x40, 0x41, 0x48, 0x00, 0x0f, 0x10, 0x20, 0x3f, 0x81, 0x61),
      fc.integer({ min: 0, max: 8 }),
      fc.nat({ max: 255 }),
    ),
    { maxLength: 80 },
  )
  .map((bytes) => Buffer.from(bytes));

const anyRole = fc.constantFrom<Role>('client', 'server');

/** Frames as they might come: mostly known types, small ids, honest and dishonest payloads. */
const anyFrame = fc
  .record({
    type: fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: 0, max: 9 }) },
      { weight: 1, arbitrary: fc.nat({ max: 255 }) },
    ),
    flags: fc.oneof(fc.constantFrom(0, 1, 4, 5, 8, 0x20, 0x2d), fc.nat({ max: 255 })),
    id: fc.oneof(fc.constantFrom(0, 1, 2, 3, 5, 7, 9, 2 ** 31 - 1), fc.nat({ max: 2 ** 31 - 1 })),
    payload: fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.constantFrom(block(requestLines), block(responseLines), Buffer.alloc(4), Buffer.alloc(8), Buffer.alloc(300)),
    ),
  })
  .map(({ type, flags, id, payload }) => frame(type, flags, id, payload));

const valid: Record<Role, Buffer> = {
  server: Buffer.concat([
    headers(1, requestLines),
    data(1, 'hello'),
    headers(3, requestLines, last),
    windowUpdate(0, 1000),
    data(1, Buffer.alloc(200), endStream),
    settings([4, 10]),
    headers(5, [...requestLines, ['x', 'y'.repeat(300)]]),
    headers(5, [['trailer', 'z']], last),
  ]),
  client: Buffer.concat([
    headers(1, responseLines),
    data(1, 'hello'),
    headers(3, responseLines, last),
    settings([4, 100_000]),
    data(1, Buffer.alloc(200)),
    headers(1, [['grpc-status', '0']], last),
    windowUpdate(5, 1000),
  ]),
};

describe('whatever bytes come, the core neither throws nor says more of a stream after its end', {
  timeout: fuzzTimeout,
}, () => {
  it('random bytes', () => {
    fuzz(
      fc.property(
        anyRole,
        fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 10 }),
        fc.boolean(),
        (role, chunks, begun) => attack(role, chunks, begun),
      ),
      2000,
    );
  });

  it('random bytes after a valid preface', () => {
    fuzz(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 10 }), (chunks) =>
        attack('server', [preface, settings(), settingsAck, ...chunks], false),
      ),
      1000,
    );
  });

  it('random frames', () => {
    fuzz(
      fc.property(anyRole, fc.array(anyFrame, { maxLength: 30 }), (role, frames) => attack(role, frames, true)),
      4000,
    );
  });

  it('valid streams with bytes changed, cut or doubled', () => {
    const anyChange = fc.record({
      at: fc.nat({ max: 2000 }),
      kind: fc.constantFrom('flip' as const, 'cut' as const, 'double' as const),
      value: fc.integer({ min: 1, max: 255 }),
    });
    fuzz(
      fc.property(
        anyRole,
        fc.array(anyChange, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 400 }),
        (role, changes, piece) => {
          let bytes: Buffer = Buffer.from(valid[role]);
          for (const { at, kind, value } of changes) {
            const place = at % bytes.length;
            if (kind === 'flip') bytes.writeUInt8(bytes.readUInt8(place) ^ value, place);
            else if (kind === 'cut') bytes = Buffer.concat([bytes.subarray(0, place), bytes.subarray(place + value)]);
            else bytes = Buffer.concat([bytes.subarray(0, place), bytes.subarray(Math.max(0, place - value))]);
            if (bytes.length === 0) return;
          }
          const chunks: Buffer[] = [];
          for (let at = 0; at < bytes.length; at += piece) chunks.push(bytes.subarray(at, at + piece));
          attack(role, chunks, true);
        },
      ),
      4000,
    );
  });

  it('header blocks of random bytes, in one frame or more', () => {
    const anyBlock = fc
      .record({
        id: fc.constantFrom(1, 3, 5, 7),
        bytes: fc.oneof(meaningfulBlock, fc.constantFrom(block(requestLines), block(responseLines))),
        cut: fc.nat({ max: 60 }),
        end: fc.boolean(),
      })
      .map(({ id, bytes, cut, end }) => {
        const flags = end ? endStream : 0;
        if (cut >= bytes.length) return frame(Type.headers, flags | endHeaders, id, bytes);
        const first = frame(Type.headers, flags, id, bytes.subarray(0, cut));
        return Buffer.concat([first, frame(Type.continuation, endHeaders, id, bytes.subarray(cut))]);
      });
    fuzz(
      fc.property(anyRole, fc.array(anyBlock, { maxLength: 12 }), (role, frames) => attack(role, frames, true)),
      4000,
    );
  });

  it('random frames are the same however they are split', () => {
    fuzz(
      fc.property(
        anyRole,
        fc.array(fc.oneof(anyFrame, fc.constantFrom(valid.server, valid.client)), { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 20 }),
        (role, frames, pieces) => {
          const bytes = Buffer.concat(frames);
          const chunks: Buffer[] = [];
          for (let at = 0, i = 0; at < bytes.length; i += 1) {
            const size = pieces[i % pieces.length] ?? 1;
            chunks.push(bytes.subarray(at, at + size));
            at += size;
          }
          expect(told(role, chunks)).toEqual(told(role, [bytes]));
        },
      ),
      2000,
    );
  });

  it('the unchanged streams are heard in full', () => {
    const server = Recorder.ready('server');
    server.receive(valid.server);
    expect(server.events()).toEqual([
      'request 1 /pkg.Service/Method',
      'data 1 "hello"',
      'request 3 /pkg.Service/Method end',
      'data 1 200 end',
      'settings',
      'request 5 /pkg.Service/Method',
      'trailers 5 1',
    ]);
    const client = Recorder.ready('client');
    for (let i = 0; i < 3; i += 1) client.request(true);
    client.receive(valid.client);
    expect(client.events().some((event) => event.startsWith('failed'))).toBe(false);
  });
});
