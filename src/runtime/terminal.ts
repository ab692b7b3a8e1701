import type { ReadStream, WriteStream } from 'node:tty';

/** A terminal in use: `cli/top.ts` draws on it. */
export interface Terminal {
  readonly size: () => { readonly columns: number; readonly rows: number };
  draw(lines: readonly string[]): void;
  onInput(listener: (text: string) => void): void;
  onResize(listener: () => void): void;
  /** May be called more than once. */
  leave(): void;
}

const csi = '\u001b[';
/** DEC private modes of xterm, which terminals share: 1049 is the alternate screen, 25 the cursor, 7 breaking at the edge. */
const enter = `${csi}?1049h${csi}?25l${csi}?7l`;
const exit = `${csi}?7h${csi}?25h${csi}?1049l`;

/** Takes the terminal: raw input, the alternate screen. `leave` gives it back, and must be called however the program ends. */
export function takeTerminal(input: ReadStream, output: WriteStream): Terminal {
  let left = false;
  let behind = false;
  input.setRawMode(true);
  input.setEncoding('utf8');
  input.resume();
  output.write(enter);
  output.on('drain', () => {
    behind = false;
  });
  return {
    // A terminal without a size, as on a serial line, is taken for the least common one.
    size: () => ({ columns: output.columns || 80, rows: output.rows || 24 }),
    draw(lines) {
      if (left || behind) return;
      // Each line is cleared after its text, not before: nothing flickers.
      const text = lines.map((line) => `${line}${csi}K`).join('\r\n');
      behind = !output.write(`${csi}H${text}${csi}J`);
    },
    onInput: (listener) => void input.on('data', (text) => listener(String(text))),
    onResize: (listener) => void output.on('resize', listener),
    leave() {
      if (left) return;
      left = true;
      output.write(exit);
      // A terminal that is gone takes no mode any more.
      if (!input.destroyed) input.setRawMode(false);
      input.pause();
    },
  };
}
