import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Names of the certificates that test/support/tls/make.sh makes. */
export type CertificateName =
  | 'ca'
  | 'other-ca'
  | 'server'
  | 'server-two'
  | 'client'
  | 'client-two'
  | 'stranger'
  | 'expired';

function at(file: string): string {
  return fileURLToPath(new URL(`./tls/${file}`, import.meta.url));
}

function read(file: string): string {
  return readFileSync(at(file), 'utf8');
}

/** PEM. */
export function certificate(name: CertificateName): string {
  return read(`${name}.crt`);
}

/** PEM. */
export function privateKey(name: CertificateName): string {
  return read(`${name}.key`);
}

/** Where certificate and key lie, for programs of other languages. */
export function identityFiles(name: CertificateName): { readonly cert: string; readonly key: string } {
  return { cert: at(`${name}.crt`), key: at(`${name}.key`) };
}
