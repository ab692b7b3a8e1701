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

function read(file: string): string {
  return readFileSync(fileURLToPath(new URL(`./tls/${file}`, import.meta.url)), 'utf8');
}

/** PEM. */
export function certificate(name: CertificateName): string {
  return read(`${name}.crt`);
}

/** PEM. */
export function privateKey(name: CertificateName): string {
  return read(`${name}.key`);
}
