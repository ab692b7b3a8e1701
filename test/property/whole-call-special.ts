import fc from 'fast-check';
import type { BackendPlan, Outcome, RunScript } from '../support/call-script.js';
import { call, long, maybe, plenty, runs, seconds, soon } from './whole-call-draw.js';

/*
 * Runs of a kind that is seldom drawn among all.
 */

const hedged = JSON.stringify({
  methodConfig: [
    { name: [{}], hedgingPolicy: { maxAttempts: 3, hedgingDelay: '0s', nonFatalStatusCodes: ['UNAVAILABLE'] } },
    { name: [] },
  ],
});

/** Runs in which hedges of one call have been sent unequal parts of it when its buffer is full. */
export const overflows: fc.Arbitrary<RunScript> = fc
  .tuple(runs, fc.array(fc.constantFrom(10, 20, 65_535), { minLength: 2, maxLength: 3 }), long)
  .map(([run, windows, after]) => ({
    ...run,
    config: hedged,
    limits: { ...run.limits, call: 50, client: plenty, total: plenty },
    warmup: 20,
    abandonAt: null,
    clientLost: null,
    backends: windows.map((window) => ({ latency: 0, streams: 100, window, events: [] })),
    calls: run.calls.map((one) => ({
      ...one,
      service: 0,
      messages: [300],
      pieces: [
        { bytes: 40, after: 0 },
        { bytes: 100, after },
      ],
      timeout: null,
      cancel: null,
      directives: [],
      outcomes: windows.map((_window, i) => ({ kind: 'silence', reads: i === 0, waits: true, after: 0 })),
    })),
  }));

/** Nothing is ever wrong with a backend but that it takes one stream at a time, so that the hedges of several calls wait. */
export const crowds: fc.Arbitrary<RunScript> = fc
  .record({
    run: runs,
    delay: fc.constantFrom(0, 0, 5, 20).map(seconds),
    timeout: maybe(2, fc.constantFrom(10, 20, 40).map(seconds)),
    outcome: fc.record({ after: soon, code: fc.constantFrom(0, 0, 14) }),
    alarmsLate: fc.constantFrom(0, 7),
    backends: fc.integer({ min: 2, max: 3 }),
    others: fc.array(call, { minLength: 2, maxLength: 3 }),
  })
  .map(
    ({ run, delay, timeout, outcome: { after, code }, alarmsLate, backends, others }): RunScript => ({
      ...run,
      config: JSON.stringify({
        methodConfig: [
          {
            name: [{}],
            hedgingPolicy: { maxAttempts: backends, hedgingDelay: delay, nonFatalStatusCodes: ['UNAVAILABLE'] },
            ...(timeout === null ? {} : { timeout }),
          },
          { name: [] },
        ],
      }),
      limits: { ...run.limits, queue: 1000, connections: 1, call: plenty, client: plenty, total: plenty },
      alarmsLate,
      warmup: 20,
      abandonAt: null,
      clientLost: null,
      backends: Array.from({ length: backends }, () => ({ latency: 0, streams: 1, window: 65_535, events: [] })),
      calls: [...run.calls, ...others].map((one) => ({
        ...one,
        service: 0,
        messages: [30],
        pieces: [],
        halfClose: 0,
        directives: [],
        outcomes: run.backends.map((_, i): Outcome => {
          const how = { after: after + i, reads: true, waits: true };
          return { kind: 'trailersOnly', code, pushback: [], ...how };
        }),
      })),
    }),
  );

/**
 * Crowds of which backends lose connections: attempts that wait for a stream there, and those whose HEADERS were not yet
 * written, were never sent and are repeated.
 */
export const losses: fc.Arbitrary<RunScript> = fc
  .tuple(
    crowds,
    fc.array(
      fc.record({ at: fc.integer({ min: 0, max: 60 }), kind: fc.constantFrom('lose' as const, 'trip' as const) }),
      {
        minLength: 2,
        maxLength: 3,
      },
    ),
  )
  .map(([crowd, events]) => ({
    ...crowd,
    backends: crowd.backends.map((plan, i): BackendPlan => {
      const event = events[i];
      return event === undefined ? plan : { ...plan, events: [{ ...event, at: crowd.warmup + event.at }] };
    }),
  }));

/** Clients that read slowly, and a relay that has no room for what they leave: window comes back late, and must. */
export const trickles: fc.Arbitrary<RunScript> = fc
  .tuple(runs, fc.constantFrom(0, 50), fc.constantFrom(20, 100))
  .map(([run, relay, proxyWindow]) => ({
    ...run,
    config: JSON.stringify({ methodConfig: [{ name: [{}] }, { name: [] }] }),
    limits: { ...run.limits, relay, queue: 1000, call: plenty, client: plenty, total: plenty },
    warmup: 20,
    clientWindow: 10,
    proxyWindow,
    abandonAt: null,
    clientLost: null,
    backends: run.backends.map((plan) => ({ ...plan, streams: 100, events: [] })),
    calls: run.calls.map((one) => ({
      ...one,
      service: 0,
      pieces: [],
      halfClose: 0,
      cancel: null,
      timeout: null,
      directives: [],
      readAfter: 5,
      outcomes: [
        { kind: 'answer', code: 0, pushback: [], messages: [300], gap: 0, after: 0, reads: true, waits: false },
      ],
    })),
  }));

/** Backends that send response headers and then say that they refused: whatever they say, they had it (A6, Transparent retries). */
export const refusals: fc.Arbitrary<RunScript> = fc
  .tuple(runs, fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }))
  .map(([run, headers]) => ({
    ...run,
    calls: run.calls.map((one) => ({
      ...one,
      outcomes: headers.map(
        (headersFirst): Outcome => ({ kind: 'reset', code: 7, headersFirst, after: 5, reads: true, waits: false }),
      ),
    })),
  }));

/** Hedges that are all told something else of further ones: which of it names the end shows only here (D12, "wait for siblings"). */
export const rebuffs: fc.Arbitrary<RunScript> = fc
  .record({
    run: runs,
    most: fc.integer({ min: 2, max: 4 }),
    delay: fc.constantFrom(0, 5).map(seconds),
    timeout: maybe(1, fc.constant(60)),
    answers: fc.array(fc.tuple(soon, fc.constantFrom<string[]>([], [], ['-1'], ['40'])), {
      minLength: 4,
      maxLength: 4,
    }),
  })
  .map(({ run, most, delay, timeout, answers }) => ({
    ...run,
    config: JSON.stringify({
      methodConfig: [
        {
          name: [{}],
          hedgingPolicy: { maxAttempts: most, hedgingDelay: delay, nonFatalStatusCodes: ['UNAVAILABLE'] },
        },
        { name: [] },
      ],
    }),
    limits: { ...run.limits, queue: 1000, call: plenty, client: plenty, total: plenty },
    alarmsLate: 0,
    warmup: 20,
    abandonAt: null,
    clientLost: null,
    backends: run.backends.map((plan) => ({ ...plan, streams: 100, events: [] })),
    calls: run.calls.map((one) => ({
      ...one,
      service: 0,
      cancel: null,
      timeout,
      directives: [],
      outcomes: answers.map(([after, pushback]): Outcome => {
        return { kind: 'trailersOnly', code: 14, pushback, after, reads: true, waits: false };
      }),
    })),
  }));
