const shownLength = 60;

/** Escapes what a terminal or a log line must not get raw: controls, line and paragraph separators, format characters. */
export function printable(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => {
    const code = char.codePointAt(0) ?? 0;
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** A value from outside, fit for a one-line message: in double quotes, escaped, cut after 60 characters. */
export function quote(text: string): string {
  const cut = text.length > shownLength ? `${text.slice(0, shownLength)}…` : text;
  return printable(JSON.stringify(cut));
}
