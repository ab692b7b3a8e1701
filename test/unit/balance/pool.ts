import { createPicker } from '../../../src/balance/picker.js';
import type { Bounds, Candidate, Pick, Picker, PickQuery } from '../../../src/balance/types.js';
import { type BackendId, backendId } from '../../../src/grpc/backend-id.js';
import { allWell } from '../../support/all-well.js';

export type Link = Candidate['link'];

/** A candidate whose link the test changes. `g/1` is a member of the group `g`. */
export class Backend implements Candidate {
  readonly id: BackendId;
  readonly name: string;
  link: Link;
  load = 0;
  weight = 1;
  priority = 0;

  constructor(id: string, link: Link = 'ready') {
    this.id = backendId(id);
    this.name = id.split('/', 1)[0] ?? id;
    this.link = link;
  }
}

/** `a b:connecting g/1:full`: ids with their links, ready where none is said. */
export function pool(text: string): Backend[] {
  return text.split(' ').map((part) => {
    const [id = '', link = 'ready'] = part.split(':');
    return new Backend(id, link as Link);
  });
}

/** One letter a backend. */
export function ids(names: string): BackendId[] {
  return names === '' ? [] : names.split('').map(backendId);
}

/** Round robin over backends that are all well, as it is by default. */
export function roundRobin(): Picker {
  return createPicker({ kind: 'round_robin' }, allWell, { hedgeDistinct: false, pinOnParked: 'fail' }, () => 0);
}

/** The query of an attempt: the first of a call while it avoids nothing, else a retry. */
export function query(
  tried: readonly BackendId[] = [],
  failed: readonly BackendId[] = [],
  bounds: Bounds | null = null,
): PickQuery {
  return { tried, failed, bounds, cause: tried.length === 0 ? 'first' : 'retry', guarded: true, now: 0 };
}

/** Which backend a pick is, or why there is none. */
export function picked(pick: Pick): string {
  return pick.kind === 'use' ? pick.id : pick.kind;
}

/** So many picks in a row, one after the other. */
export function picks(
  picker: Picker,
  candidates: readonly Candidate[],
  count: number,
  tried: readonly BackendId[] = [],
  failed: readonly BackendId[] = [],
  bounds: Bounds | null = null,
): string {
  return Array.from({ length: count }, () => picked(picker.pick(candidates, query(tried, failed, bounds)))).join('');
}

/** How often each letter stands there. */
export function counts(text: string): Record<string, number> {
  const result: Record<string, number> = {};
  for (const letter of text) result[letter] = (result[letter] ?? 0) + 1;
  return result;
}
