import { type AdminRequest, type AdminState, type Answer, refused } from './admin-state.js';
import { readCallQuery } from './call-query.js';
import { mostStreams } from './event-hub.js';

type WatchState = Pick<AdminState, 'watch'>;

/** `GET /calls`: the calls that ended last, newest first. */
export function describeCalls({ query }: AdminRequest, { watch }: WatchState): Answer {
  const read = readCallQuery(query);
  if (!read.ok) return refused({ status: 400, problem: read.problem });
  const { wants, limit, since } = read.query;
  const calls = [];
  for (const call of watch.ring.since(since)) {
    if (calls.length >= limit) break;
    if (wants(call)) calls.push(call);
  }
  return { status: 200, body: { calls } };
}

/** `GET /live`. */
export function describeNow({ watch }: WatchState): Answer {
  return { status: 200, body: watch.snapshot() };
}

/** `GET /events`: a stream, if there is room for one. */
export function streamEvents({ lastEventId }: AdminRequest, { watch }: WatchState): Answer {
  const { hub } = watch;
  if (hub.full) {
    const problem = `${mostStreams} readers have /events open, and there may be no more; /live and /calls are answered still`;
    return { ...refused({ status: 503, problem }), headers: { 'retry-after': '5' } };
  }
  return {
    status: 200,
    body: '',
    type: 'text/event-stream; charset=utf-8',
    // What nginx in front would otherwise hold back.
    headers: { 'x-accel-buffering': 'no' },
    stream: (sink) => hub.open(sink, lastEventId),
  };
}
