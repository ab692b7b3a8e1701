import { element, setText } from './dom.js';

export interface Cell {
  readonly text: string;
  readonly class?: string;
  /** For whoever points at it. */
  readonly title?: string;
}

/** Rows of a table, changed in place: a selection of text outlives each second's news. The first cell is the row's head. */
export function showRows(body: HTMLElement, rows: readonly (readonly Cell[])[]): void {
  for (const [index, cells] of rows.entries()) {
    const row = body.children[index] ?? body.appendChild(rowOf(cells));
    for (const [column, { text, class: name = '', title = '' }] of cells.entries()) {
      const cell = row.children[column];
      if (!(cell instanceof HTMLElement)) continue;
      setText(cell, text);
      if (cell.className !== name) cell.className = name;
      if (cell.title !== title) cell.title = title;
    }
  }
  while (body.children.length > rows.length) body.lastElementChild?.remove();
}

function rowOf(cells: readonly Cell[]): HTMLTableRowElement {
  const [, ...others] = cells;
  const head = element('th', { attributes: { scope: 'row' } });
  return element('tr', { children: [head, ...others.map(() => element('td'))] });
}
