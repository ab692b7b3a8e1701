/** What the page is made of; index.html and this code know each other's ids. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element with the id ${id}`);
  return found;
}

/** As `byId`, of one kind. */
export function typed<T extends HTMLElement>(id: string, kind: new () => T): T {
  const found = byId(id);
  if (!(found instanceof kind)) throw new Error(`the element with the id ${id} is no ${kind.name}`);
  return found;
}

export interface Shape {
  readonly class?: string;
  readonly text?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly children?: readonly (Node | string)[];
}

/** A new element. Text is text: nothing that came from outside is read as HTML. */
export function element<K extends keyof HTMLElementTagNameMap>(tag: K, shape: Shape = {}): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (shape.class !== undefined) made.className = shape.class;
  if (shape.text !== undefined) made.textContent = shape.text;
  for (const [name, value] of Object.entries(shape.attributes ?? {})) made.setAttribute(name, value);
  made.append(...(shape.children ?? []));
  return made;
}

/** Touches the page only where the text is another one. */
export function setText(target: HTMLElement, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}

const scrollers = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const wide = target.scrollWidth > target.clientWidth;
    if (wide) target.setAttribute('tabindex', '0');
    else target.removeAttribute('tabindex');
  }
});

/** What is wider than its place is scrolled with the keyboard too; what is not is no stop on the way. */
export function scrollable(target: Element): void {
  scrollers.observe(target);
}

/** Places an element along an axis, by CSSOM: the page's policy permits no style attributes in markup. Shares, 0 to 1. */
export function place(target: HTMLElement, from: number, length: number): void {
  target.style.setProperty('left', `${(from * 100).toFixed(3)}%`);
  target.style.setProperty('width', `${(length * 100).toFixed(3)}%`);
}
