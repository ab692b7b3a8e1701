import { stopReasons } from '../../grpc/stop-reason.js';
import { type BackendReading, backendStates, type DirectionReading, type Readings } from '../../proxy/meters.js';
import type { BackendNumbers } from './backend-numbers.js';
import { latencyBuckets } from './definition.js';
import { Histogram } from './histogram.js';
import { directions, grpcTarget, sessionOutcomes, sides } from './labels.js';
import type { MethodNumbers } from './method-numbers.js';
import type { ProgramNumbers } from './program-numbers.js';
import { Scene } from './scene.js';

/** Methods that are read at one go. */
const methodsAtOnce = 20;

/**
 * All that was counted, and all that is read now, as metrics. It gives way after some methods each time: what was counted of
 * one method is of one moment, as is all the rest.
 */
export function* describe(counted: ProgramNumbers, readings: Readings): Generator<void, Scene> {
  const scene = new Scene();
  // In one go: between two a backend's name may be forgotten and come again, and would be told twice.
  describeCalls(scene, counted, readings);
  describeAttempt(scene, '', counted.nowhere);
  counted.backends.each((backend, numbers) => describeBackend(scene, backend, numbers, counted, readings.now));
  describePool(scene, counted, readings);
  describeBuffers(scene, counted, readings);
  describeClients(scene, counted, readings);
  describeProcess(scene, counted, readings);
  let read = 0;
  for (const { label, numbers } of counted.methods.all()) {
    if (read % methodsAtOnce === 0) yield;
    describeMethod(scene, label, numbers);
    read += 1;
  }
  return scene;
}

function describeMethod(scene: Scene, method: string, numbers: MethodNumbers): void {
  const labels = { grpc_method: method, grpc_target: grpcTarget };
  if (numbers.started > 0) scene.add('grpc_client_attempt_started_total', labels, numbers.started);
  numbers.eachAttempts((code, { duration, sent, received }) => {
    const ended = { ...labels, grpc_status: code };
    scene.add('grpc_client_attempt_duration_seconds', ended, duration);
    scene.add('grpc_client_attempt_sent_total_compressed_message_size_bytes', ended, sent);
    scene.add('grpc_client_attempt_rcvd_total_compressed_message_size_bytes', ended, received);
  });
  const durations = new Histogram(latencyBuckets);
  numbers.eachCallDuration((code, duration) => {
    durations.add(duration);
    scene.add('grpc_client_call_duration_seconds', { ...labels, grpc_status: code }, duration);
  });
  if (durations.count > 0) scene.add('hedgerow_call_duration_seconds', { method }, durations);
  const { saved, retried, hedged, retries, transparent, hedges, retryDelay } = numbers;
  if (retried + hedged > 0) scene.add('hedgerow_calls_saved_total', { method }, saved);
  if (retries !== null) scene.add('grpc_client_call_retries', labels, retries);
  if (transparent !== null) scene.add('grpc_client_call_transparent_retries', labels, transparent);
  if (hedges !== null) scene.add('grpc_client_call_hedges', labels, hedges);
  if (retryDelay !== null) scene.add('grpc_client_call_retry_delay_seconds', labels, retryDelay);
  numbers.calls.each(false, (code, reason, calls) =>
    scene.add('hedgerow_calls_total', { method, code, stop_reason: reason }, calls),
  );
}

function describeCalls(scene: Scene, counted: ProgramNumbers, { callsInFlight, throttle }: Readings): void {
  scene.add('hedgerow_calls_in_flight', {}, callsInFlight);
  scene.add('hedgerow_attempts_per_call', {}, counted.attemptsPerCall);
  counted.retries.each(true, (reason, outcome, value) =>
    scene.add('hedgerow_retries_total', { reason, outcome }, value),
  );
  counted.hedges.each(true, (trigger, won, value) => scene.add('hedgerow_hedges_total', { trigger, won }, value));
  counted.retryStopped.each(true, (reason, _, value) => {
    if (stoppers.has(reason)) scene.add('hedgerow_retry_stopped_total', { stop_reason: reason }, value);
  });
  counted.commits.each(true, (cause, _, value) => scene.add('hedgerow_commits_total', { cause }, value));
  counted.pushbacks.each(true, (kind, _, value) => scene.add('hedgerow_pushbacks_total', { kind }, value));
  counted.pins.each(false, (row, outcome, value) => {
    const [kind = '', mode = ''] = row.split(' ');
    scene.add('hedgerow_pins_total', { kind, mode, outcome }, value);
  });
  scene.add('hedgerow_throttled_total', {}, counted.throttledCount);
  if (throttle === null) return;
  scene.add('hedgerow_throttle_tokens', {}, throttle.milliTokens / 1000);
  scene.add('hedgerow_throttle_max_tokens', {}, throttle.limits.maxMilliTokens / 1000);
}

/** A call that failed under a policy cannot have ended for these. */
const stoppers: ReadonlySet<string> = new Set(
  stopReasons.filter((reason) => reason !== 'ok' && reason !== 'no_policy'),
);

