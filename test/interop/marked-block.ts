import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const page = path.resolve(import.meta.dirname, '../../docs/interop.md');

/** A part of docs/interop.md that a run writes with INTEROP_WRITE=1, and holds against what it saw without. */
export class MarkedBlock {
  private readonly begin: string;
  private readonly end: string;

  constructor(name: string) {
    this.begin = `<!-- begin: npm run test:interop writes ${name} -->`;
    this.end = `<!-- end of ${name} -->`;
  }

  read(): string {
    const { before, after, text } = this.parts();
    return text.slice(before.length, text.length - after.length).trim();
  }

  write(table: string): void {
    const { before, after } = this.parts();
    writeFileSync(page, `${before}\n\n${table}\n\n${after}`);
  }

  private parts(): { readonly before: string; readonly after: string; readonly text: string } {
    const text = readFileSync(page, 'utf8');
    const begin = text.indexOf(this.begin);
    const end = text.indexOf(this.end);
    if (begin < 0 || end < begin) throw new Error(`docs/interop.md lacks ${this.begin} … ${this.end}`);
    return { before: text.slice(0, begin + this.begin.length), after: text.slice(end), text };
  }
}

/** Whether this run is to write what it saw. */
export const writing = process.env['INTEROP_WRITE'] === '1';
