import type { Case } from '../differences/case-format.js';
import { configText } from '../differences/run-case.js';
import type { PeerKind } from './peer.js';

/** How one implementation stands in one case, as `results/*.json` keeps it (test/differences/README.md). */
export type Standing =
  | { readonly agrees: true }
  | { readonly agrees: false; readonly says: string; readonly right: string }
  | { readonly skipped: string };

/** Why a case says nothing about this implementation; null: it does. */
export function skipped(script: Case, name: PeerKind['name']): string | null {
  const config = configText(script);
  // A hedgingPolicy that is null is none.
  if (name === 'grpc-go' && /"hedgingPolicy":\s*[^n\s]/.test(config)) return 'grpc-go has no hedging';
  if (name === 'grpc-java' && !isJson(config))
    return 'grpc-java takes a configuration that is read already, not its text';
  const directed = script.calls?.some(({ metadata }) => metadata?.some(([key]) => key.startsWith('hedgerow-')));
  if (directed === true) return 'directives are hedgerow’s own';
  return null;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What the data says of the implementation; true of it where `departures` finds none. */
export function standing(script: Case, name: PeerKind['name']): Standing {
  const why = skipped(script, name);
  if (why !== null) return { skipped: why };
  const differs = script.differs?.[name];
  return differs === undefined ? { agrees: true } : { agrees: false, says: differs.says, right: differs.right };
}
