import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { printable } from '../config/quote.js';

/** PEM texts; null where no file is named. */
export interface TlsTexts {
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly backendCa: string | null;
}

/** Where they came from. */
export type TlsNames = TlsTexts;

/** What is wrong with the files for TLS, in one sentence that names the flag and the file; null where nothing is. */
export function tlsProblem(texts: TlsTexts, names: TlsNames): string | null {
  if (texts.backendCa !== null && readCertificate(texts.backendCa) === null) {
    return `--backend-ca ${name(names.backendCa)}: holds no certificate in PEM form`;
  }
  if (texts.tlsCert === null || texts.tlsKey === null) return null;
  const cert = `--tls-cert ${name(names.tlsCert)}`;
  const certificate = readCertificate(texts.tlsCert);
  if (certificate === null) return `${cert}: holds no certificate in PEM form`;
  const key = readKey(texts.tlsKey);
  if (typeof key === 'string') return `--tls-key ${name(names.tlsKey)}: ${key}`;
  if (!certificate.checkPrivateKey(key)) {
    return `--tls-key ${name(names.tlsKey)}: is not the key of the certificate in ${name(names.tlsCert)}`;
  }
  try {
    createSecureContext({ cert: texts.tlsCert, key: texts.tlsKey });
    return null;
  } catch (error) {
    return `${cert}: cannot be used: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function readCertificate(text: string): X509Certificate | null {
  try {
    return new X509Certificate(text);
  } catch {
    return null;
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

function name(path: string | null): string {
  return printable(path ?? '');
}
