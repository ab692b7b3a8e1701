import { sharedWithWorkers } from '../balance/health-shared.js';
import type { PrimaryLink } from '../runtime/processes.js';
import { answerFor } from './answer-questions.js';
import { createDataPath, type DataPath } from './data-path.js';
import type { Ports } from './ports.js';
import { createToldFinder, type ToldFinder } from './told-finder.js';
import type { AppEvents } from './types.js';
import type { ToPrimary, ToWorker, WorkerStart } from './worker-messages.js';
import { SessionClient } from '../workers/session-client.js';

/** The outside, as a worker sees it. */
export interface WorkerOutside {
  readonly link: PrimaryLink;
  readonly ports: Ports;
  /** Makes what tells of its calls, in its log and its counts. */
  readonly equip: (start: WorkerStart, worker: number) => Promise<AppEvents>;
}

/** Carries calls for a primary until that says stop. Resolves to the exit code when all has ended. */
export function runWorker({ link, ports, equip }: WorkerOutside): Promise<number> {
  const tell = (message: ToPrimary): void => link.send(message);
  return new Promise((resolve, reject) => {
    let running: Running | null = null;
    const start = async (message: WorkerStart): Promise<void> => {
      const events = await equip(message, link.worker);
      running = new Running(message, link.worker, tell, ports, events);
      const problem = await running.start();
      if (problem === null) return;
      tell({ type: 'failed', problem });
      resolve(1);
    };
    link.onMessage((raw) => {
      // What a primary of the same program has sent.
      const message = raw as ToWorker;
      if (message.type === 'start') void start(message).catch(reject);
      else running?.hear(message, () => resolve(0));
    });
    tell({ type: 'hello' });
  });
}
