import type { RecentCall } from '../admin/live.js';
import { briefly } from '../text/words.js';
import { element, place } from './dom.js';
import { type Lane, waterfallOf } from './waterfall.js';

/** A call's attempts as bars on one axis of time. Words stand beside each bar: nothing is told by colour alone. */
export function drawWaterfall(call: RecentCall): HTMLElement {
  const { lanes, ticks } = waterfallOf(call);
  const marks = ticks.map(({ at, ms }) => {
    const mark = element('span', { class: 'tick', text: ms === 0 ? '0' : briefly(ms) });
    mark.style.setProperty('left', `${(at * 100).toFixed(3)}%`);
    if (at > 0.94) mark.classList.add('last');
    return mark;
  });
  const lines = ticks.map(({ at }) => {
    const line = element('span', { class: 'grid-line' });
    line.style.setProperty('left', `${(at * 100).toFixed(3)}%`);
    return line;
  });
  return element('div', {
    class: 'waterfall',
    children: [
      element('div', { class: 'grid-lines', attributes: { 'aria-hidden': 'true' }, children: lines }),
      element('ol', { class: 'lanes', attributes: { 'aria-label': 'Attempts' }, children: lanes.map(drawLane) }),
      element('div', { class: 'axis', attributes: { 'aria-hidden': 'true' }, children: marks }),
    ],
  });
}

function drawLane(lane: Lane): HTMLElement {
  const { number, backend, bar, gap, pushback, cause } = lane;
  const track = element('span', { class: 'track', attributes: { 'aria-hidden': 'true' } });
  if (gap !== null) {
    const wait = element('span', { class: `gap ${gap.kind}`, attributes: { title: `waited ${briefly(gap.ms)}` } });
    place(wait, gap.from, gap.length);
    if (gap.length > 0.12) wait.append(element('span', { class: 'gap-text', text: briefly(gap.ms) }));
    track.append(wait);
  }
  const fill = element('span', { class: `fill ${bar.kind}${cause === 'hedge' ? ' hedged' : ''}` });
  place(fill, bar.from, bar.length);
  track.append(fill);
  if (pushback !== undefined) {
    const words = pushbackWords(pushback);
    const mark = element('span', { class: 'diamond', attributes: { title: words } });
    mark.style.setProperty('left', `${(Math.min(0.985, bar.from + bar.length) * 100).toFixed(3)}%`);
    track.append(mark);
  }
  return element('li', {
    class: 'lane',
    children: [
      element('span', {
        class: 'who',
        children: [element('span', { class: 'nth', text: String(number) }), ` ${backend ?? 'nowhere'}`],
      }),
      track,
      element('span', { class: 'took', text: briefly(lane.ms) }),
      drawOutcome(lane),
    ],
  });
}

function drawOutcome({ cause, pushback, gap, told, bar, outcome }: Lane): HTMLElement {
  const words: (Node | string)[] = [element('b', { text: outcome })];
  if (told) words.push(element('span', { text: ' ◀', attributes: { 'aria-hidden': 'true' } }));
  const seen: string[] = [];
  if (cause === 'hedge') seen.push('hedge');
  if (cause === 'transparent') seen.push('sent again unseen');
  if (pushback !== undefined) seen.push(pushbackWords(pushback));
  if (seen.length > 0) words.push(element('span', { class: 'quiet', text: ` ${seen.join(', ')}` }));
  // What the drawing says to those who see it.
  const spoken: string[] = [];
  if (gap !== null) spoken.push(`after ${briefly(gap.ms)}`);
  if (told) spoken.push('what the client got');
  if (spoken.length > 0) words.push(element('span', { class: 'hidden', text: `, ${spoken.join(', ')}` }));
  return element('span', { class: `outcome ${bar.kind}`, children: words });
}

function pushbackWords(pushback: number | 'never'): string {
  return pushback === 'never' ? 'pushback: not again' : `pushback: in ${briefly(pushback)}`;
}
