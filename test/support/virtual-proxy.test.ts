import { describe, expect, it } from 'vitest';
import { firstOf } from './call-log.js';
import type { BackendPlan, ClientCallPlan, Outcome, RunScript } from './call-script.js';
import { answerBytes } from './virtual-backend.js';
import { requestBytes } from './virtual-client.js';
import { VirtualProxy } from './virtual-proxy.js';

const retry = JSON.stringify({
  methodConfig: [
    {
      name: [{}],
      retryPolicy: {
        maxAttempts: 3,
        initialBackoff: '0.1s',
        maxBackoff: '1s',
        backoffMultiplier: 2,
        retryableStatusCodes: ['UNAVAILABLE'],
      },
    },
  ],
});

const plainBackend: BackendPlan = { latency: 1, streams: 100, window: 65_535, events: [] };

const plainCall: ClientCallPlan = {
  at: 0,
  connection: 0,
  service: 0,
  messages: [10, 20],
  pieces: [],
  halfClose: 0,
  cancel: null,
  timeout: null,
  previous: null,
  directives: [],
  readAfter: 0,
  outcomes: [],
};

function script(changes: Partial<RunScript>): RunScript {
  return {
    config: retry,
    limits: { call: 1000, client: 10_000, total: 100_000, relay: 100_000, queue: 10, connections: 2 },
    randoms: [0.5],
    alarmsLate: 0,
    clientLatency: 1,
    clientWindow: 65_535,
    proxyWindow: 65_535,
    warmup: 20,
    backends: [plainBackend, plainBackend],
    calls: [plainCall],
    pin: 'strict',
    pinSameBackendRetry: false,
    clientLost: null,
    abandonAt: null,
    ...changes,
  };
}

const unavailable: Outcome = { kind: 'trailersOnly', code: 14, pushback: [], after: 5, reads: true, waits: false };

describe('a proxy on virtual time', () => {
  it('passes a call and its answer on, and is at rest afterwards', () => {
    const proxy = new VirtualProxy(script({}));
    proxy.run();
    const [caller] = proxy.callers;
    expect(firstOf(caller?.trailers ?? [], 'grpc-status')).toBe('0');
    expect(caller?.bytes).toEqual(answerBytes(0, [3]));
    const [served, ...others] = proxy.backends.flatMap((backend) => backend.served);
    expect(others).toEqual([]);
    expect(served?.bytes).toEqual(requestBytes(0, [10, 20]));
    expect(served?.ended).toBe(true);
    expect(proxy.defects).toEqual([]);
    expect(Object.values(proxy.leaks)).toEqual([0, 0, 0, 0, 0, 0, 0]);
    expect(proxy.stop()).toBe(0);
  });

  it('retries after the backoff, on the other backend', () => {
    const proxy = new VirtualProxy(script({ calls: [{ ...plainCall, outcomes: [unavailable] }] }));
    proxy.run();
    const opened = proxy.log.entries.filter((entry) => entry.kind === 'opened');
    expect(opened.map((entry) => entry.opened.backend)).toEqual(['a', 'b']);
    const [first, second] = opened;
    // The way there and back is 2 ms, the backend takes 5, the wait 100.
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBe(107);
    expect(firstOf(proxy.callers[0]?.trailers ?? [], 'grpc-status')).toBe('0');
  });

  it('plays the same script the same way twice', () => {
    const one = script({ calls: [{ ...plainCall, outcomes: [unavailable, { ...unavailable, kind: 'lose' }] }] });
    const logs = [1, 2].map(() => {
      const proxy = new VirtualProxy(one);
      proxy.run();
      return JSON.stringify(proxy.log.entries);
    });
    expect(logs[0]).toBe(logs[1]);
    expect(logs[0]).toContain('was lost');
  });

  it.each([
    ['a connection that was lost', 'lose'],
    ['a stream above the last id of a GOAWAY', 'goaway'],
  ] as const)('shows the proxy %s', (_what, kind) => {
    const proxy = new VirtualProxy(
      script({ calls: [{ ...plainCall, outcomes: [{ kind, after: 3, reads: true, waits: false }] }] }),
    );
    proxy.run();
    const ends = proxy.log.entries.filter((entry) => entry.kind === 'ended').map(({ end }) => end.kind);
    expect(ends).toEqual([kind === 'lose' ? 'lost' : 'goaway']);
    expect(firstOf(proxy.callers[0]?.trailers ?? [], 'grpc-status')).toBe('0');
    expect(Object.values(proxy.leaks)).toEqual([0, 0, 0, 0, 0, 0, 0]);
  });

  it('shows the proxy a connection that was lost before the HEADERS on it were written', () => {
    const trips: BackendPlan = { ...plainBackend, events: [{ at: 10, kind: 'trip' }] };
    const proxy = new VirtualProxy(script({ backends: [trips, plainBackend] }));
    proxy.run();
    const ends = proxy.log.entries.filter((entry) => entry.kind === 'ended').map(({ end }) => end);
    expect(ends).toEqual([{ kind: 'lost', flushed: false, detail: 'a was lost' }]);
    expect(proxy.backends.map(({ served }) => served.length)).toEqual([0, 1]);
    const trailers = proxy.callers[0]?.trailers ?? [];
    expect(firstOf(trailers, 'grpc-status')).toBe('0');
    expect(firstOf(trailers, 'hedgerow-backends')).toBeNull();
    expect(Object.values(proxy.leaks)).toEqual([0, 0, 0, 0, 0, 0, 0]);
  });

  it('connects again to a backend that refused connects for a while', () => {
    const down: BackendPlan = {
      ...plainBackend,
      events: [
        { at: 0, kind: 'refuse' },
        { at: 900, kind: 'up' },
      ],
    };
    const proxy = new VirtualProxy(script({ backends: [down], warmup: 3000 }));
    proxy.run();
    expect(proxy.changes.map(({ event }) => event)).toContain('connect_failed');
    expect(firstOf(proxy.callers[0]?.trailers ?? [], 'grpc-status')).toBe('0');
  });
});
