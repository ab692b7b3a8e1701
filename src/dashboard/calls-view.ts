import type { RecentCall } from '../admin/live.js';
import { shortMethod } from '../text/words.js';
import { drawCard } from './call-card.js';
import { count } from './count.js';
import { byId, element, setText, typed } from './dom.js';
import { choicesOf, type Filter, filterOf, hashOf, isPlain, matches, newest, noFilter } from './filter.js';

/** Drawn at a time. */
const mostShown = 30;

export interface CallsView {
  /** Newest first. Those that are there already are passed over. */
  add(calls: readonly RecentCall[]): void;
  /** Another run of the proxy: its calls count anew. */
  clear(): void;
  readonly kept: readonly RecentCall[];
}

/** The list of notable calls with its filter. */
export function createCallsView(onOpen: (call: RecentCall) => void): CallsView {
  const list = byId('calls');
  const pause = byId('pause');
  const method = typed('filter-method', HTMLSelectElement);
  const backend = typed('filter-backend', HTMLSelectElement);
  const reason = typed('filter-reason', HTMLSelectElement);
  const text = typed('filter-text', HTMLInputElement);
  const plain = typed('filter-plain', HTMLInputElement);
  let kept: readonly RecentCall[] = [];
  /** What is shown of: stands still while the list is paused. */
  let frozen: readonly RecentCall[] | null = null;
  let filter: Filter = filterOf(location.hash);
  const cards = new Map<RecentCall, HTMLLIElement>();

  function show(): void {
    const source = (frozen ?? kept).filter((call) => filter.plain || !isPlain(call));
    const found = source.filter((call) => matches(call, filter));
    const wanted = found.slice(0, mostShown);
    const set = new Set(wanted);
    for (const [call, card] of cards) {
      if (set.has(call)) continue;
      card.remove();
      cards.delete(call);
    }
    for (const [index, call] of wanted.entries()) {
      let card = cards.get(call);
      if (card === undefined) {
        card = drawCard(call, () => onOpen(call));
        cards.set(call, card);
      }
      // Moved only where it stands elsewhere: a card that has the focus keeps it.
      if (list.children[index] !== card) list.insertBefore(card, list.children[index] ?? null);
    }
    const hidden = found.length - wanted.length;
    const before = new Set(frozen ?? kept);
    const waiting = kept.filter((call) => !before.has(call) && matches(call, filter)).length;
    const parts = [`${count(found.length, 'call')}${found.length === source.length ? '' : ` of ${source.length}`}`];
    if (hidden > 0) parts.push(`the latest ${mostShown} are drawn`);
    if (frozen !== null) parts.push(`paused, ${waiting} new`);
    setText(byId('shown'), parts.join(' · '));
    byId('no-calls').hidden = wanted.length > 0;
    const none =
      source.length === 0
        ? 'No notable calls yet: calls that were retried or hedged, or that failed, are shown here.'
        : 'No call fits the filter.';
    setText(byId('no-calls'), none);
  }

  function offer(): void {
    const { methods, backends, reasons } = choicesOf(kept, filter);
    fill(method, methods, filter.method, shortMethod);
    fill(backend, backends, filter.backend, (name) => name);
    fill(reason, reasons, filter.reason, (name) => name);
    if (text.value !== filter.text) text.value = filter.text;
    plain.checked = filter.plain;
  }

  function choose(next: Filter): void {
    filter = next;
    history.replaceState(null, '', `${location.pathname}${location.search}${hashOf(filter)}`);
    offer();
    show();
  }

  function read(): void {
    choose({
      method: method.value,
      backend: backend.value,
      reason: reason.value,
      text: text.value,
      plain: plain.checked,
    });
  }

  for (const field of [method, backend, reason, plain]) field.addEventListener('change', read);
  text.addEventListener('input', read);
  byId('filter').addEventListener('submit', (event) => event.preventDefault());
  byId('filter').addEventListener('reset', (event) => {
    event.preventDefault();
    choose(noFilter);
  });
  window.addEventListener('hashchange', () => choose(filterOf(location.hash)));
  pause.addEventListener('click', () => {
    frozen = frozen === null ? kept : null;
    pause.setAttribute('aria-pressed', String(frozen !== null));
    setText(pause, frozen === null ? 'Pause' : 'Go on');
    show();
  });
  offer();

  return {
    add(calls) {
      const known = new Set(kept.map(({ seq }) => seq));
      kept = newest([...calls.filter(({ seq }) => !known.has(seq)), ...kept]);
      offer();
      show();
    },
    clear() {
      kept = [];
      offer();
      show();
    },
    get kept() {
      return kept;
    },
  };
}

/** Options of a select, touched only when they are other ones. */
function fill(
  select: HTMLSelectElement,
  values: readonly string[],
  chosen: string,
  words: (value: string) => string,
): void {
  const wanted = ['', ...values];
  const have = [...select.options].map(({ value }) => value);
  if (have.join('\n') !== wanted.join('\n')) {
    const options = wanted.map((value) =>
      element('option', { text: value === '' ? 'all' : words(value), attributes: { value } }),
    );
    select.replaceChildren(...options);
  }
  if (select.value !== chosen) select.value = chosen;
}
