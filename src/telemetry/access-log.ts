import type { Logger } from 'pino';
import { helpFor } from '../grpc/remedies.js';
import { Status } from '../grpc/status.js';
import { describeCall } from '../proxy/call-description.js';
import type { CallObserver } from '../proxy/observer.js';

/** Which calls get a line: `notable` ones failed or took more than one attempt (contract, --access-log). */
export type AccessLogMode = 'all' | 'notable' | 'off';

/** One line per call, at its end (D24). */
export function createAccessLog(logger: Logger, mode: AccessLogMode): CallObserver {
  return {
    wants(code, attempts) {
      if (mode === 'off' || !logger.isLevelEnabled('info')) return false;
      return mode === 'all' || code !== Status.OK || attempts > 1;
    },
    onCallEnded(record) {
      const call = describeCall(record);
      logger.info(record.code === Status.OK ? call : { ...call, help: helpFor(record.reason) }, 'call');
    },
  };
}
