import { createHash } from 'node:crypto';

/** The first so many bytes of the digest, two hexadecimal digits each (D31). */
const digits = 32;

/**
 * What a client's session id is known by inside the process, in logs and to other processes: the first 16 bytes of its SHA-256
 * in hexadecimal. The id itself is kept nowhere: who has it has the session.
 *
 * @param id one character is one byte
 */
export function sessionKeyOf(id: string): string {
  return createHash('sha256').update(id, 'latin1').digest('hex').slice(0, digits);
}
