import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { groups } from './cases.js';
import { differencesPage } from './document.js';

const page = new URL('../../docs/differences.md', import.meta.url);

describe('docs/differences.md', () => {
  it('is what the data and the kept results say: npm run differences writes it', () => {
    const wanted = differencesPage();
    if (process.env['DIFFERENCES_WRITE'] === '1') writeFileSync(page, wanted);
    expect(readFileSync(page, 'utf8')).toBe(wanted);
  });

  it('has a section for every group of cases', () => {
    const sections = differencesPage().match(/^\d+ cases; /gm) ?? [];
    expect(sections).toHaveLength(groups.length);
  });
});
