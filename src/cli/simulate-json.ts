import { statusName } from '../grpc/status.js';
import type { Summary, Times } from '../sim/summary.js';
import { entryAsJson, planAsJson } from './explain-json.js';
import { remarksOn } from './simulate-remarks.js';
import type { Side, Simulation } from './simulation.js';

/** The object of `hedgerow simulate --json`; docs/simulate.md tells its fields, which are only ever added to. */
export function simulationAsJson(simulation: Simulation, file: string): object {
  const { path, governing, notes, deadline, difference, bucketWidth, without } = simulation;
  const { by, policy } = governing;
  return {
    file,
    method: path,
    entry: by === null ? null : entryAsJson(by),
    notes,
    policy: planAsJson(policy.plan),
    deadline_ms: deadline,
    model: modelOf(simulation),
    without_policy: sideAsJson(without),
    with_policy: sideAsJson(simulation.with),
    without_throttle: simulation.unthrottled === null ? null : summaryAsJson(simulation.unthrottled),
    saved_calls: difference.saved,
    spoilt_calls: difference.spoilt,
    extra_attempts: ratio(simulation.with.summary.attempts, without.summary.attempts),
    timeline: {
      bucket_ms: bucketWidth,
      buckets: without.buckets.map((bucket, index) => ({
        from_ms: bucket.from,
        calls: bucket.calls,
        without_policy: bucketAsJson(without, index),
        with_policy: bucketAsJson(simulation.with, index),
      })),
    },
    remarks: remarksOn(simulation),
  };
}

function modelOf({ world, words }: Simulation): object {
  return {
    calls: world.calls,
    rate_per_s: world.rate,
    arrivals: world.arrivals,
    backends: world.backends,
    load_balancing: world.balancing.kind,
    latency: words.latency,
    failures: words.failures,
    outages: words.outages,
    slow: words.slownesses,
    pushback_ms: world.pushback === null ? null : Number(world.pushback),
    capacity: world.capacity,
    cancelled_work: world.cancelledWork === 'stops' ? 'stops' : 'goes_on',
    request_bytes: world.requestBytes,
    per_call_buffer_limit_bytes: world.perCallBufferLimit,
    seed: world.seed,
  };
}

function sideAsJson({ run, summary }: Side): object {
  const { tokens } = run;
  return {
    ...summaryAsJson(summary),
    throttled_calls: run.suppressed,
    lowest_tokens: tokens === null ? null : tokens.lowest / 1000,
    throttle_shut: (tokens?.shut ?? []).map(({ from, to }) => ({
      from_ms: tidy(from),
      to_ms: to === null ? null : tidy(to),
    })),
    parks: run.parks.map(({ backend, reason, from, to }) => ({
      backend,
      reason,
      from_ms: tidy(from),
      to_ms: tidy(to),
    })),
  };
}

function summaryAsJson(summary: Summary): object {
  return {
    calls: summary.calls,
    ok: summary.ok,
    success_rate: tidy(summary.ok / summary.calls),
    codes: Object.fromEntries(summary.codes.map(({ code, calls }) => [statusName(code), calls])),
    stop_reasons: Object.fromEntries(summary.reasons.map(({ reason, calls }) => [reason, calls])),
    latency_ms: timesAsJson(summary.times),
    ok_latency_ms: summary.okTimes === null ? null : timesAsJson(summary.okTimes),
    attempts: summary.attempts,
    attempts_per_call: tidy(summary.attempts / summary.calls),
    retries: summary.retries,
    hedges: summary.hedges,
    hedges_won: summary.hedgesWon,
    peak_in_flight_per_backend: summary.peakInFlight,
    peak_attempts_per_s: summary.peakPerSecond,
  };
}

function timesAsJson({ p50, p90, p99, p999, max, mean }: Times): object {
  return { p50, p90, p99, p99_9: p999, max, mean };
}

function bucketAsJson({ buckets }: Side, index: number): object | null {
  const bucket = buckets[index];
  if (bucket === undefined) return null;
  const { ok, attempts, lowestMilliTokens } = bucket;
  return { ok, attempts, lowest_tokens: lowestMilliTokens === null ? null : lowestMilliTokens / 1000 };
}

/** How much more, 0.01 for 1 %; null where there was nothing. */
function ratio(more: number, than: number): number | null {
  return than === 0 ? null : tidy(more / than - 1);
}

/** Without what floating point adds: milliseconds to a nanosecond. */
function tidy(time: number): number {
  return Math.round(time * 1e6) / 1e6;
}
