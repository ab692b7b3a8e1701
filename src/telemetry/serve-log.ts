import type { Logger } from 'pino';
import type { CallObserver } from '../proxy/observer.js';
import type { BackendChange } from '../upstream/types.js';
import { legible } from './legible.js';
import { logReady, type ReadyFacts } from './logger.js';

/** Everything that a run of the proxy has to say, as log lines. */
export interface RunLog {
  readonly observer: CallObserver;
  readonly onBackendChange: (change: BackendChange) => void;
  readonly onClientRefused: (peer: string, detail: string) => void;
  readonly onDefect: (error: unknown, call: string) => void;
  ready(facts: Omit<ReadyFacts, 'control'>): void;
  info(message: string): void;
  warn(message: string): void;
}

export function createRunLog(logger: Logger, observer: CallObserver): RunLog {
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
    onClientRefused: (peer, detail) => logger.warn({ peer }, `client refused: ${legible(detail)}`),
    onDefect: (error, call) =>
      logger.error({ call, err: error }, 'a defect of the proxy ended this call; please report it'),
    ready: ({ listen, admin, backends, config }) =>
      logReady(logger, { listen, admin, control: null, backends, config }),
    info: (message) => logger.info(message),
    warn: (message) => logger.warn(message),
  };
}
