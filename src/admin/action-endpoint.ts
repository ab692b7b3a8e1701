import { type AdminRequest, type AdminState, type Answer, refused } from './admin-state.js';
import { act, type BackendAction, isProblem, parkLength, selectBackends } from './backend-actions.js';
import { rowsOf } from './backend-rows.js';
import type { BackendRow } from './backend-state.js';

/** What came of an action: those that it was done to, as they are now, or why it was not done. */
export type Acted =
  | {
      readonly ok: true;
      readonly rows: readonly BackendRow[];
      /** The length of a park; null: it has none, or is none. Milliseconds. */
      readonly parkMs: number | null;
    }
  | { readonly ok: false; readonly status: 400 | 404 | 409; readonly problem: string };

/** `POST /backends/NAME/ACTION`, which nobody is told of yet. */
export function actOn(
  action: BackendAction,
  { segment, query }: Pick<AdminRequest, 'segment' | 'query'>,
  state: AdminState,
): Acted {
  const selected = selectBackends(segment, state.pool.backends);
  if (isProblem(selected)) return { ok: false, ...selected };
  if (action !== 'park' && query !== '') return { ok: false, status: 400, problem: `${action} takes no parameters` };
  const length = action === 'park' ? parkLength(query, state.readDuration) : { ms: null };
  if (isProblem(length)) return { ok: false, ...length };
  const problem = act(action, selected, length.ms, state, state.now());
  if (problem !== null) return { ok: false, ...problem };
  return { ok: true, rows: rowsOf(selected, state), parkMs: length.ms };
}

/** Tells the log of what was done, and its asker. */
export function answerAction(
  action: BackendAction,
  acted: Acted,
  peer: string,
  { tell }: Pick<AdminState, 'tell'>,
): Answer {
  if (!acted.ok) return refused(acted);
  const { rows, parkMs } = acted;
  const [only, ...others] = rows;
  const backend = others.length === 0 ? only?.name : only?.group;
  const members = others.length === 0 ? undefined : rows.length;
  const whom = members === undefined ? backend : `${backend}, all ${members} members,`;
  const fields = { event: 'admin', action, backend, members, park_ms: parkMs ?? undefined, peer };
  tell('info', fields, `${action} of ${whom} was asked for by ${peer}`);
  return { status: 200, body: { backends: rows } };
}
