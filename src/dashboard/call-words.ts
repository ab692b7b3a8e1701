import type { RecentCall } from '../admin/live.js';
import { briefly } from '../text/words.js';
import { count } from './count.js';

/* A notable call in words. Pure. */

/** How it went: `2 retries`, `hedged twice, attempt 3 answered`. */
export function storyOf({ attempts, retries, hedges, transparent }: RecentCall): string {
  const parts: string[] = [];
  const others = retries - hedges;
  if (others > 0) parts.push(others === 1 ? '1 retry' : `${others} retries`);
  if (hedges > 0) {
    const winner = attempts.findIndex(({ told, result }) => told === true && result === 'ok');
    const who = winner === -1 ? '' : attempts[winner]?.cause === 'hedge' ? ', a hedge won' : ', the first won';
    parts.push(`${count(hedges, 'hedge')}${who}`);
  }
  if (transparent > 0) parts.push(`${transparent} sent again unseen`);
  return parts.length === 0 ? count(attempts.length, 'attempt') : parts.join(', ');
}

/** What a card's colour says. */
export function toneOf({ code, reason }: RecentCall): 'good' | 'warn' | 'bad' {
  if (code === 'OK') return 'good';
  return reason === 'client_cancelled' ? 'warn' : 'bad';
}

/** `12:03:44.120`, of the browser's time zone. */
export function clockTime(started: number): string {
  const date = new Date(started);
  const two = (value: number): string => String(value).padStart(2, '0');
  const milliseconds = String(date.getMilliseconds()).padStart(3, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${milliseconds}`;
}

/** A row of the detail's list. */
export type Field = readonly [name: string, value: string];

/** All that is known of the call beside its attempts. */
export function fieldsOf(call: RecentCall): readonly Field[] {
  const fields: (Field | null)[] = [
    ['call id', call.call],
    ['method', call.method],
    ['started', new Date(call.started).toISOString()],
    ['took', briefly(call.ms)],
    ['deadline', call.deadline_ms === undefined ? 'none' : `${briefly(call.deadline_ms)} after its start`],
    ['status', call.code],
    call.message === undefined ? null : ['message', call.message],
    ['reason', call.reason],
    call.origin === undefined ? null : ['told by', call.origin],
    call.processed === undefined ? null : ['processed', call.processed],
    call.pin === undefined ? null : ['pin', `${call.pin} (${call.pin_mode === 'strict' ? 'strict' : 'first attempt'})`],
    ['retries', String(call.retries)],
    ['hedges', String(call.hedges)],
    ['sent again unseen', String(call.transparent)],
    ['committed by', call.commit ?? 'nothing'],
    ['request bytes kept', String(call.replay_peak)],
  ];
  return fields.filter((field) => field !== null);
}

/** A call as text that can be pasted anywhere. */
export function jsonOf(call: RecentCall): string {
  return JSON.stringify(call, null, 2);
}
