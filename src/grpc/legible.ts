/** The longest text from outside that a line repeats (characters). */
const longest = 300;

/**
 * Text that came from a peer, fit for a terminal and a log: cut, and without controls (C0, C1), format characters and line
 * separators, which pino-pretty would pass on to the terminal.
 */
export function legible(text: string): string {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => {
    const code = char.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}
