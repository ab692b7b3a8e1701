/** What fits on a dashboard; a longer name is nobody's method. Characters, slashes included. */
const longest = 200;
/** `/package.Service/Method`, in characters that need no escape anywhere. */
const path = /^\/([\w.\-~+@:$]+(?:\/[\w.\-~+@:$]+)+)$/;

/** A `:path` as a label's value, the method's full name without its first slash (A66); null where it is not to be one. */
export function methodLabel(text: string): string | null {
  return text.length > longest ? null : (path.exec(text)?.[1] ?? null);
}
