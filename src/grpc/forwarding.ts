import { field } from './known-fields.js';
import type { MetadataField } from './metadata.js';
import type { RequestVerdict } from './request.js';
import { Status } from './status.js';

const forwardedForName = 'x-forwarded-for';
const clientCertName = 'x-forwarded-client-cert';

/** What the requests of one client connection say of where they come from: made once, when it is accepted. */
export interface Forwarding {
  /** Null: x-forwarded-for and x-forwarded-client-cert are metadata like any other. */
  readonly origin: Origin | null;
  /** Our own `via` line; null: none is sent, and no loop is looked for. */
  readonly via: MetadataField | null;
}

/** Who is at the other end of a client connection. */
export interface Origin {
  /** The `x-forwarded-for` line; null where there is no address to tell (a unix socket). */
  readonly address: MetadataField | null;
  /** The `x-forwarded-client-cert` line; null where none is told. */
  readonly certificate: MetadataField | null;
  /** What came of both keys stays, and ours is put after it (--trust-forwarded); else it goes. */
  readonly trusted: boolean;
}

/** @param address an IP address as a socket tells it; null where the client has none */
export function originOf(address: string | null, certificate: string | null, trusted: boolean): Origin {
  return {
    address: address === null ? null : field(forwardedForName, plainAddress(address)),
    certificate: certificate === null ? null : field(clientCertName, certificate),
    trusted,
  };
}

/** An IPv4 client of a listener that takes both kinds, and a link-local one with its interface, by their address alone. */
function plainAddress(address: string): string {
  const [bare = ''] = address.split('%', 1);
  return /^::ffff:(?=\d+\.)/i.test(bare) ? bare.slice('::ffff:'.length) : bare;
}

/** `via: 2 hedgerow-ID` (RFC 9110 7.6.3). @param id of this proxy: letters, digits and dashes */
export function viaLine(id: string): MetadataField {
  return field('via', `2 hedgerow-${id}`);
}

/**
 * A request's verdict with the lines that `forwarding` adds and without those that it removes. A call that has been here
 * before is refused: it would go round until its deadline, and be multiplied by each retry.
 */
export function withForwarding(verdict: RequestVerdict, { origin, via }: Forwarding): RequestVerdict {
  if (verdict.kind !== 'call') return verdict;
  const { call } = verdict;
  const fields: MetadataField[] = [];
  let addresses: MetadataField | null = null;
  let certificates: MetadataField | null = null;
  for (const line of call.fields) {
    const { name } = line;
    if (origin !== null && name === forwardedForName) {
      if (origin.trusted) addresses = joined(addresses, line, ', ');
    } else if (origin !== null && name === clientCertName) {
      if (origin.trusted) certificates = joined(certificates, line, ',');
    } else {
      if (via !== null && name === 'via' && passed(line.value, via)) return loop(via);
      fields.push(line);
    }
  }
  if (origin !== null) {
    addresses = joined(addresses, origin.address, ', ');
    certificates = joined(certificates, origin.certificate, ',');
    if (addresses !== null) fields.push(addresses);
    if (certificates !== null) fields.push(certificates);
  }
  if (via !== null) fields.push(via);
  return { kind: 'call', call: { ...call, fields } };
}

/** One line of two: most of those who read these keys look at one. A mark of RFC 7541 6.2.3 on either stays. */
function joined(before: MetadataField | null, line: MetadataField | null, separator: string): MetadataField | null {
  if (before === null || line === null) return before ?? line;
  const { name } = line;
  const value = before.value === '' ? line.value : `${before.value}${separator}${line.value}`;
  return { name, value, neverIndexed: before.neverIndexed || line.neverIndexed };
}

/** Whether a `via` value has an element of ours: `1.1 gate, 2 hedgerow-k3x9a0 (a comment)`. */
function passed(value: string, via: MetadataField): boolean {
  const own = receivedBy(via.value);
  return value.includes(own) && value.split(',').some((element) => receivedBy(element) === own);
}

function receivedBy(element: string): string {
  return element.trim().split(/[ \t]+/)[1] ?? '';
}

function loop(via: MetadataField): RequestVerdict {
  const detail = `a loop: the request has passed this proxy before (via: ${via.value}); a backend leads back here`;
  return { kind: 'status', code: Status.INTERNAL, detail, reason: 'malformed_request' };
}
