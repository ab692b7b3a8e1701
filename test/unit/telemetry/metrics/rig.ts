import type { AttemptEnd } from '../../../../src/grpc/attempt-facts.js';
import { backendId } from '../../../../src/grpc/backend-id.js';
import { noPushback } from '../../../../src/grpc/pushback.js';
import type { StopReason } from '../../../../src/grpc/stop-reason.js';
import type { MeteredAttempt, MeteredCall, Readings, WireReading } from '../../../../src/proxy/meters.js';
import { ProgramMeters } from '../../../../src/telemetry/metrics/meters.js';
import { renderScene } from '../../../../src/telemetry/metrics/render.js';

const silent: WireReading = { received: { bytes: 0, frames: {} }, sent: { bytes: 0, frames: {} } };

/** A program that does nothing. */
export const idle: Readings = {
  now: 0,
  callsInFlight: 0,
  clientConnections: 0,
  replayHeld: 0,
  replayPeak: 0,
  relayWaiting: 0,
  relayExceeded: 0,
  throttle: null,
  sessions: {
    size: 0,
    outcomes: { created: 0, used: 0, expired: 0, lost: 0, evicted: 0, refused: 0, released: 0, cleared: 0 },
  },
  draining: false,
  backends: [],
  wire: { client: silent, backend: silent },
};

export function createMeters(): ProgramMeters {
  const facts = {
    version: '1.2.3',
    node: 'v20.0.0',
    startedAt: 1_700_000_000,
    residentBytes: () => 100,
    cpuSeconds: () => 1.5,
  };
  return new ProgramMeters(facts, renderScene);
}

/** An answer with this status. */
export function answer(code: number, rest: Partial<AttemptEnd> = {}): AttemptEnd {
  return {
    code,
    message: '',
    reach: 'processed',
    pushback: noPushback,
    by: 'backend',
    sign: { kind: 'stated' },
    ...rest,
  };
}

/** An OK answer from `b1` after 3 ms, the first of its call. */
export function attemptOf(rest: Partial<MeteredAttempt> = {}): MeteredAttempt {
  return {
    cause: 'first',
    previous: 0,
    startedAt: 0,
    endedAt: 3,
    backend: { id: backendId('b1'), name: 'b1' },
    end: answer(0),
    expired: false,
    trigger: null,
    sentBytes: 10,
    receivedBytes: 2000,
    ...rest,
  };
}

export function callOf(rest: Partial<MeteredCall> = {}): MeteredCall {
  const attempts = rest.attempts ?? [attemptOf()];
  return {
    method: 0,
    request: { path: '/pkg.S/M' },
    guarded: false,
    startedAt: 0,
    winner: attempts.at(-1) ?? null,
    placement: { kind: 'any' },
    seat: null,
    relay: { peakHeld: 15 },
    ...rest,
    attempts,
  };
}

/** Counts a whole call as the proxy does; its method is not in the config. */
export function play(
  meters: ProgramMeters,
  call: Partial<MeteredCall> & { readonly path?: string; readonly named?: boolean },
  code = 0,
  reason: StopReason = 'ok',
): void {
  const { path = '/pkg.S/M', named = false, ...rest } = call;
  const whole = callOf({ ...rest, method: meters.method(path, named), request: { path } });
  for (const attempt of whole.attempts) {
    meters.attemptStarted(whole.method);
    meters.attemptEnded(whole.method, path, attempt);
  }
  meters.callEnded(whole, code, reason, Math.max(0, ...whole.attempts.map(({ endedAt }) => endedAt)));
}

/** What `/metrics` answers. */
export function printed(meters: ProgramMeters, readings = idle): string {
  return [...meters.render(readings)].join('');
}

/** The samples of one metric that are not 0: what stands between the braces, and the value. */
export function samples(text: string, name: string): Record<string, number> {
  const found: Record<string, number> = {};
  for (const line of text.split('\n')) {
    const match = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/i.exec(line);
    if (match?.[1] === name && match[3] !== '0') found[match[2] ?? ''] = Number(match[3]);
  }
  return found;
}
