import { type Address, showAddress } from './address.js';
import { parseIp } from './ip.js';

/** What an address means to this machine, for comparison. `localhost` is loopback of either family. */
function identify(host: string): { readonly canonical: string; readonly class: 'loopback' | 'any' | 'other' } {
  if (host.toLowerCase().replace(/\.$/, '') === 'localhost') return { canonical: 'localhost', class: 'loopback' };
  return parseIp(host) ?? { canonical: host.toLowerCase(), class: 'other' };
}

function collapsed(path: string): string {
  return path.replace(/\/+/g, '/').replace(/(^|\/)(?:\.\/)+/g, '$1');
}

/**
 * Whether connecting to `target` would reach `listener`: calls would go round for ever. `localAddresses` are the IP
 * literals of this machine's interfaces, which a listener on `0.0.0.0` or `[::]` answers too.
 */
export function reaches(target: Address, listener: Address, localAddresses: readonly string[]): boolean {
  if (target.kind === 'unix' || listener.kind === 'unix') {
    return target.kind === 'unix' && listener.kind === 'unix' && collapsed(target.path) === collapsed(listener.path);
  }
  if (target.port !== listener.port || listener.port === 0) return false;
  const to = identify(target.host);
  const at = identify(listener.host);
  // Connecting to the unspecified address connects to loopback.
  const toItself = to.class !== 'other';
  if (at.class === 'any') {
    return toItself || localAddresses.some((address) => parseIp(address)?.canonical === to.canonical);
  }
  if (to.canonical === at.canonical) return true;
  const vague = to.class === 'any' || to.canonical === 'localhost' || at.canonical === 'localhost';
  return vague && toItself && at.class === 'loopback';
}

/** Where we are reached ourselves. */
export interface OwnAddresses {
  readonly listen: readonly Address[];
  readonly admin: Address | null;
  readonly control: Address | null;
}

/**
 * Says which of our own addresses connecting to one of `targets` would reach; null where none. See `reaches`. To be asked
 * again when a name has been resolved: as a name it is known for one of ours only if it is written alike.
 */
export function ownAddress(
  targets: readonly Address[],
  { listen, admin, control }: OwnAddresses,
  localAddresses: readonly string[],
): string | null {
  for (const target of targets) {
    const own = listen.find((address) => reaches(target, address, localAddresses));
    if (own !== undefined) return `is our own listener ${showAddress(own)}: calls would go round`;
    if (admin !== null && reaches(target, admin, localAddresses)) {
      return `is our own admin address ${showAddress(admin)}`;
    }
    if (control !== null && reaches(target, control, localAddresses)) {
      return `is our own control address ${showAddress(control)}`;
    }
    if (control !== null && reaches(target, control, localAddresses)) {
      return `is our own control address ${showAddress(control)}`;
    }
  }
  return null;
}
