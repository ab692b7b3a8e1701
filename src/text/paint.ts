/** What a piece of text means; how it looks is the terminal's affair. */
export type Tone = 'good' | 'warn' | 'bad' | 'quiet' | 'strong' | 'chosen';

const codes: Readonly<Record<Tone, string>> = {
  good: '32',
  warn: '33',
  bad: '31',
  quiet: '2',
  strong: '1',
  chosen: '7',
};

export type Paint = (tone: Tone, text: string) => string;

/** Without colour a piece of text is itself. */
export function createPaint(color: boolean): Paint {
  return color ? (tone, text) => (text === '' ? '' : `\u001b[${codes[tone]}m${text}\u001b[0m`) : (_tone, text) => text;
}

/** 1.9 ms, 57.0 ms, 1204 ms */
export function duration(ms: number): string {
  return `${ms < 999.95 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

/** `text` in at most `width` characters, an ellipsis for the rest. */
export function clip(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** 1 call, 2 calls; 1 retry, 2 retries */
export function count(number: number, noun: string): string {
  if (number === 1) return `1 ${noun}`;
  return `${number} ${noun.endsWith('y') ? `${noun.slice(0, -1)}ie` : noun}s`;
}

/** `text` in lines of at most `width` characters, broken between words; a longer word stands alone, and is clipped. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(clip(word, width));
  }
  return lines;
}
