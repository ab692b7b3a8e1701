import type fc from 'fast-check';
import { describe, it } from 'vitest';
import { createMachineEnv } from '../../src/proxy/machine-env.js';
import type { RunScript } from '../support/call-script.js';
import type { Planted } from '../support/virtual-proxy.js';
import { mustFind } from './whole-call-find.js';
import { trickles } from './whole-call-special.js';

/** Faults in the parts that a call is made of, and what the property must say of each. */
const faults: readonly (readonly [what: string, planted: Planted, seen: RegExp, drawn?: fc.Arbitrary<RunScript>])[] = [
  [
    'a bucket that counts nothing',
    {
      throttle: (real) => ({
        isShut: (debit) => real.isShut(debit),
        count() {},
        configure: (limits) => real.configure(limits),
        suppress: () => real.suppress(),
        suppressed: 0,
        get state() {
          return real.state;
        },
      }),
    },
    /tokens: \d+ left, reckoned/,
  ],
  [
    'a bucket that is never shut',
    {
      throttle: (real) => ({
        isShut: () => false,
        count: (as) => real.count(as),
        configure: (limits) => real.configure(limits),
        suppress: () => real.suppress(),
        suppressed: 0,
        get state() {
          return real.state;
        },
      }),
    },
    /past a shut throttle/,
  ],
  ['a shell that does not hear its clients cancel', { deafToCancels: true }, /left behind: \d+ calls|told something/],
  [
    'alarms that are not cancelled',
    {
      parts: (real) => ({ ...real, alarms: { set: (at, ring) => real.alarms.set(at, ring), cancel() {}, pending: 0 } }),
    },
    /alarms more than calls/,
  ],
  [
    'a policy with one attempt too many',
    {
      parts: (real) => ({
        ...real,
        policyFor: (path) => {
          const policy = real.policyFor(path);
          const { plan } = policy;
          return plan.kind === 'none' ? policy : { ...policy, plan: { ...plan, maxAttempts: plan.maxAttempts + 1 } };
        },
      }),
    },
    /grpc-previous-rpc-attempts \d+ with \d+ at most|attempts of its policy/,
  ],
  [
    'a balancer that knows no pin and no exclude',
    {
      parts: (real) => ({
        ...real,
        picker: {
          pick: (candidates, { tried, failed, cause, guarded, now }) =>
            real.picker.pick(candidates, { tried, failed, cause, guarded, now, bounds: null }),
        },
      }),
    },
    /is pinned to|excludes \w and reached it/,
  ],
  [
    'a jitter that goes out of its bounds',
    { parts: (real) => ({ ...real, machineEnv: createMachineEnv({ next: () => 2 }, real.throttle) }) },
    /where the backoff is/,
  ],
  [
    'a buffer that gives nothing back',
    {
      parts: (real) => ({
        ...real,
        replay: {
          reserve: (bytes) => real.replay.reserve(bytes),
          release() {},
          get room() {
            return real.replay.room;
          },
          get held() {
            return real.replay.held;
          },
          get peak() {
            return real.replay.peak;
          },
        },
      }),
    },
    /left behind: \d+ replayBytes/,
  ],
  [
    'a clock of the calls that runs fast',
    { parts: (real) => ({ ...real, clock: { now: () => real.clock.now() + 2 } }) },
    /grpc-timeout|after its deadline|ms were left/,
  ],
  [
    'a relay budget that never pays what it owes',
    {
      parts: (real) => {
        const { relay } = real;
        return {
          ...real,
          relay: {
            get waiting() {
              return relay.waiting;
            },
            add: (bytes) => relay.add(bytes),
            remove: (bytes) => relay.remove(bytes),
            giveBack(...given) {
              if (relay.waiting === 0) relay.giveBack(...given);
            },
          },
        };
      },
    },
    /never ended/,
    trickles,
  ],
  [
    'notes that tell an origin of the other kind',
    {
      parts: (real) => ({
        ...real,
        notes: {
          ...real.notes,
          trailers(told) {
            const { failure } = told;
            if (failure === null) return real.notes.trailers(told);
            const origin = failure.origin === 'proxy' ? 'backend' : 'proxy';
            return real.notes.trailers({ ...told, failure: { ...failure, origin } });
          },
        },
      }),
    },
    /told hedgerow-origin (proxy|backend), reckoned (proxy|backend)/,
  ],
  [
    'notes that number a call anew',
    {
      parts: (real) => ({
        ...real,
        notes: {
          ...real.notes,
          trailers(told) {
            const { failure } = told;
            return real.notes.trailers({ ...told, failure: failure && { ...failure, callId: real.nextCallId() } });
          },
        },
      }),
    },
    /told hedgerow-call-id call-\d+, reckoned call-\d+/,
  ],
];

describe('the property over whole calls', () => {
  for (const [what, planted, seen, drawn] of faults) it(`finds ${what}`, () => mustFind(seen, planted, drawn), 60_000);
});
