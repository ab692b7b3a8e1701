import { type AdminRequest, type AdminState, type Answer, refused } from './admin-state.js';
import { type AdmissionRules, admit, type RequestFacts } from './admission.js';
import { Assets } from './assets.js';
import { act, type BackendAction, backendActions, isProblem, parkLength, selectBackends } from './backend-actions.js';
import { connectedBackends, rowsOf } from './backend-rows.js';
import { describeCalls, describeNow, streamEvents } from './live-endpoints.js';
import { describeConfig, describeThrottle, drain, reload } from './program-endpoints.js';

interface Endpoint {
  /** GET takes HEAD too. */
  readonly method: 'GET' | 'POST';
  readonly answer: (request: AdminRequest) => Answer | Promise<Answer>;
}

/**
 * The admin endpoints (contract, Admin HTTP; D36), as a function of a request's method, path and safety facts.
 *
 * @returns a function that takes who asks as well, for the log, and the last event that the reader of a stream has seen
 */
export function createEndpoints(
  state: AdminState,
  rules: AdmissionRules,
): (facts: RequestFacts, url: string, peer: string, lastEventId?: string) => Answer | Promise<Answer> {
  const get = (answer: Endpoint['answer']): Endpoint => ({ method: 'GET', answer });
  const post = (answer: Endpoint['answer']): Endpoint => ({ method: 'POST', answer });
  const assets = new Assets(state.readAsset);
  /** By path; `*` stands for one segment. */
  const endpoints: ReadonlyMap<string, Endpoint> = new Map<string, Endpoint>([
    ['/healthz', get(() => ({ status: 200, body: { status: 'alive' } }))],
    ['/readyz', get(() => describeReadiness(state))],
    ['/metrics', get(() => showMetrics(state))],
    ['/backends', get(() => ({ status: 200, body: { backends: rowsOf(state.pool.backends, state) } }))],
    ...backendActions.map(
      (action) => [`/backends/*/${action}`, post((request) => actOn(action, request, state))] as const,
    ),
    ['/sessions', get(() => describeSessions(state))],
    ['/sessions/clear', post(({ peer }) => clearSessions(peer, state))],
    ['/config', get(() => describeConfig(state))],
    ['/throttle', get(() => describeThrottle(state))],
    ['/calls', get((request) => describeCalls(request, state))],
    ['/live', get(() => describeNow(state))],
    ['/events', get((request) => streamEvents(request, state))],
    ['/reload', post((request) => reload(request, state))],
    ['/drain', post((request) => drain(request, state))],
  ]);

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
    const endpoint = endpoints.get(pattern) ?? (page === null ? undefined : get(page));
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

function showMetrics({ metrics }: AdminState): Answer {
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

function actOn(action: BackendAction, { segment, query, peer }: AdminRequest, state: AdminState): Answer {
  const selected = selectBackends(segment, state.pool.backends);
  if (isProblem(selected)) return refused(selected);
  if (action !== 'park' && query !== '') return refused({ status: 400, problem: `${action} takes no parameters` });
  const length = action === 'park' ? parkLength(query, state.readDuration) : { ms: null };
  if (isProblem(length)) return refused(length);
  const problem = act(action, selected, length.ms, state, state.now());
  if (problem !== null) return refused(problem);
  const [only, ...others] = selected;
  const backend = others.length === 0 ? only?.id : only?.name;
  const members = others.length === 0 ? undefined : selected.length;
  const whom = members === undefined ? backend : `${backend}, all ${members} members,`;
  const fields = { event: 'admin', action, backend, members, park_ms: length.ms ?? undefined, peer };
  state.tell('info', fields, `${action} of ${whom} was asked for by ${peer}`);
  return { status: 200, body: { backends: rowsOf(selected, state) } };
}

function describeSessions({ sessions, now }: AdminState): Answer {
  const { size, calls, outcomes } = sessions.stats(now());
  return { status: 200, body: { size, calls, outcomes } };
}

function clearSessions(peer: string, { sessions, tell }: AdminState): Answer {
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
