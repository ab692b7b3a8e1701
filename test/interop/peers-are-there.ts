import { missingPeer } from './peer.js';

/** Before any test: without the peers there is nothing to run, and that is a failure. */
export default function setup(): void {
  const missing = missingPeer();
  if (missing === null) return;
  process.stderr.write(`${missing}\n`);
  process.exit(1);
}
