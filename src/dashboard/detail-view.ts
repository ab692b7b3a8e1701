import type { RecentCall } from '../admin/live.js';
import { shortMethod } from '../text/words.js';
import { drawWhy } from './call-card.js';
import { fieldsOf, jsonOf, toneOf } from './call-words.js';
import { element, scrollable, typed } from './dom.js';
import { drawWaterfall } from './waterfall-view.js';

/** Shows all of one call. The dialog gives the focus back to where it was when it is closed, as the browser does by itself. */
export function openDetail(call: RecentCall): void {
  const dialog = typed('detail', HTMLDialogElement);
  const status = element('p', { class: 'copied quiet', attributes: { role: 'status' } });
  const source = element('pre', {
    class: 'json',
    text: jsonOf(call),
    attributes: { tabindex: '0', 'aria-label': 'The call as JSON' },
  });
  const copy = element('button', { class: 'button', text: 'Copy as JSON', attributes: { type: 'button' } });
  copy.addEventListener(
    'click',
    () => void copyText(jsonOf(call), source).then((words) => status.replaceChildren(words)),
  );
  const close = element('button', { class: 'button', text: 'Close', attributes: { type: 'button', autofocus: '' } });
  close.addEventListener('click', () => dialog.close());
  const title = element('h2', {
    class: 'detail-title',
    attributes: { id: 'detail-title' },
    children: [element('span', { class: `pill ${toneOf(call)}`, text: call.code }), ` ${shortMethod(call.method)}`],
  });
  const fields = fieldsOf(call).flatMap(([name, value]) => [
    element('dt', { text: name }),
    element('dd', { text: value }),
  ]);
  dialog.replaceChildren(
    element('div', { class: 'bar', children: [title, element('div', { class: 'buttons', children: [copy, close] })] }),
    status,
    drawWhy(call),
    drawWaterfall(call),
    element('dl', { class: 'fields', children: fields }),
    element('h3', { text: 'Attempts' }),
    drawAttempts(call),
    element('details', { children: [element('summary', { text: 'JSON' }), source] }),
  );
  dialog.showModal();
}

const columns = ['', 'Backend', 'Cause', 'Start', 'Sent', 'Took', 'Result', 'Status', 'Pushback', 'Message'] as const;

function drawAttempts({ attempts }: RecentCall): HTMLElement {
  const rows = attempts.map((attempt, index) => {
    const { backend, cause, trigger, at, sent, ms, result, told, code, pushback, message } = attempt;
    const cells = [
      backend ?? 'nowhere',
      trigger === undefined ? cause : `${cause} (${trigger})`,
      `${at} ms`,
      sent === undefined ? 'never' : `${sent} ms`,
      `${ms} ms`,
      `${result}${told === true ? ' ◀' : ''}`,
      code,
      pushback === undefined ? '' : pushback === 'never' ? 'never' : `${pushback} ms`,
      message ?? '',
    ];
    const head = element('th', { text: String(index + 1), attributes: { scope: 'row' } });
    return element('tr', { children: [head, ...cells.map((text) => element('td', { text }))] });
  });
  const head = columns.map((text) =>
    element(text === '' ? 'td' : 'th', { text, ...(text === '' ? {} : { attributes: { scope: 'col' } }) }),
  );
  const table = element('table', {
    class: 'grid',
    attributes: { 'aria-label': 'Attempts' },
    children: [
      element('thead', { children: [element('tr', { children: head })] }),
      element('tbody', { children: rows }),
    ],
  });
  const frame = element('div', {
    class: 'scroll',
    children: [table],
  });
  scrollable(frame);
  return frame;
}

/** Resolves to what became of it, in words. */
async function copyText(text: string, source: HTMLElement): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return 'Copied.';
  } catch {
    // No clipboard for pages over plain HTTP from another machine: it is laid out to be copied by hand.
    source.closest('details')?.setAttribute('open', '');
    getSelection()?.selectAllChildren(source);
    return 'Selected below: press Ctrl+C.';
  }
}
