import { type Acted, answerAction } from '../admin/action-endpoint.js';
import { type AdminRequest, type AdminState, type Answer, refused } from '../admin/admin-state.js';
import { type BackendAction, backendActions } from '../admin/backend-actions.js';
import { clearSessions, describeSessions, type EndpointTable, get, post, showMetrics } from '../admin/endpoints.js';
import { describeCalls, streamEvents } from '../admin/live-endpoints.js';
import { describeConfig, drain, reload } from '../admin/program-endpoints.js';
import type { SessionStats } from '../balance/sessions.js';
import { askAll, type Told, type WorkerGroup } from './admin-group.js';
import type { GroupMetrics } from './admin-metrics.js';
import type { GroupWatch } from './admin-watch.js';

/** What the primary itself has for its admin endpoints. */
export interface GroupOwn extends Pick<AdminState, 'draining' | 'program' | 'tell'> {
  /** All sessions of the program. */
  readonly sessions: {
    /** @param workers what those that answer count of theirs */
    stats(workers: readonly SessionStats[]): SessionStats;
    /** Drops all, in the workers too. Returns how many there were. */
    clear(): number;
  };
}

interface Parts {
  readonly group: WorkerGroup;
  readonly own: GroupOwn;
  readonly watch: GroupWatch;
}

/** What a primary answers for all its workers: as one process would, with what is theirs merged. */
export function createGroupTable(
  group: WorkerGroup,
  own: GroupOwn,
  watch: GroupWatch,
  metrics: Pick<GroupMetrics, 'text'>,
): EndpointTable {
  const parts = { group, own, watch };
  return new Map([
    ['/healthz', get(() => describeHealth(group))],
    ['/readyz', get(() => describeReadiness(parts))],
    ['/metrics', get(() => showMetrics(metrics.text))],
    ['/backends', get(() => describeBackends(parts))],
    ...backendActions.map(
      (action) => [`/backends/*/${action}`, post((request) => actOnAll(action, request, parts))] as const,
    ),
    ['/sessions', get(() => describeAllSessions(parts))],
    ['/sessions/clear', post(({ peer }) => clearSessions(peer, own.sessions, own))],
    ['/config', get(() => describeConfig(own))],
    ['/throttle', get(() => describeThrottles(parts))],
    ['/calls', get((request) => describeAllCalls(request, parts))],
    ['/live', get(() => describeAll(parts))],
    ['/events', get((request) => streamAll(request, parts))],
    ['/reload', post((request) => reload(request, own))],
    ['/drain', post((request) => drain(request, own))],
  ]);
}

const nobody = 'no worker answers; the log tells of those that ended, and that others take their places';

const unanswered: Answer = { ...refused({ status: 503, problem: nobody }), headers: { 'retry-after': '1' } };

function describeHealth({ wanted, ready }: WorkerGroup): Answer {
  return { status: 200, body: { status: 'alive', workers: { wanted, running: ready.length } } };
}

async function describeReadiness({ group, own }: Parts): Promise<Answer> {
  if (own.draining()) return { status: 503, body: { status: 'draining' } };
  const told = await askAll(group, { kind: 'ready' });
  if (told.length === 0) return { status: 503, body: { status: nobody } };
  const up = new Set(told.flatMap(({ answer }) => answer.connected)).size;
  return up > 0
    ? { status: 200, body: { status: 'ready', connected_backends: up } }
    : { status: 503, body: { status: 'no backend has a live connection' } };
}

async function describeBackends({ watch }: Parts): Promise<Answer> {
  const told = await watch.lookHow();
  return told === null ? unanswered : { status: 200, body: { backends: told.snapshot.backends } };
}

async function actOnAll(action: BackendAction, request: AdminRequest, { group, own, watch }: Parts): Promise<Answer> {
  const { segment, query, peer } = request;
  const told = await askAll(group, { kind: 'act', action, segment, query });
  const [first] = told;
  if (first === undefined) return unanswered;
  return answerAction(action, mergeActed(first.answer.acted, told, watch), peer, own);
}

/** Done where all have done it; else what the worker says that is furthest from it. */
function mergeActed(
  first: Acted,
  told: readonly Told<{ readonly acted: Acted }>[],
  watch: Pick<GroupWatch, 'mergeRows'>,
): Acted {
  let worst = first;
  const done = [];
  for (const { worker, answer } of told) {
    const { acted } = answer;
    if (acted.ok) done.push({ worker, answer: acted.rows });
    else if (worst.ok || acted.status > worst.status) worst = acted;
  }
  return worst.ok ? { ...worst, rows: watch.mergeRows(done) } : worst;
}

async function describeAllSessions({ group, own }: Parts): Promise<Answer> {
  const told = await askAll(group, { kind: 'sessions' });
  return describeSessions(own.sessions.stats(told.map(({ answer }) => answer.stats)));
}

async function describeThrottles({ watch }: Parts): Promise<Answer> {
  const told = await watch.lookHow();
  return told === null ? unanswered : { status: 200, body: told.throttle };
}

async function describeAllCalls(request: AdminRequest, { watch }: Parts): Promise<Answer> {
  return (await watch.lookForCalls()) ? describeCalls(request, { watch }) : unanswered;
}

async function describeAll({ watch }: Parts): Promise<Answer> {
  const told = await watch.lookHow();
  return told === null ? unanswered : { status: 200, body: told.snapshot };
}

async function streamAll(request: AdminRequest, { watch }: Parts): Promise<Answer> {
  if (watch.hub.full) return streamEvents(request, { watch });
  const [told] = await Promise.all([watch.lookHow(), watch.lookForCalls()]);
  // Streams may have come meanwhile: whether there is room is asked again.
  return told === null ? unanswered : streamEvents(request, { watch });
}
