import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { helpFor, remedyFor } from '../../../src/grpc/remedies.js';
import { stopReasons } from '../../../src/grpc/stop-reason.js';

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const page = read('docs/troubleshooting.md');

interface Section {
  readonly title: string;
  readonly text: string;
}

/** The sections of the second level, in order. */
const sections: readonly Section[] = page
  .split(/^## /m)
  .slice(1)
  .map((part) => {
    const [title = '', ...lines] = part.split('\n');
    return { title, text: lines.join('\n').replace(/^# .*$/gm, '') };
  });

/** As GitHub makes it of a heading; the admin listener's page does the same. */
function anchor(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}

/** Without the marks of code, which a remedy's words have not. */
const plain = (text: string): string => text.replaceAll('`', '').replace(/\s+/g, ' ').toLowerCase();

/** Of a section: from `**NAME.**` or `**NAME**` to the next such part. */
function part({ text }: Section, name: RegExp): string {
  const parts = text.split(/^(?=\*\*)/m);
  return parts.find((one) => name.test(one)) ?? '';
}

const names: readonly string[] = stopReasons;
const ofReasons = sections.filter(({ title }) => names.includes(title));

describe('docs/troubleshooting.md', () => {
  it('has a section for each stop reason, under its own name, and none for what is no reason', () => {
    expect(ofReasons.map(({ title }) => title).sort()).toEqual([...stopReasons].sort());
    // What looks like a reason is one.
    const stale = sections.filter(({ title }) => /^[a-z]+(_[a-z]+)*$/.test(title) && !names.includes(title));
    expect(stale.map(({ title }) => title)).toEqual(['too_many_pings']);
  });

  it.each(stopReasons.map((reason) => [reason]))(
    '%s: causes, a remedy, and the remedy of the log and the demo',
    (reason) => {
      const section = sections.find(({ title }) => title === reason);
      if (section === undefined) throw new Error('no section');
      const cause = part(section, /^\*\*Causes?\b/);
      const remedy = part(section, /^\*\*Remedy\b/);
      expect(cause.length).toBeGreaterThan(30);
      expect(remedy.length).toBeGreaterThan(30);
      const words = remedyFor(reason);
      if (words !== null) expect(plain(remedy)).toContain(plain(words));
    },
  );

  it('every other symptom has causes and a remedy too', () => {
    for (const section of sections) {
      if (names.includes(section.title)) continue;
      expect(part(section, /^\*\*Causes?\b/), section.title).not.toBe('');
      expect(part(section, /^\*\*Remedy\b/), section.title).not.toBe('');
    }
  });

  it('every link to an anchor, from this page and others, leads to a heading', () => {
    const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => anchor(title));
    const here = [...page.matchAll(/\]\(#([^)]*)\)/g)].map(([, to]) => to);
    const others = ['README.md', 'docs/command-line.md', 'docs/observability.md'].flatMap((path) =>
      [...read(path).matchAll(/troubleshooting\.md#([^)\s`"]*)/g)].map(([, to]) => to),
    );
    expect(here.length).toBeGreaterThan(stopReasons.length);
    for (const to of [...here, ...others]) expect(headings).toContain(to);
    expect(new Set(headings).size).toBe(headings.length);
  });

  it('the table of what the client has names each reason that it can have', () => {
    const table = page.slice(0, page.indexOf('## ok'));
    for (const reason of stopReasons) {
      if (reason === 'ok' || reason === 'client_cancelled') continue;
      expect(table).toContain(`[\`${reason}\`](#${reason})`);
    }
  });

  it('flags, metrics and endpoints that it names are there', () => {
    const flags = new Set(read('docs/command-line.md').match(/--[a-z][a-z-]+/g));
    for (const flag of page.match(/--[a-z][a-z-]+[a-z]/g) ?? []) expect(flags).toContain(flag);
    const metrics = new Set(read('docs/metrics.md').match(/hedgerow_[a-z_]+/g));
    for (const metric of page.match(/\bhedgerow_[a-z_]+/g) ?? []) expect(metrics).toContain(metric);
    const endpoints = read('docs/admin.md');
    for (const [, path = ''] of page.matchAll(/`(?:GET|POST) (\/[a-z]+)/g)) expect(endpoints).toContain(path);
  });
});

it('the help of a reason is its place on that page', () => {
  expect(helpFor('throttled')).toBe('docs/troubleshooting.md#throttled');
});
