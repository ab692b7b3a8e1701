import { countBuckets, latencyBuckets, type MetricDefinition, sizeBuckets, transparentBuckets } from './definition.js';

const grpc = ['grpc_method', 'grpc_target'] as const;
const grpcEnded = [...grpc, 'grpc_status'] as const;

/** The metrics that gRPC clients have (A66, A96). */
export const grpcCatalogue = [
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
] as const satisfies readonly MetricDefinition[];
