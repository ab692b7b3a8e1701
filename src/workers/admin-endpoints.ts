import type { AdminState } from '../admin/admin-state.js';
import type { Endpoints } from '../admin/endpoints.js';
import type { EventHub } from '../admin/event-hub.js';
import { configOf } from '../admin/live-state.js';
import type { Alarms, Clock } from '../runtime/ports.js';
import type { WorkerGroup } from './admin-group.js';
import { GroupMetrics } from './admin-metrics.js';
import { createGroupTable, type GroupOwn } from './admin-table.js';
import { GroupWatch } from './admin-watch.js';

/** What the admin listener of a primary answers with, and how it learns that a worker is gone. */
export interface GroupAdmin {
  readonly endpoints: Endpoints;
  readonly hub: EventHub;
  /** A worker that was ready is gone for good; to be called in the turn in which its answers end. */
  leave(worker: number): void;
}

/** All that the primary has for it. */
export interface GroupAdminOptions extends GroupOwn, Pick<AdminState, 'readAsset'> {
  readonly instance: string;
  /** The setting. */
  readonly recentCalls: number;
  /** The text of the primary's own numbers, in pieces. */
  readonly metrics: () => Iterable<string>;
  readonly clock: Clock;
  readonly alarms: Alarms;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  /** Resolves when a piece of a long text may be made. */
  readonly pace: () => Promise<void>;
  /** A fault of ours that no request can be told of. */
  readonly onDefect: (error: unknown) => void;
}

/** The program's uptime runs from here. */
export function createGroupAdmin(group: WorkerGroup, options: GroupAdminOptions): GroupAdmin {
  const { instance, clock, alarms, recentCalls, onDefect, program, draining, wallNow, pace, readAsset } = options;
  const startedAt = clock.now();
  const facts = () => ({
    instance,
    at: Math.round(wallNow()),
    uptime_ms: Math.round(clock.now() - startedAt),
    draining: draining(),
    drained: program?.phase === 'drained',
    config: configOf(options),
  });
  const watch = new GroupWatch({ group, instance, recentCalls, facts, clock, alarms, onDefect });
  const metrics = new GroupMetrics(group, options.metrics, pace, () => clock.now());
  return {
    endpoints: { table: createGroupTable(group, options, watch, metrics), readAsset },
    hub: watch.hub,
    leave(worker) {
      watch.leave(worker);
      metrics.leave(worker);
    },
  };
}
