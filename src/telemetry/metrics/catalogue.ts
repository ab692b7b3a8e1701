import { attemptCauses, attemptResults, commitCauses, pinOutcomes, retryReasons } from './labels.js';

/** What one metric is: the row of docs/metrics.md, and what /metrics says of it. */
export interface MetricDefinition {
  /** As Prometheus has it: OpenTelemetry's name with its unit, and `_total` on counters. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Empty: a plain number. */
  readonly unit: '' | 'seconds' | 'bytes';
  readonly labels: readonly string[];
  readonly help: string;
  /** Upper bounds of a histogram's buckets, the last one open. */
  readonly buckets?: readonly number[];
}

/** A66, Units: seconds. */
export const latencyBuckets = [
  0, 0.00001, 0.00005, 0.0001, 0.0003, 0.0006, 0.0008, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.013,
  0.016, 0.02, 0.025, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 2, 5, 10,
  20, 50, 100,
] as const;
/** A66, Units: bytes. */
export const sizeBuckets = [
  0, 1024, 2048, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864, 268_435_456,
  1_073_741_824, 4_294_967_296,
] as const;
/** A96: retries and hedges of one call; D23: attempts of one call. */
export const countBuckets = [1, 2, 3, 4, 5] as const;
/** A96. */
export const transparentBuckets = [1, 2, 3, 4, 5, 10] as const;
/** How late the event loop was (s). */
export const lagBuckets = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const;

const grpc = ['grpc_method', 'grpc_target'] as const;
const grpcEnded = [...grpc, 'grpc_status'] as const;

