/** A character, or the name of a key. */
export type Key = string;

/** What terminals send, in the normal mode of their cursor keys and in the application mode. */
const sequences: ReadonlyMap<string, Key> = new Map([
  ['\u001b[A', 'up'],
  ['\u001bOA', 'up'],
  ['\u001b[B', 'down'],
  ['\u001bOB', 'down'],
  ['\u001b[5~', 'pageup'],
  ['\u001b[6~', 'pagedown'],
  ['\u001b[H', 'home'],
  ['\u001bOH', 'home'],
  ['\u001b[1~', 'home'],
  ['\u001b[F', 'end'],
  ['\u001bOF', 'end'],
  ['\u001b[4~', 'end'],
]);

const controls: ReadonlyMap<string, Key> = new Map([
  ['\u0003', 'interrupt'],
  ['\u0004', 'interrupt'],
  ['\r', 'enter'],
  ['\n', 'enter'],
  ['\u007f', 'backspace'],
  ['\b', 'backspace'],
  ['\u001b', 'escape'],
]);

/** The keys in a piece of a raw terminal's input. A sequence that is not known is no key, nor is a control character. */
export function readKeys(text: string): Key[] {
  const keys: Key[] = [];
  // CSI and SS3 sequences (ECMA-48 5.4), then single characters.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal's input is made of them
  for (const [piece] of text.matchAll(/\u001b(?:\[[0-?]*[ -/]*[@-~]|O[@-~])|./gsu)) {
    const key = sequences.get(piece) ?? controls.get(piece);
    if (key !== undefined) keys.push(key);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: likewise
    else if (/^[^\u0000-\u001f\u007f-\u009f]$/u.test(piece)) keys.push(piece);
  }
  return keys;
}
