/** A V8 CPU profile as a flame graph. Pure. */
import { xmlText } from './picture.mjs';

/** @typedef {import('./flame.mjs').CpuProfile} CpuProfile @typedef {import('./flame.mjs').Frame} Frame */

const width = 1600;
const height = 17;
const head = 36;
/** A part of all samples below which a frame is not drawn: it would be narrower than a pixel. */
const least = 1 / width;

/** @param {CpuProfile['nodes'][number]['callFrame']} frame */
function nameOf({ functionName, url, lineNumber }) {
  const name = functionName === '' ? '(anonymous)' : functionName;
  // Paths say where the profile was taken and nothing else.
  const file = url.replace(/^.*\/(dist|node_modules)\//, '$1/').replace(/^file:.*\//, '');
  return file === '' ? name : `${name} ${file}:${lineNumber + 1}`;
}

/**
 * The profile without its beginning, in which a program is loaded and compiled.
 * @param {CpuProfile} profile @param {number} skip µs @returns {CpuProfile}
 */
export function withoutStart(profile, skip) {
  let passed = 0;
  const first = profile.timeDeltas.findIndex((delta) => {
    passed += delta;
    return passed > skip;
  });
  const from = first === -1 ? profile.samples.length : first;
  return { ...profile, samples: profile.samples.slice(from), timeDeltas: profile.timeDeltas.slice(from) };
}

/**
 * The samples as a tree, children of one name put together. Time in which the process had nothing to do is left out.
 * @param {CpuProfile} profile @returns {Frame}
 */
export function frameTree({ nodes, samples, timeDeltas }) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  /** @type {Map<number, number>} */
  const self = new Map();
  samples.forEach((id, i) => {
    self.set(id, (self.get(id) ?? 0) + Math.max(0, timeDeltas[i] ?? 0));
  });
  /** @type {Frame} */
  const root = { name: 'all', self: 0, total: 0, children: new Map() };
  const [top] = nodes;
  if (top === undefined) return root;
  /** Node of the profile, frame of the tree. @type {[number, Frame][]} */
  const work = [[top.id, root]];
  for (let next = work.pop(); next !== undefined; next = work.pop()) {
    const [id, frame] = next;
    frame.self += self.get(id) ?? 0;
    for (const childId of byId.get(id)?.children ?? []) {
      const child = byId.get(childId);
      if (child === undefined || child.callFrame.functionName === '(idle)') continue;
      const name = nameOf(child.callFrame);
      const known = frame.children.get(name) ?? { name, self: 0, total: 0, children: new Map() };
      frame.children.set(name, known);
      work.push([childId, known]);
    }
  }
  sum(root);
  return root;
}

/** Fills in the totals, without recursion: stacks of programs may be deep. @param {Frame} root */
function sum(root) {
  /** @type {Frame[]} */
  const order = [root];
  for (let i = 0; i < order.length; i += 1) order.push(...(order[i]?.children.values() ?? []));
  for (const frame of order.reverse()) {
    frame.total = frame.self;
    for (const child of frame.children.values()) frame.total += child.total;
  }
}

/**
 * Where time went by itself, over all stacks, most first.
 * @param {Frame} root @returns {{ name: string, share: number }[]} shares of what is in the tree
 */
export function hottest(root) {
  /** @type {Map<string, number>} */
  const times = new Map();
  const work = [root];
  for (let frame = work.pop(); frame !== undefined; frame = work.pop()) {
    times.set(frame.name, (times.get(frame.name) ?? 0) + frame.self);
    work.push(...frame.children.values());
  }
  return [...times]
    .filter(([, time]) => time > 0)
    .map(([name, time]) => ({ name, share: time / root.total }))
    .sort((a, b) => b.share - a.share);
}

/** Warm colours, one a name, so that a function looks the same wherever it is. @param {string} name */
function colour(name) {
  let hash = 0;
  for (let i = 0; i < name.length; i += 1) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
  return `hsl(${hash % 50} ${60 + ((hash >>> 8) % 30)}% ${58 + ((hash >>> 16) % 12)}%)`;
}

/**
 * One SVG, the deepest frames at the bottom; a pointer on a frame shows its name and share.
 * @param {Frame} root @param {string} title
 */
export function flameGraph(root, title) {
  const drawn = [];
  let deepest = 0;
  /** @type {{ frame: Frame, depth: number, from: number }[]} */
  const work = [{ frame: root, depth: 0, from: 0 }];
  for (let next = work.pop(); next !== undefined; next = work.pop()) {
    const { frame, depth, from } = next;
    const share = root.total === 0 ? 0 : frame.total / root.total;
    if (share < least) continue;
    deepest = Math.max(deepest, depth);
    drawn.push(box(frame.name, share, depth, from));
    let at = from;
    const children = [...frame.children.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const child of children) {
      work.push({ frame: child, depth: depth + 1, from: at });
      at += child.total / root.total;
    }
  }
  const full = head + (deepest + 1) * height + 8;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${full}" width="${width}" height="${full}" role="img">
<title>${xmlText(title)}</title>
<style>
  text { font: 11px ui-monospace, monospace; fill: #1f2328; pointer-events: none; }
  .title { font: 600 15px system-ui, sans-serif; }
  .page { fill: #ffffff; }
  g:hover rect { stroke: #1f2328; }
  @media (prefers-color-scheme: dark) { .page { fill: #0d1117; } .title { fill: #e6edf3; } g:hover rect { stroke: #ffffff; } }
</style>
<rect class="page" width="${width}" height="${full}"/>
<text class="title" x="8" y="22">${xmlText(title)}</text>
${drawn.join('\n')}
</svg>
`;
}

/** @param {string} name @param {number} share @param {number} depth @param {number} from in [0, 1) */
function box(name, share, depth, from) {
  const x = (from * width).toFixed(1);
  const wide = share * width;
  const y = head + depth * height;
  const room = Math.floor((wide - 6) / 6.7);
  const label = room < 3 ? '' : `<text x="${Number(x) + 3}" y="${y + 12}">${xmlText(name.slice(0, room))}</text>`;
  const rect = `<rect x="${x}" y="${y}" width="${Math.max(0.5, wide - 0.5).toFixed(1)}" height="${height - 1}" rx="1" fill="${colour(name)}"/>`;
  return `<g><title>${xmlText(name)}: ${(share * 100).toFixed(1)} %</title>${rect}${label}</g>`;
}
