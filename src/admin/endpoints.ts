import type { SessionStats, Sessions } from '../balance/sessions.js';
import { actOn, answerAction } from './action-endpoint.js';
import { type AdminRequest, type AdminState, type Answer, refused } from './admin-state.js';
import { type AdmissionRules, admit, type RequestFacts } from './admission.js';
import { Assets } from './assets.js';
import { backendActions } from './backend-actions.js';
import { connectedBackends, rowsOf } from './backend-rows.js';
import { describeCalls, describeNow, streamEvents } from './live-endpoints.js';
import { describeConfig, describeThrottle, drain, reload } from './program-endpoints.js';

export interface Endpoint {
  /** GET takes HEAD too. */
  readonly method: 'GET' | 'POST';
  readonly answer: (request: AdminRequest) => Answer | Promise<Answer>;
}

/** By path; `*` stands for one segment. */
export type EndpointTable = ReadonlyMap<string, Endpoint>;

/** What answers, beside the dashboard's files. */
export interface Endpoints {
  readonly table: EndpointTable;
  readonly readAsset: AdminState['readAsset'];
}

export function get(answer: Endpoint['answer']): Endpoint {
  return { method: 'GET', answer };
}

export function post(answer: Endpoint['answer']): Endpoint {
  return { method: 'POST', answer };
}

/** What one process answers of itself. */
export function createTable(state: AdminState): EndpointTable {
  return new Map<string, Endpoint>([
    ['/healthz', get(() => ({ status: 200, body: { status: 'alive' } }))],
    ['/readyz', get(() => describeReadiness(state))],
    ['/metrics', get(() => showMetrics(state.metrics))],
    ['/backends', get(() => ({ status: 200, body: { backends: rowsOf(state.pool.backends, state) } }))],
    ...backendActions.map(
      (action) =>
        [
          `/backends/*/${action}`,
          post((request) => answerAction(action, actOn(action, request, state), request.peer, state)),
        ] as const,
    ),
    ['/sessions', get(() => describeSessions(state.sessions.stats(state.now())))],
    ['/sessions/clear', post(({ peer }) => clearSessions(peer, state.sessions, state))],
    ['/config', get(() => describeConfig(state))],
    ['/throttle', get(() => describeThrottle(state))],
    ['/calls', get((request) => describeCalls(request, state))],
    ['/live', get(() => describeNow(state))],
    ['/events', get((request) => streamEvents(request, state))],
    ['/reload', post((request) => reload(request, state))],
    ['/drain', post((request) => drain(request, state))],
  ]);
}

/**
 * The admin endpoints (contract, Admin HTTP; D36), as a function of a request's method, path and safety facts.
 *
 * @returns a function that takes who asks as well, for the log, and the last event that the reader of a stream has seen
 */
export function createEndpoints(
  { table, readAsset }: Endpoints,
  rules: AdmissionRules,
): (facts: RequestFacts, url: string, peer: string, lastEventId?: string) => Answer | Promise<Answer> {
  const assets = new Assets(readAsset);

  return (facts, url, peer, lastEventId) => {
    const refusal = admit(facts, rules);
    if (refusal !== null) {
      const challenge = refusal.status === 401 ? { headers: { 'www-authenticate': 'Bearer' } } : {};
      return { status: refusal.status, body: { error: refusal.message }, ...challenge };
    }
    const [path, query] = splitUrl(url);
    const [, first, segment, last, ...rest] = path.split('/');
    const isAction = first === 'backends' && segment !== undefined && segment !== '' && last !== undefined;
    const pattern = isAction && rest.length === 0 ? `/backends/*/${last}` : path.includes('*') ? '' : path;
    const page = assets.at(path);
    const endpoint = table.get(pattern) ?? (page === null ? undefined : get(page));
    if (endpoint === undefined) return { status: 404, body: { error: nothingAt(path, isAction && rest.length > 0) } };
    const { method } = endpoint;
    if (facts.method !== method && !(facts.method === 'HEAD' && method === 'GET')) {
      const allow = method === 'GET' ? 'GET, HEAD' : method;
      const error = `${path.slice(0, shownPath)} answers ${allow.replace(', ', ' and ')}`;
      return { status: 405, body: { error }, headers: { allow } };
    }
    return endpoint.answer({ segment: segment ?? '', query, peer, lastEventId });
  };
}

/** The text format that every Prometheus reads. */
const prometheusText = 'text/plain; version=0.0.4; charset=utf-8';

export function showMetrics(metrics: AdminState['metrics']): Answer {
  if (metrics === undefined) return { status: 404, body: { error: 'nothing is counted here' } };
  if (metrics.full) {
    const problem = 'as many scrapes are under way as may be; those that take nothing are cut off soon';
    return { ...refused({ status: 503, problem }), headers: { 'retry-after': '5' } };
  }
  return { status: 200, body: '', type: prometheusText, pieces: () => metrics.read() };
}

function describeReadiness(state: AdminState): Answer {
  if (state.draining()) return { status: 503, body: { status: 'draining' } };
  const up = connectedBackends(state);
  return up > 0
    ? { status: 200, body: { status: 'ready', connected_backends: up } }
    : { status: 503, body: { status: 'no backend has a live connection' } };
}

export function describeSessions({ size, calls, outcomes }: SessionStats): Answer {
  return { status: 200, body: { size, calls, outcomes } };
}

export function clearSessions(
  peer: string,
  sessions: Pick<Sessions, 'clear'>,
  { tell }: Pick<AdminState, 'tell'>,
): Answer {
  const cleared = sessions.clear();
  const fields = { event: 'admin', action: 'clear_sessions', sessions: cleared, peer };
  tell('info', fields, `clearing of all sessions (${cleared}) was asked for by ${peer}`);
  return { status: 200, body: { cleared } };
}

/** The most of a path that an answer repeats (characters). */
const shownPath = 100;

function nothingAt(path: string, tooDeep: boolean): string {
  const there = `there is no ${path.slice(0, shownPath)}`;
  if (tooDeep) return `${there}; in the name of a backend / is written as %2F`;
  return `${there}; see /healthz, /readyz, /metrics, /backends, /backends/NAME/{${backendActions.join(',')}}, /sessions, /sessions/clear, /config, /throttle, /calls, /live, /events, /reload, /drain, and / in a browser`;
}

/** Path and query. */
function splitUrl(url: string): readonly [path: string, query: string] {
  const mark = url.indexOf('?');
  return mark === -1 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)];
}
