import type { RecentCall } from '../admin/live.js';
import { briefly, shortMethod } from '../text/words.js';
import { clockTime, storyOf, toneOf } from './call-words.js';
import { element } from './dom.js';
import { drawWaterfall } from './waterfall-view.js';

/** One call of the list. The head is the button that opens the details. */
export function drawCard(call: RecentCall, onOpen: () => void): HTMLLIElement {
  const method = shortMethod(call.method);
  const head = element('button', {
    class: 'card-head',
    attributes: { type: 'button', 'aria-haspopup': 'dialog' },
    // Spaces between: all of it together is the button's name.
    children: [
      element('span', { class: `pill ${toneOf(call)}`, text: call.code }),
      ' ',
      element('span', { class: 'method', text: method, attributes: { title: call.method } }),
      ' ',
      element('span', { class: 'total', text: briefly(call.ms) }),
      ' ',
      element('span', { class: 'story quiet', text: storyOf(call) }),
      ' ',
      element('span', { class: 'time quiet', text: clockTime(call.started) }),
    ],
  });
  head.addEventListener('click', onOpen);
  return element('li', {
    class: `call ${toneOf(call)}`,
    attributes: { 'data-reason': call.reason, 'data-call': call.call },
    // A call that was answered has nothing to explain.
    children: [head, drawWaterfall(call), ...(call.reason === 'ok' ? [] : [drawWhy(call)])],
  });
}

/** Why it ended so, and what helps. */
export function drawWhy({ reason, why, remedy, help }: RecentCall): HTMLElement {
  if (remedy === null) return element('p', { class: 'why quiet', text: why });
  // An absolute path would leave the path under which a reverse proxy serves us.
  const link = element('a', { text: remedy, attributes: { href: help.replace(/^\//, '') } });
  return element('p', {
    class: 'why',
    children: [
      element('code', { text: reason }),
      ` ${why}. `,
      element('span', { class: 'remedy', children: ['→ ', link] }),
    ],
  });
}
