import type { LiveSnapshot } from '../admin/live.js';
import { span } from '../text/words.js';
import { count } from './count.js';

/* What is said above everything else. Pure. */

/** How the page hears of the proxy. `crowded`: there was no room for another stream; it asks now and then. */
export type Link = 'up' | 'crowded' | 'lost';

export interface Banner {
  /** Which one it is, for a screen reader to hear of it once. */
  readonly id: 'lost' | 'crowded' | 'draining' | 'rejected' | 'parked';
  readonly tone: 'warn' | 'bad';
  readonly text: string;
}

/** Backends that are named at most. */
const mostNames = 3;

/** @param snapshot the last one; null: none has come. @param link how the page hears of the proxy */
export function bannersOf(snapshot: LiveSnapshot | null, link: Link): readonly Banner[] {
  const banners: Banner[] = [];
  if (link === 'lost') {
    const old = snapshot === null ? '' : ' What you see is how it was.';
    banners.push({ id: 'lost', tone: 'bad', text: `Connection lost, trying again.${old}` });
  }
  if (link === 'crowded') {
    const text = 'Too many dashboards are open: this one asks each 2 s, until there is room for it.';
    banners.push({ id: 'crowded', tone: 'warn', text });
  }
  if (snapshot === null) return banners;
  const { draining, drained, config, backends, in_flight } = snapshot;
  if (drained) banners.push({ id: 'draining', tone: 'warn', text: 'Drained: it waits for the signal to end.' });
  else if (draining)
    banners.push({ id: 'draining', tone: 'warn', text: `The proxy is draining: ${count(in_flight, 'call')} left.` });
  if (config.rejected) {
    const path = config.path ?? 'The service config';
    const text = `${path} has changed and was not taken: it is not valid. Version ${config.version} stays in force; /config tells what is wrong.`;
    banners.push({ id: 'rejected', tone: 'bad', text });
  }
  const parked = backends.filter(({ state }) => state === 'parked');
  if (parked.length > 0) {
    const each = parked.slice(0, mostNames).map(({ name, why, parked_for_ms }) => {
      // How long is left was so when it was told, and nobody counts on.
      const left = parked_for_ms === null ? ' until unparked' : link === 'lost' ? '' : ` for ${span(parked_for_ms)}`;
      return `${name}${left}${why === null ? '' : ` (${why})`}`;
    });
    const more = parked.length > mostNames ? `; and ${parked.length - mostNames} more` : '';
    banners.push({ id: 'parked', tone: 'warn', text: `Parked: ${each.join('; ')}${more}.` });
  }
  return banners;
}
