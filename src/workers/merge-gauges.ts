/** How the values that several processes tell of one gauge come to one value. */
export type GaugeMerge = 'sum' | 'max' | 'min';

/**
 * Every gauge of the catalogue, and what an operator takes it for. What each process has for itself is added up; peaks too,
 * although they were not at one time: each is of a worker's share of the limit. What the program has once is not added up: the
 * primary's sessions are all there are, the workers have copies of some.
 */
export const gaugeMerges: Readonly<Partial<Record<string, GaugeMerge>>> = {
  hedgerow_calls_in_flight: 'sum',
  hedgerow_throttle_tokens: 'sum',
  hedgerow_throttle_max_tokens: 'sum',
  hedgerow_sessions: 'max',
  // Members of a backend by state: the members are the same ones in all workers. Where these disagree a member is counted in
  // each state that it has in one of them, so that an alert on any parked or down one is raised by a single worker.
  hedgerow_backend_state: 'max',
  hedgerow_backend_in_flight: 'sum',
  hedgerow_backend_queued: 'sum',
  hedgerow_backend_connections: 'sum',
  hedgerow_replay_buffer_bytes: 'sum',
  hedgerow_replay_buffer_peak_bytes: 'sum',
  hedgerow_relay_buffer_bytes: 'sum',
  hedgerow_client_connections: 'sum',
  hedgerow_draining: 'max',
  hedgerow_build_info: 'max',
  process_resident_memory_bytes: 'sum',
  // The program's: it has not started anew when one worker was replaced, and no counter begins at 0 then.
  process_start_time_seconds: 'min',
};
