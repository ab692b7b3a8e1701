import type { HealthChange } from './health-types.js';

/**
 * Whether the other workers are told of it (D31): parks by what attempts met, and what ends those by answers or a new
 * connection. Parks by hand and removals reach each worker by themselves, and each asks health checks on its own.
 */
export function sharedWithWorkers(change: HealthChange): boolean {
  switch (change.kind) {
    case 'parked':
      return change.reason === 'consecutive_failures' || change.reason === 'rate_limited';
    case 'released':
      return (
        change.reason === 'consecutive_failures' &&
        (change.route === 'success' || change.route === 'lapsed_probe' || change.route === 'connected')
      );
    default:
      return change satisfies never;
  }
}
