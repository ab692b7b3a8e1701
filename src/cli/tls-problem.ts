import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { BackendTlsFiles, ClientTlsFiles } from '../app.js';
import { printable } from '../config/quote.js';
import { flagOf, type SettingKey } from '../config/settings.js';

/** A file of the settings: its flag, where it is and what it holds. */
interface Named {
  readonly flag: string;
  readonly path: string;
  readonly text: string;
}

/** What is wrong with the files for TLS with clients, in one sentence that names the flag and the file; null where nothing is. */
export function clientTlsProblem(texts: ClientTlsFiles, paths: ClientTlsFiles): string | null {
  return (
    caProblem(named('tlsClientCa', texts.tlsClientCa, paths.tlsClientCa)) ??
    pairProblem(named('tlsCert', texts.tlsCert, paths.tlsCert), named('tlsKey', texts.tlsKey, paths.tlsKey))
  );
}

/** The same of those for TLS with backends. */
export function backendTlsProblem(texts: BackendTlsFiles, paths: BackendTlsFiles): string | null {
  return (
    caProblem(named('backendCa', texts.backendCa, paths.backendCa)) ??
    pairProblem(
      named('backendCert', texts.backendCert, paths.backendCert),
      named('backendKey', texts.backendKey, paths.backendKey),
    )
  );
}

/** A certificate in a few words for the log. */
export interface CertificateWords {
  readonly subject: string;
  /** ISO 8601. */
  readonly valid_until: string;
  /** SHA-256, hexadecimal. */
  readonly fingerprint: string;
}

/** The first certificate of a text that has one: the one shown to peers. */
export function describeCertificate(text: string): CertificateWords {
  const { subject, validTo, fingerprint256 } = new X509Certificate(text);
  return {
    subject: printable(subject.replaceAll('\n', ', ')),
    valid_until: new Date(validTo).toISOString(),
    fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
  };
}

/**
 * Whether peers will refuse a certificate for its dates: what to tell of it, or null. No reason not to use it: the one before
 * it is hardly better, and whose clock is right is not known.
 *
 * @param now the time of day, in milliseconds since 1970
 */
export function datesProblem(key: 'tlsCert' | 'backendCert', text: string, path: string, now: number): string | null {
  const { validFrom, validTo } = new X509Certificate(text);
  const place = `${flagOf(key)} ${printable(path)}`;
  if (now > Date.parse(validTo)) return `${place}: the certificate has expired, on ${validTo}`;
  if (now < Date.parse(validFrom)) return `${place}: the certificate is not valid before ${validFrom}`;
  return null;
}

function named(key: SettingKey, text: string | null, path: string | null): Named | null {
  return text === null ? null : { flag: flagOf(key), path: printable(path ?? ''), text };
}

function caProblem(file: Named | null): string | null {
  if (file === null) return null;
  const problem = chainProblem(file.text);
  return problem === null ? null : `${file.flag} ${file.path}: ${problem}`;
}

function pairProblem(cert: Named | null, key: Named | null): string | null {
  if (cert === null || key === null) return null;
  const problem = chainProblem(cert.text);
  if (problem !== null) return `${cert.flag} ${cert.path}: ${problem}`;
  const privateKey = readKey(key.text);
  if (typeof privateKey === 'string') return `${key.flag} ${key.path}: ${privateKey}`;
  if (!new X509Certificate(cert.text).checkPrivateKey(privateKey)) {
    return `${key.flag} ${key.path}: is not the key of the certificate in ${cert.path}`;
  }
  try {
    createSecureContext({ cert: cert.text, key: key.text });
    return null;
  } catch (error) {
    return `${cert.flag} ${cert.path}: cannot be used: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** OpenSSL takes certificates up to the first broken one and says nothing of the rest: each is looked at here. */
function chainProblem(text: string): string | null {
  const blocks = text
    .split(/(?=-----BEGIN )/)
    .filter((block) => /^-----BEGIN (?:[A-Z0-9]+ )?CERTIFICATE-----/.test(block));
  if (blocks.length === 0) return 'holds no certificate in PEM form';
  const broken = blocks.findIndex((block) => !isCertificate(block));
  if (broken === -1) return null;
  return blocks.length === 1
    ? 'holds no certificate in PEM form: it is broken'
    : `certificate ${broken + 1} of the ${blocks.length} in it is broken`;
}

function isCertificate(text: string): boolean {
  try {
    return /-----END (?:[A-Z0-9]+ )?CERTIFICATE-----/.test(text) && new X509Certificate(text) !== null;
  } catch {
    return false;
  }
}

/** The key, or what is wrong with it. OpenSSL's own words could quote the file: they are not passed on. */
function readKey(text: string): KeyObject | string {
  try {
    return createPrivateKey(text);
  } catch (error) {
    const locked = error instanceof Error && 'code' in error && error.code === 'ERR_MISSING_PASSPHRASE';
    return locked || /ENCRYPTED/.test(text)
      ? 'is locked by a passphrase; give a key without one'
      : 'holds no private key in PEM form';
  }
}
