import type { Logger } from 'pino';
import type { HealthChange, ParkReason, ReleaseRoute } from '../balance/health-types.js';
import { legible } from '../grpc/legible.js';
import type { LossRecord } from '../proxy/losses.js';
import type { CallObserver } from '../proxy/observer.js';
import type { BackendChange } from '../upstream/types.js';
import { createBurst } from './burst.js';
import { logReady, type ReadyFacts } from './logger.js';

/** Everything that a run of the proxy has to say, as log lines. */
export interface RunLog {
  readonly observer: CallObserver;
  readonly onBackendChange: (change: BackendChange) => void;
  readonly onHealthChange: (change: HealthChange) => void;
  readonly onLoss: (loss: LossRecord) => void;
  readonly onClientRefused: (peer: string, detail: string) => void;
  readonly onDefect: (error: unknown, call: string) => void;
  ready(facts: ReadyFacts): void;
  info(message: string): void;
  warn(message: string): void;
  /** A line with fields of its own. */
  tell(level: 'info' | 'warn', fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** Lines about clients that were turned away: so many in so many milliseconds; the next line tells how many had none. */
const mostRefusals = 20;
const refusalWindow = 10_000;

/** @param now the clock, in milliseconds */
export function createRunLog(logger: Logger, observer: CallObserver, now: () => number): RunLog {
  const refusals = createBurst(mostRefusals, refusalWindow);
  return {
    observer,
    onBackendChange(change) {
      const { id, address, event, generation, detail, retryIn } = change;
      const fields = {
        backend: id,
        address,
        event,
        generation,
        retry_in_ms: retryIn === null ? undefined : Math.round(retryIn),
      };
      if (event === 'lost' || event === 'connect_failed') logger.warn(fields, legible(detail));
      else logger.info(fields, legible(detail));
    },
    onHealthChange(change) {
      if (change.kind === 'parked') {
        const { id, reason, parkMs, streak, failures } = change;
        const fields = { backend: id, event: 'parked', reason, park_ms: rounded(parkMs), streak, failures };
        logger.warn(fields, `backend ${id} is parked ${lengthOf(parkMs)}: ${parkWords[reason]}`);
      } else {
        const { id, reason, route, parkMs } = change;
        const fields = { backend: id, event: 'released', reason, route, left_ms: rounded(parkMs) };
        logger.info(fields, `backend ${id} is parked no more: ${releaseWords[route]}`);
      }
    },
    onLoss({ backend, generation, detail, attempts, undecided, outcomes }) {
      const fields = { backend, event: 'attempts_lost', generation, attempts, undecided, outcomes };
      logger.warn(fields, legible(`${attempts + (undecided ?? 0)} attempts lost: ${detail}`));
    },
    onClientRefused(peer, detail) {
      const untold = refusals.take(now());
      if (untold === null) return;
      logger.warn({ peer, untold: untold === 0 ? undefined : untold }, `client refused: ${legible(detail)}`);
    },
    onDefect: (error, call) =>
      logger.error({ call, err: error }, 'a defect of the proxy ended this call; please report it'),
    ready: (facts) => logReady(logger, facts),
    info: (message) => logger.info(message),
    warn: (message) => logger.warn(message),
    tell: (level, fields, message) => logger[level](fields, message),
  };
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}

function lengthOf(ms: number | null): string {
  return ms === null ? 'until it is released' : `for ${(ms / 1000).toFixed(1)} s`;
}

const parkWords: Readonly<Record<ParkReason, string>> = {
  consecutive_failures: 'its attempts failed in a row',
  rate_limited: 'it asked for patience',
  operator: 'by hand',
  not_serving: 'its health check says that it does not serve',
};

const releaseWords: Readonly<Record<ReleaseRoute, string>> = {
  success: 'it answered a call',
  lapsed_probe: 'its probe was answered',
  connected: 'it is connected again',
  serving: 'its health check says that it serves',
  operator: 'by hand',
  removed: 'it left',
};