function describeAttempt(scene: Scene, backend: string, { attempts, duration }: BackendNumbers): void {
  attempts.each(false, (cause, result, value) =>
    scene.add('hedgerow_attempts_total', { backend, cause, result }, value),
  );
  if (duration.count > 0) scene.add('hedgerow_attempt_duration_seconds', { backend }, duration);
}

function describeBackend(
  scene: Scene,
  backend: string,
  numbers: BackendNumbers,
  { parks }: ProgramNumbers,
  now: number,
): void {
  describeAttempt(scene, backend, numbers);
  numbers.losses.each(false, (outcome, _, value) =>
    scene.add('hedgerow_backend_loss_total', { backend, outcome }, value),
  );
  numbers.parks.each(false, (reason, _, value) =>
    scene.add('hedgerow_backend_parks_total', { backend, reason }, value),
  );
  numbers.releases.each(false, (route, _, value) =>
    scene.add('hedgerow_backend_releases_total', { backend, route }, value),
  );
  const parkedMs = numbers.parkedMs + parks.running(numbers, now);
  if (numbers.parks.total() > 0) scene.add('hedgerow_backend_park_seconds_total', { backend }, parkedMs / 1000);
  numbers.connections.each(false, (event, _, value) =>
    scene.add('hedgerow_backend_connection_events_total', { backend, event }, value),
  );
}

/** What members of a group do is summed up under its name. */
function describePool(scene: Scene, { backends: book }: ProgramNumbers, { backends }: Readings): void {
  const groups = new Map<string, BackendReading[]>();
  for (const reading of backends) {
    const label = book.labelOf(reading.name);
    const group = groups.get(label);
    if (group === undefined) groups.set(label, [reading]);
    else group.push(reading);
  }
  for (const [label, members] of groups) {
    const sum = (of: (member: BackendReading) => number): number => members.reduce((so, member) => so + of(member), 0);
    for (const state of backendStates) {
      const count = sum((member) => (member.state === state ? 1 : 0));
      scene.add('hedgerow_backend_state', { backend: label, state }, count);
    }
    const labels = { backend: label };
    scene.add(
      'hedgerow_backend_in_flight',
      labels,
      sum(({ inFlight }) => inFlight),
    );
    scene.add(
      'hedgerow_backend_queued',
      labels,
      sum(({ queued }) => queued),
    );
    scene.add(
      'hedgerow_backend_connections',
      labels,
      sum(({ connections }) => connections),
    );
  }
}

function describeBuffers(scene: Scene, { replayPerCall, commits }: ProgramNumbers, readings: Readings): void {
  let overflows = 0;
  commits.each(false, (cause, _, value) => {
    if (cause.startsWith('buffer_')) overflows += value;
  });
  scene.add('hedgerow_replay_buffer_bytes', {}, readings.replayHeld);
  scene.add('hedgerow_replay_buffer_peak_bytes', {}, readings.replayPeak);
  scene.add('hedgerow_replay_call_bytes', {}, replayPerCall);
  scene.add('hedgerow_replay_overflow_total', {}, overflows);
  scene.add('hedgerow_relay_buffer_bytes', {}, readings.relayWaiting);
  scene.add('hedgerow_relay_buffer_exceeded_total', {}, readings.relayExceeded);
}

function describeClients(scene: Scene, counted: ProgramNumbers, { clientConnections, sessions, wire }: Readings): void {
  scene.add('hedgerow_client_connections', {}, clientConnections);
  scene.add('hedgerow_client_connects_total', {}, counted.clientConnects);
  counted.refusals.each(true, (reason, _, value) => scene.add('hedgerow_client_refused_total', { reason }, value));
  scene.add('hedgerow_sessions', {}, sessions.size);
  for (const outcome of sessionOutcomes) scene.add('hedgerow_session_total', { outcome }, sessions.outcomes[outcome]);
  for (const side of sides) {
    for (const direction of directions) {
      const { bytes, frames }: DirectionReading = wire[side][direction];
      scene.add('hedgerow_wire_bytes_total', { side, direction }, bytes);
      for (const [type, count] of Object.entries(frames))
        if (count > 0) scene.add('hedgerow_wire_frames_total', { side, direction, type }, count);
    }
  }
}

function describeProcess(
  scene: Scene,
  { resolutions, reloads, droppedLines, loopLag, facts }: ProgramNumbers,
  readings: Readings,
): void {
  resolutions.each(true, (outcome, _, value) => scene.add('hedgerow_resolutions_total', { outcome }, value));
  reloads.each(true, (what, outcome, value) => scene.add('hedgerow_reloads_total', { what, outcome }, value));
  droppedLines.each(true, (kind, _, value) => scene.add('hedgerow_log_lines_dropped_total', { kind }, value));
  scene.add('hedgerow_draining', {}, readings.draining ? 1 : 0);
  scene.add('hedgerow_event_loop_lag_seconds', {}, loopLag);
  scene.add('hedgerow_build_info', { version: facts.version, node: facts.node }, 1);
  scene.add('process_resident_memory_bytes', {}, facts.residentBytes());
  scene.add('process_cpu_seconds_total', {}, facts.cpuSeconds());
  scene.add('process_start_time_seconds', {}, facts.startedAt);
}
