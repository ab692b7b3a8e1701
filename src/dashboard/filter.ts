import type { RecentCall } from '../admin/live.js';

/* Which calls are shown. Pure. */

/** Empty: any. */
export interface Filter {
  readonly method: string;
  readonly backend: string;
  readonly reason: string;
  /** Anywhere in the call's id, method, backends, status, messages and explanation, whatever the case. */
  readonly text: string;
  /** Those too that were answered at the first attempt, of which the proxy keeps a sample. */
  readonly plain: boolean;
}

export const noFilter: Filter = { method: '', backend: '', reason: '', text: '', plain: false };

/** Of the URL's hash, as `#method=…&reason=…`; keys that are not known are passed over. */
export function filterOf(hash: string): Filter {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const of = (key: keyof Filter): string => given.get(key) ?? '';
  const plain = of('plain') === 'yes';
  return { method: of('method'), backend: of('backend'), reason: of('reason'), text: of('text'), plain };
}

/** Empty where nothing is filtered. */
export function hashOf({ method, backend, reason, text, plain }: Filter): string {
  const fields = Object.entries({ method, backend, reason, text, plain: plain ? 'yes' : '' }).filter(
    ([, value]) => value !== '',
  );
  return fields.length === 0 ? '' : `#${new URLSearchParams(fields)}`;
}

/** It was answered at the first attempt: nothing to tell. */
export function isPlain({ code, attempts }: RecentCall): boolean {
  return code === 'OK' && attempts.length <= 1;
}

/** How many of each kind are kept: neither plain calls nor a flood of failures push out those that were tried again. */
const most = { plain: 60, again: 150, failed: 150 };

function kindOf(call: RecentCall): keyof typeof most {
  if (isPlain(call)) return 'plain';
  return call.attempts.length > 1 ? 'again' : 'failed';
}

/** What is kept of them. Newest first. */
export function newest(calls: readonly RecentCall[]): readonly RecentCall[] {
  const kept = { plain: 0, again: 0, failed: 0 };
  return calls.filter((call) => {
    const kind = kindOf(call);
    kept[kind] += 1;
    return kept[kind] <= most[kind];
  });
}

export function matches(call: RecentCall, { method, backend, reason, text, plain }: Filter): boolean {
  if (!plain && isPlain(call)) return false;
  if (method !== '' && call.method !== method) return false;
  if (reason !== '' && call.reason !== reason) return false;
  if (backend !== '' && !call.attempts.some((attempt) => attempt.backend === backend)) return false;
  const wanted = text.trim().toLowerCase();
  return wanted === '' || wordsOf(call).includes(wanted);
}

function wordsOf({ call, method, code, message, reason, why, attempts }: RecentCall): string {
  const told = attempts.flatMap((attempt) => [
    attempt.backend ?? '',
    attempt.code,
    attempt.message ?? '',
    attempt.cause,
  ]);
  return [call, method, code, message ?? '', reason, why, ...told].join('\n').toLowerCase();
}

/** What can be chosen, in order of the alphabet, and what is chosen though no call has it any more. */
export interface Choices {
  readonly methods: readonly string[];
  readonly backends: readonly string[];
  readonly reasons: readonly string[];
}

export function choicesOf(calls: readonly RecentCall[], chosen: Filter): Choices {
  const sorted = (values: Iterable<string>): string[] => [...new Set(values)].filter((one) => one !== '').sort();
  return {
    methods: sorted([chosen.method, ...calls.map(({ method }) => method)]),
    backends: sorted([
      chosen.backend,
      ...calls.flatMap(({ attempts }) => attempts.map(({ backend }) => backend ?? '')),
    ]),
    reasons: sorted([chosen.reason, ...calls.map(({ reason }) => reason)]),
  };
}
