/** What Node tells of a certificate (node:crypto, X509Certificate), as far as it is passed on. */
export interface CertificateFacts {
  /** `AB:CD:…`, of the whole certificate. */
  readonly fingerprint256: string;
  /** One relative name a line, in the certificate's order, each value escaped by RFC 2253. */
  readonly subject: string;
  /** `DNS:a.test, URI:spiffe://b/c`; a value with a comma or quote stands as a JSON string. */
  readonly subjectAltName: string | undefined;
}

/**
 * A client's certificate as Envoy writes it into `x-forwarded-client-cert`:
 * `Hash=…;Subject="CN=…,O=…";URI=…;DNS=…`, each subject alternative name a pair of its own. Visible ASCII and spaces only.
 */
export function forwardedCertificate({ fingerprint256, subject, subjectAltName }: CertificateFacts): string {
  const pairs = [`Hash=${fingerprint256.replaceAll(':', '').toLowerCase()}`, `Subject="${ascii(nameOf(subject))}"`];
  const names = subjectAltName === undefined ? [] : alternativeNames(subjectAltName);
  for (const kind of ['URI', 'DNS'] as const) {
    for (const [given, value] of names) if (given === kind) pairs.push(`${kind}=${quoted(ascii(value))}`);
  }
  return pairs.join(';');
}

/** RFC 2253: the last relative name first; one of several parts has them joined by `+`. */
function nameOf(subject: string): string {
  if (subject === '') return '';
  // A plus sign of a value is escaped: this one, with its spaces, never is.
  return subject
    .split('\n')
    .map((relative) => relative.split(' + ').reverse().join('+'))
    .reverse()
    .join(',');
}

function alternativeNames(text: string): readonly (readonly [string, string])[] {
  const found: (readonly [string, string])[] = [];
  for (const [, kind = '', value = ''] of text.matchAll(/([A-Za-z0-9 ]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/g)) {
    found.push([kind, value.startsWith('"') ? unquoted(value) : value]);
  }
  return found;
}

function unquoted(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value : text;
  } catch {
    return text;
  }
}

/** Other bytes of UTF-8 as `\C3\BC`, as RFC 2253 2.4 has them: a field value must not hold them. */
function ascii(text: string): string {
  let plain = '';
  for (const byte of Buffer.from(text, 'utf8')) {
    plain += byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\${hex(byte)}`;
  }
  return plain;
}

function hex(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0');
}

function quoted(value: string): string {
  return /[,;="\s]/.test(value) ? `"${value.replaceAll('"', '\\"')}"` : value;
}
