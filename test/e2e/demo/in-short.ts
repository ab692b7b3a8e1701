/** One call of the demo's output, taken apart. */
export interface ShownBlock {
  readonly method: string;
  readonly status: string;
  /** How each attempt ended, in the drawing's words, the client's one with its mark: `OK (hedge) ◀`. */
  readonly attempts: readonly string[];
  readonly backends: readonly string[];
  /** `9.5 → 8.5`; null: no gauge. */
  readonly tokens: string | null;
  /** Null: OK. */
  readonly reason: string | null;
  /** All lines but the bars, wrapped ones joined again. */
  readonly words: string;
}

const bar = /^ {3}\d+ (\S+) +│.*│ +[\d.]+ ms {2}(.*)$/;
const ending = /^(connection lost|no connection|[A-Za-z_]+)( \(hedge\)| \(sent again unseen\))?( ◀)?/;

/** The calls of an output without colour. */
export function inShort(text: string): ShownBlock[] {
  return text
    .split('\n\n')
    .filter((block) => block.startsWith('#'))
    .map((block) => {
      const [head = '', ...lines] = block.split('\n');
      const bars = lines.flatMap((line) => {
        const [, backend, outcome] = bar.exec(line) ?? [];
        return backend === undefined || outcome === undefined ? [] : [{ backend, outcome }];
      });
      const words = lines
        .filter((line) => !bar.test(line))
        .map((line) => line.trim())
        .join(' ');
      return {
        method: /^#\d+ (\S+)/.exec(head)?.[1] ?? '',
        status: /(\S+) {2}[\d.]+ ms$/.exec(head)?.[1] ?? '',
        attempts: bars.map(({ outcome }) => ending.exec(outcome)?.[0] ?? outcome),
        backends: bars.map(({ backend }) => backend),
        tokens: /tokens │.*│ (\S+ → \S+) of 10/.exec(words)?.[1] ?? null,
        reason: /hedgerow-stop-reason: (\w+)/.exec(words)?.[1] ?? null,
        words: `${head} ${words}`,
      };
    });
}
