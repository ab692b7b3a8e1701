import type { UpstreamBackend } from '../upstream/types.js';
import { type AdmissionRules, admit, type RequestFacts } from './admission.js';
import { describeBackend, isUp } from './backend-state.js';

/** What the admin endpoints tell, read when asked. */
export interface AdminState {
  readonly draining: () => boolean;
  readonly backends: () => readonly UpstreamBackend[];
  /** Clock milliseconds. */
  readonly now: () => number;
}

/** An answer in JSON. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The admin endpoints (contract, Admin HTTP), as a function of a request's method, path and safety facts. */
export function createEndpoints(
  state: AdminState,
  rules: AdmissionRules,
): (facts: RequestFacts, url: string) => Answer {
  const endpoints: ReadonlyMap<string, () => Answer> = new Map<string, () => Answer>([
    ['/healthz', () => ({ status: 200, body: { status: 'alive' } })],
    ['/readyz', () => describeReadiness(state)],
    [
      '/backends',
      () => {
        const now = state.now();
        return { status: 200, body: { backends: state.backends().map((backend) => describeBackend(backend, now)) } };
      },
    ],
  ]);

  return (facts, url) => {
    const refusal = admit(facts, rules);
    if (refusal !== null) {
      const challenge = refusal.status === 401 ? { headers: { 'www-authenticate': 'Bearer' } } : {};
      return { status: refusal.status, body: { error: refusal.message }, ...challenge };
    }
    const path = pathOf(url);
    const endpoint = endpoints.get(path);
    if (endpoint === undefined) {
      return {
        status: 404,
        body: { error: `there is no ${path.slice(0, shownPath)}; see ${[...endpoints.keys()].join(', ')}` },
      };
    }
    if (facts.method !== 'GET' && facts.method !== 'HEAD') {
      return { status: 405, body: { error: `${path} answers GET and HEAD` }, headers: { allow: 'GET, HEAD' } };
    }
    return endpoint();
  };
}

function describeReadiness(state: AdminState): Answer {
  if (state.draining()) return { status: 503, body: { status: 'draining' } };
  const up = state.backends().filter(isUp).length;
  return up > 0
    ? { status: 200, body: { status: 'ready', connected_backends: up } }
    : { status: 503, body: { status: 'no backend has a live connection' } };
}

/** The most of a path that an answer repeats (characters). */
const shownPath = 100;

/** Without the query. */
function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}
