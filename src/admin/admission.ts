import { isIP } from 'node:net';
import { bearerOf } from '../runtime/bearer.js';

/** What of a request decides whether it may be served at all. */
export interface RequestFacts {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  readonly fetchMode: string | undefined;
  readonly fetchDest: string | undefined;
  readonly authorization: string | undefined;
}

export interface AdmissionRules {
  /** Host names accepted besides IP addresses and localhost, in lower case. */
  readonly hosts: ReadonlySet<string>;
  /** The listener is bound beyond loopback: a POST must carry the token. */
  readonly beyondLoopback: boolean;
  /** Whether this is the bearer token; compares in constant time. False where there is none. */
  readonly isToken: (given: string) => boolean;
}

/** Null: go on. Otherwise the HTTP status and a sentence. */
export type Refusal = { readonly status: 401 | 403 | 421; readonly message: string } | null;

/**
 * The admin listener's own safety (contract, Admin HTTP): no name that an attacker can point here (DNS rebinding), no request
 * of another site's page but a link, no POST from the network without the token.
 */
export function admit(facts: RequestFacts, rules: AdmissionRules): Refusal {
  const host = facts.host === undefined ? null : hostOf(facts.host);
  if (host === null || !(host === 'localhost' || isIP(host) !== 0 || rules.hosts.has(host))) {
    return { status: 421, message: 'the Host is neither an IP address nor localhost; name it with --admin-host' };
  }
  if (facts.method === 'GET' || facts.method === 'HEAD') {
    return isOfPageElsewhere(facts) && !isLink(facts)
      ? { status: 403, message: 'a page of another site may link to this, not load it' }
      : null;
  }
  if (!sameSite(facts)) return { status: 403, message: 'a page of another site may not ask for this' };
  if (!rules.beyondLoopback) return null;
  const given = bearerOf(facts.authorization);
  if (given !== undefined && rules.isToken(given)) return null;
  return {
    status: 401,
    message: 'beyond loopback this needs authorization: Bearer, with the token of --admin-token-file',
  };
}

/** Fetch Metadata: `none` is the address bar; a script says nothing. */
function isOfPageElsewhere({ fetchSite }: RequestFacts): boolean {
  return fetchSite !== undefined && fetchSite !== 'same-origin' && fetchSite !== 'none';
}

/** Leads the whole window here. A frame navigates as well, but within the other site's page, which could hold a stream so. */
function isLink({ fetchMode, fetchDest }: RequestFacts): boolean {
  return fetchMode === 'navigate' && (fetchDest === undefined || fetchDest === 'document');
}

/** A browser says where its page came from; a script says nothing. */
function sameSite(facts: RequestFacts): boolean {
  const { host, origin } = facts;
  if (isOfPageElsewhere(facts)) return false;
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === (host ?? '').toLowerCase();
}

/** The host of a Host header in lower case, without port and brackets; null where it is malformed. */
function hostOf(header: string): string | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:/[\]@]+))(?::\d{1,5})?$/i.exec(header);
  return match === null ? null : (match[1] ?? match[2] ?? '').toLowerCase().replace(/\.$/, '');
}
