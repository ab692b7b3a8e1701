import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultHttp2Settings, type HeaderField, type Http2Settings } from '../../../src/http2/types.js';
import { responseLines } from '../../support/frames.js';
import { fields } from '../../support/recorder.js';
import { type Exchange, TwoCores } from '../../support/two-cores.js';

const anyName = fc.stringMatching(/^x-[a-z0-9_.-]{1,20}$/);
/** One character a byte; no line ends, no spaces at the ends. */
const anyValue = fc.array(fc.integer({ min: 0x20, max: 0xff }), { maxLength: 60 }).map((codes) =>
  String.fromCharCode(...codes)
    .trim()
    .replace(/^\u00a0+|\u00a0+$/g, ''),
);
const anyField: fc.Arbitrary<HeaderField> = fc.record({ name: anyName, value: anyValue, neverIndexed: fc.boolean() });
const anyList = fc.array(anyField, { maxLength: 6 });

const anySettings: fc.Arbitrary<Http2Settings> = fc.record({
  maxConcurrentStreams: fc.integer({ min: 1, max: 20 }),
  maxHeaderListSize: fc.constant(64 * 1024),
  maxHeaderBlockFrames: fc.constant(64),
  headerTableSize: fc.constantFrom(0, 100, 4096),
  streamWindow: fc.constantFrom(1, 50, 1000, 65_535, 300_000),
  connectionWindow: fc.constantFrom(65_535, 100_000, 1_000_000),
  maxFrameSize: fc.constantFrom(16_384, 20_000),
  floodBudget: fc.constant(10_000),
});

const anyPayload = fc
  .tuple(fc.oneof(fc.nat({ max: 40 }), fc.nat({ max: 3000 }), fc.nat({ max: 60_000 })), fc.nat({ max: 255 }))
  .map(([length, seed]) => Buffer.from(Array.from({ length }, (_unused, at) => (at * 31 + seed) & 0xff)));

const anyExchange: fc.Arbitrary<Exchange> = fc.record({
  request: anyList.map((list) => [
    ...fields([
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', '/a/b'],
    ]),
    ...list,
  ]),
  upload: anyPayload,
  response: anyList.map((list) => [...fields(responseLines), ...list]),
  download: anyPayload,
  trailers: anyList,
});

type Step =
  | { readonly kind: 'call'; readonly exchange: Exchange }
  | { readonly kind: 'write' }
  | { readonly kind: 'deliver'; readonly to: 'client' | 'server'; readonly bytes: number }
  | { readonly kind: 'consume'; readonly bytes: number }
  | { readonly kind: 'reset'; readonly from: 'client' | 'server'; readonly at: number }
  | { readonly kind: 'block'; readonly side: 'client' | 'server'; readonly blocked: boolean };

const anySide = fc.constantFrom('client' as const, 'server' as const);
const anyStep = (resets: boolean): fc.Arbitrary<Step> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('call' as const), exchange: anyExchange }) },
    { weight: 4, arbitrary: fc.constant({ kind: 'write' as const }) },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('deliver' as const),
        to: anySide,
        bytes: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20_000 })),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('consume' as const), bytes: fc.nat({ max: 40_000 }) }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('block' as const), side: anySide, blocked: fc.boolean() }),
    },
    ...(resets
      ? [{ weight: 1, arbitrary: fc.record({ kind: fc.constant('reset' as const), from: anySide, at: fc.nat() }) }]
      : []),
  );

function take(cores: TwoCores, step: Step): void {
  switch (step.kind) {
    case 'call':
      cores.call(step.exchange);
      return;
    case 'write':
      cores.write();
      return;
    case 'deliver':
      cores.deliver(step.to, step.bytes);
      return;
    case 'consume':
      cores.consume(step.bytes);
      return;
    case 'block':
      cores[step.side].setOutputBlocked(step.blocked);
      return;
    case 'reset': {
      const trip = cores.trips[step.at % Math.max(1, cores.trips.length)];
      if (trip === undefined) return;
      if (step.from === 'client') cores.client.reset(trip.clientStream, 8);
      else if (trip.serverStream !== null) cores.server.reset(trip.serverStream, 8);
      return;
    }
    default:
      step satisfies never;
  }
}

function run(clientSettings: Http2Settings, serverSettings: Http2Settings, steps: readonly Step[]): TwoCores {
  const cores = new TwoCores(clientSettings, serverSettings);
  for (const step of steps) take(cores, step);
  cores.client.setOutputBlocked(false);
  cores.server.setOutputBlocked(false);
  cores.settle();
  return cores;
}

describe('a client core and a server core', () => {
  // A window exceeded, a frame out of place or an HPACK table out of step would end the connection: each core checks the other.
  it('whatever the interleaving, windows and tables: every call arrives whole, nothing leaks', () => {
    fc.assert(
      fc.property(anySettings, anySettings, fc.array(anyStep(false), { maxLength: 60 }), (ours, theirs, steps) => {
        const cores = run(ours, theirs, steps);
        expect(cores.failures).toEqual([]);
        for (const { exchange, client, server } of cores.trips) {
          expect(server?.received.fields).toEqual(exchange.request);
          expect(server?.received.bytes.equals(exchange.upload)).toBe(true);
          expect(client.received.fields).toEqual(exchange.response);
          expect(client.received.bytes.equals(exchange.download)).toBe(true);
          expect(client.received.trailers).toEqual(exchange.trailers);
          expect([client.received.ended, server?.received.ended]).toEqual([true, true]);
          expect([client.received.end, server?.received.end]).toEqual([null, null]);
        }
        expect([cores.client.openStreams, cores.server.openStreams]).toEqual([0, 0]);
        expect(cores.closed).toBe(cores.trips.length * 2);
      }),
      { numRuns: 300 },
    );
  });

  it('with resets from both sides: the connection and the other calls go on, nothing leaks', () => {
    fc.assert(
      fc.property(anySettings, anySettings, fc.array(anyStep(true), { maxLength: 60 }), (ours, theirs, steps) => {
        const cores = run(ours, theirs, steps);
        expect(cores.failures).toEqual([]);
        for (const { exchange, client, clientStream, serverStream } of cores.trips) {
          expect(clientStream.closed).toBe(true);
          expect(serverStream?.closed ?? true).toBe(true);
          // What arrived is a beginning of what was sent.
          const { bytes } = client.received;
          expect(bytes.equals(exchange.download.subarray(0, bytes.length))).toBe(true);
        }
        expect([cores.client.openStreams, cores.server.openStreams]).toEqual([0, 0]);
      }),
      { numRuns: 300 },
    );
  });

  it('1 MiB both ways on ten streams through the default windows', () => {
    const cores = new TwoCores(defaultHttp2Settings, defaultHttp2Settings);
    cores.settle();
    const upload = Buffer.alloc(1024 * 1024, 'up');
    const download = Buffer.alloc(1024 * 1024, 'down');
    for (let i = 0; i < 10; i += 1)
      cores.call({
        request: fields([
          [':method', 'POST'],
          [':scheme', 'http'],
          [':path', '/a/b'],
        ]),
        upload,
        response: fields(responseLines),
        download,
        trailers: fields([['grpc-status', '0']]),
      });
    cores.settle();
    expect(cores.failures).toEqual([]);
    expect(cores.trips).toHaveLength(10);
    for (const { client, server } of cores.trips) {
      expect(client.received.bytes.equals(download)).toBe(true);
      expect(server?.received.bytes.equals(upload)).toBe(true);
    }
    expect(cores.closed).toBe(20);
  });
});
