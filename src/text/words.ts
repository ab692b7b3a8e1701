/** `0.42 ms`, `7.1 ms`, `71 ms`, `1.25 s`, `12.5 s`, then as `span`. @param ms 0 or more */
export function briefly(ms: number): string {
  if (ms < 1) return `${trim(ms, 2)} ms`;
  if (ms < 9.95) return `${trim(ms, 1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_995) return `${trim(ms / 1000, 2)} s`;
  if (ms < 59_500) return `${trim(ms / 1000, 1)} s`;
  return span(ms);
}

/** Whole seconds and more, for what counts up or down: `42 s`, `2 min 5 s`, `3 h 10 min`, `4 d 2 h`. @param ms 0 or more */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return pair(seconds, 60, 'min', 's');
  const minutes = Math.floor(seconds / 60);
  return minutes < 48 * 60 ? pair(minutes, 60, 'h', 'min') : pair(Math.floor(minutes / 60), 24, 'd', 'h');
}

function pair(amount: number, each: number, large: string, small: string): string {
  const rest = amount % each;
  return `${Math.floor(amount / each)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
}

/** `0.42`, `4.2`, `42`, `4200`: what a look takes in. @param value 0 or more */
export function amount(value: number): string {
  return trim(value, value < 1 ? 2 : value < 99.95 ? 1 : 0);
}

/** `/pkg.v1.Service/Method` → `Service/Method`; what has no such shape stays as it is. */
export function shortMethod(path: string): string {
  return /^\/(?:[^/]*\.)?([^/.]+\/[^/]+)$/.exec(path)?.[1] ?? path;
}

function trim(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}

/** A quantile as far as a histogram tells it: `71 ms`, `over 1 s`, `–`. Times are ms. */
export function quantileWords(
  found: { readonly kind: 'known' | 'above'; readonly ms: number } | { readonly kind: 'none' },
): string {
  switch (found.kind) {
    case 'known':
      return briefly(found.ms);
    case 'above':
      return `over ${briefly(found.ms)}`;
    case 'none':
      return '–';
    default:
      return found satisfies never;
  }
}

/** How an attempt ended. @param code the status that a failed one gave */
export function outcomeWords(result: 'ok' | 'failed' | 'lost' | 'cancelled' | 'unplaced', code: string): string {
  switch (result) {
    case 'ok':
      return 'OK';
    case 'failed':
      return code;
    case 'lost':
      return 'connection lost';
    case 'cancelled':
      return 'cancelled';
    case 'unplaced':
      return 'no connection';
    default:
      return result satisfies never;
  }
}
