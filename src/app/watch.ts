import type { AdminState } from '../admin/admin-state.js';
import { type CallRing, createCallRing } from '../admin/call-ring.js';
import { createEventHub } from '../admin/event-hub.js';
import { describeLive, type LiveReadings } from '../admin/live-state.js';
import type { Settings } from '../config/settings.js';
import { nodeWallClock } from '../runtime/clock.js';
import type { Ports } from './ports.js';
import { wallOffset } from './wall-offset.js';

/** The ring of `--recent-calls`; null where nobody could ask for it. */
export function createRing(
  { admin, recentCalls }: Pick<Settings, 'admin' | 'recentCalls'>,
  { clock }: Pick<Ports, 'clock'>,
): CallRing | null {
  if (admin === null || recentCalls === 0) return null;
  return createCallRing(recentCalls, (now) => wallOffset(clock, nodeWallClock.now) + now);
}

/** What the live endpoints tell. @param read what is read off the app at the moment */
export function watchApp(
  state: Omit<AdminState, 'watch'>,
  ring: CallRing | null,
  instance: string,
  read: () => Omit<LiveReadings, 'instance' | 'at' | 'uptime'>,
  ports: Pick<Ports, 'clock' | 'alarms'>,
  onDefect: (error: unknown) => void,
): AdminState {
  const startedAt = ports.clock.now();
  const source = {
    instance,
    ring: ring ?? { newest: 0, *since() {} },
    snapshot: () =>
      describeLive({ ...read(), instance, at: nodeWallClock.now(), uptime: ports.clock.now() - startedAt }, state),
  };
  return { ...state, watch: { ...source, hub: createEventHub(ports, source, onDefect) } };
}