/** Every metric that there is. */
export const catalogue = [
  {
    name: 'grpc_client_attempt_started_total',
    type: 'counter',
    unit: '',
    labels: grpc,
    help: 'Attempts started, those included that have not ended (A66, grpc.client.attempt.started). Those of a method that is not counted by name yet are added when they end.',
  },
  {
    name: 'grpc_client_attempt_duration_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: grpcEnded,
    buckets: latencyBuckets,
    help: 'From the start of an attempt to its end, the search for a backend and the wait for a stream included (A66, grpc.client.attempt.duration).',
  },
  {
    name: 'grpc_client_attempt_sent_total_compressed_message_size_bytes',
    type: 'histogram',
    unit: 'bytes',
    labels: grpcEnded,
    buckets: sizeBuckets,
    help: 'Bytes of request messages sent by an attempt, compressed, without metadata and framing (A66).',
  },
  {
    name: 'grpc_client_attempt_rcvd_total_compressed_message_size_bytes',
    type: 'histogram',
    unit: 'bytes',
    labels: grpcEnded,
    buckets: sizeBuckets,
    help: 'Bytes of response messages received by an attempt, compressed, without metadata and framing (A66).',
  },
  {
    name: 'grpc_client_call_duration_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: grpcEnded,
    buckets: latencyBuckets,
    help: 'From a call’s request headers to its end, all attempts and waits included (A66, grpc.client.call.duration).',
  },
  {
    name: 'grpc_client_call_retries',
    type: 'histogram',
    unit: '',
    labels: grpc,
    buckets: countBuckets,
    help: 'Retries of one call, of calls that had any (A96, grpc.client.call.retries).',
  },
  {
    name: 'grpc_client_call_transparent_retries',
    type: 'histogram',
    unit: '',
    labels: grpc,
    buckets: transparentBuckets,
    help: 'Transparent retries of one call, of calls that had any (A96, grpc.client.call.transparent_retries).',
  },
  {
    name: 'grpc_client_call_hedges',
    type: 'histogram',
    unit: '',
    labels: grpc,
    buckets: countBuckets,
    help: 'Hedges of one call, of calls that had any (A96, grpc.client.call.hedges).',
  },
  {
    name: 'grpc_client_call_retry_delay_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: grpc,
    buckets: latencyBuckets,
    help: 'Time within a call in which no attempt was active, of calls that had any after their first (A96, grpc.client.call.retry_delay).',
  },
  {
    name: 'hedgerow_calls_total',
    type: 'counter',
    unit: '',
    labels: ['method', 'code', 'stop_reason'],
    help: 'Calls that have ended, by what the client was told and why no further attempt was made.',
  },
  {
    name: 'hedgerow_call_duration_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: ['method'],
    buckets: latencyBuckets,
    help: 'From a call’s request headers to its end.',
  },
  { name: 'hedgerow_calls_in_flight', type: 'gauge', unit: '', labels: [], help: 'Calls that have not ended.' },
  {
    name: 'hedgerow_attempts_total',
    type: 'counter',
    unit: '',
    labels: ['backend', 'cause', 'result'],
    help: `Attempts that have ended. cause: ${attemptCauses.join(', ')}. result: ${attemptResults.slice(0, 3).join(', ')}, or the name of a status code. backend is empty where none was reached.`,
  },
  {
    name: 'hedgerow_attempt_duration_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: ['backend'],
    buckets: latencyBuckets,
    help: 'From the start of an attempt to its end, those that were cancelled left out.',
  },
  {
    name: 'hedgerow_attempts_per_call',
    type: 'histogram',
    unit: '',
    labels: [],
    buckets: countBuckets,
    help: 'Attempts of any cause that a call took; calls that were answered without one are not counted.',
  },
  {
    name: 'hedgerow_retries_total',
    type: 'counter',
    unit: '',
    labels: ['reason', 'outcome'],
    help: `Retries, by what made each (${retryReasons.join(', ')}) and how its call ended (success, failed).`,
  },
  {
    name: 'hedgerow_hedges_total',
    type: 'counter',
    unit: '',
    labels: ['trigger', 'won'],
    help: 'Hedges, by what sent each (delay, nonfatal, pushback), and whether its answer was the call’s and OK.',
  },
  {
    name: 'hedgerow_retry_stopped_total',
    type: 'counter',
    unit: '',
    labels: ['stop_reason'],
    help: 'Calls under a retry or hedging policy that failed, by why no further attempt was made.',
  },
  {
    name: 'hedgerow_commits_total',
    type: 'counter',
    unit: '',
    labels: ['cause'],
    help: `Calls that were committed to one attempt (A6, Commit): ${commitCauses.join(', ')}.`,
  },
  {
    name: 'hedgerow_pushbacks_total',
    type: 'counter',
    unit: '',
    labels: ['kind'],
    help: 'grpc-retry-pushback-ms in failed answers: after (a delay), never (negative, or not a number).',
  },
  {
    name: 'hedgerow_throttle_tokens',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Tokens in the bucket of retryThrottling; absent where the config has none.',
  },
  {
    name: 'hedgerow_throttle_max_tokens',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'maxTokens of retryThrottling: at half of it and below nothing is retried.',
  },
  {
    name: 'hedgerow_throttled_total',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Calls in which the bucket held a retry or a hedge back.',
  },
  {
    name: 'hedgerow_pins_total',
    type: 'counter',
    unit: '',
    labels: ['kind', 'mode', 'outcome'],
    help: `Calls bound to a backend, by name or by session. outcome: ${pinOutcomes.join(', ')}.`,
  },
  {
    name: 'hedgerow_session_total',
    type: 'counter',
    unit: '',
    labels: ['outcome'],
    help: 'What became of sessions.',
  },
  { name: 'hedgerow_sessions', type: 'gauge', unit: '', labels: [], help: 'Sessions kept.' },
  {
    name: 'hedgerow_backend_loss_total',
    type: 'counter',
    unit: '',
    labels: ['backend', 'outcome'],
    help: 'Attempts that were lost with their backend’s connection, by what became of each.',
  },
  {
    name: 'hedgerow_backend_parks_total',
    type: 'counter',
    unit: '',
    labels: ['backend', 'reason'],
    help: 'Parks.',
  },
  {
    name: 'hedgerow_backend_releases_total',
    type: 'counter',
    unit: '',
    labels: ['backend', 'route'],
    help: 'Parks that something ended. One that lapses ends with its probe.',
  },
  {
    name: 'hedgerow_backend_park_seconds_total',
    type: 'counter',
    unit: 'seconds',
    labels: ['backend'],
    help: 'Time for which members of the backend were parked.',
  },
  {
    name: 'hedgerow_backend_state',
    type: 'gauge',
    unit: '',
    labels: ['backend', 'state'],
    help: 'Members of the backend that are in the state.',
  },
  {
    name: 'hedgerow_backend_in_flight',
    type: 'gauge',
    unit: '',
    labels: ['backend'],
    help: 'Streams open to the backend.',
  },
  {
    name: 'hedgerow_backend_queued',
    type: 'gauge',
    unit: '',
    labels: ['backend'],
    help: 'Attempts that wait for a stream there.',
  },
  {
    name: 'hedgerow_backend_connections',
    type: 'gauge',
    unit: '',
    labels: ['backend'],
    help: 'Connections to the backend that take streams.',
  },
  {
    name: 'hedgerow_backend_connection_events_total',
    type: 'counter',
    unit: '',
    labels: ['backend', 'event'],
    help: 'What happened to connections: connected, connect_failed, draining (GOAWAY), lost, closed.',
  },
  {
    name: 'hedgerow_replay_buffer_bytes',
    type: 'gauge',
    unit: 'bytes',
    labels: [],
    help: 'Request bytes kept for sending again (--buffer-limit).',
  },
  {
    name: 'hedgerow_replay_buffer_peak_bytes',
    type: 'gauge',
    unit: 'bytes',
    labels: [],
    help: 'The most that there were at a time.',
  },
  {
    name: 'hedgerow_replay_call_bytes',
    type: 'histogram',
    unit: 'bytes',
    labels: [],
    buckets: sizeBuckets,
    help: 'The most that was kept of one call’s request.',
  },
  {
    name: 'hedgerow_replay_overflow_total',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Calls that were committed because a buffer limit was reached.',
  },
  {
    name: 'hedgerow_relay_buffer_bytes',
    type: 'gauge',
    unit: 'bytes',
    labels: [],
    help: 'Bytes that wait for a peer (--relay-buffer-limit).',
  },
  { name: 'hedgerow_client_connections', type: 'gauge', unit: '', labels: [], help: 'Clients connected.' },
  {
    name: 'hedgerow_client_connects_total',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Client connections that began to speak HTTP/2.',
  },
  {
    name: 'hedgerow_client_refused_total',
    type: 'counter',
    unit: '',
    labels: ['reason'],
    help: 'Connections and streams that were turned away, by the limit or the broken rule.',
  },
  {
    name: 'hedgerow_wire_bytes_total',
    type: 'counter',
    unit: 'bytes',
    labels: ['side', 'direction'],
    help: 'Bytes of HTTP/2 with clients and with backends, before TLS.',
  },
  {
    name: 'hedgerow_wire_frames_total',
    type: 'counter',
    unit: '',
    labels: ['side', 'direction', 'type'],
    help: 'HTTP/2 frames with clients and with backends.',
  },
  {
    name: 'hedgerow_resolutions_total',
    type: 'counter',
    unit: '',
    labels: ['outcome'],
    help: 'Look-ups of backends’ names: changed (other members), unchanged, failed.',
  },
  {
    name: 'hedgerow_reloads_total',
    type: 'counter',
    unit: '',
    labels: ['what', 'outcome'],
    help: 'Files that were read again: applied, unchanged, rejected (the last good one stays in force).',
  },
  {
    name: 'hedgerow_draining',
    type: 'gauge',
    unit: '',
    labels: [],
    help: '1 while the proxy finishes what is in flight and takes nothing new.',
  },
  {
    name: 'hedgerow_event_loop_lag_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: [],
    buckets: lagBuckets,
    help: 'How much later than due a timer fired, looked at ten times a second.',
  },
  {
    name: 'hedgerow_build_info',
    type: 'gauge',
    unit: '',
    labels: ['version', 'node'],
    help: 'Always 1.',
  },
  {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    unit: 'bytes',
    labels: [],
    help: 'Resident memory of the process.',
  },
  {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    unit: 'seconds',
    labels: [],
    help: 'CPU time of the process, user and system.',
  },
  {
    name: 'process_start_time_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: [],
    help: 'When the process started, since the epoch.',
  },
] as const satisfies readonly MetricDefinition[];

type Row = (typeof catalogue)[number];
export type MetricName = Row['name'];
/** The labels of one metric, each with its value. */
export type LabelsOf<Name extends MetricName> = Readonly<
  Record<Extract<Row, { name: Name }>['labels'][number], string>
>;
