import { type AdminRequest, type AdminState, type Answer, refused } from './admin-state.js';
import type { ProgramPhase, ReloadReport } from './program.js';

type ProgramState = Pick<AdminState, 'program' | 'tell'>;

/** `GET /config`: 503 until all files are followed. */
export function describeConfig({ program }: ProgramState): Answer {
  if (program === null) return nothingHere;
  if (program.phase === 'starting') return refused({ status: 503, problem: starting });
  return { status: 200, body: program.config() };
}

/** `GET /throttle` (A6, Throttling). */
export function describeThrottle({ throttle }: Pick<AdminState, 'throttle'>): Answer {
  return { status: 200, body: { throttle: throttle() } };
}

/** `POST /reload`: 200, or 422 where a file was rejected. */
export async function reload({ query, peer }: AdminRequest, { program, tell }: ProgramState): Promise<Answer> {
  if (program === null) return nothingHere;
  if (query !== '') return refused({ status: 400, problem: 'reload takes no parameters' });
  const problem = unfit(program.phase);
  if (problem !== null) return refused({ status: 409, problem });
  tell('info', { event: 'admin', action: 'reload', peer }, `reload was asked for by ${peer}`);
  const report = await program.reload();
  return { status: isRejected(report) ? 422 : 200, body: report };
}

/** `POST /drain`: 202, or 200 where it has begun before. */
export function drain({ query, peer }: AdminRequest, { program, tell }: ProgramState): Answer {
  if (program === null) return nothingHere;
  if (query !== '') return refused({ status: 400, problem: 'drain takes no parameters' });
  const { phase } = program;
  if (phase === 'draining' || phase === 'drained') {
    return { status: 200, body: { status: phase, message: `already ${phase}` } };
  }
  const problem = unfit(phase);
  if (problem !== null) return refused({ status: 409, problem });
  tell('info', { event: 'admin', action: 'drain', peer }, `drain was asked for by ${peer}`);
  return { status: 202, body: { status: 'draining', message: program.drain() } };
}

const nothingHere = refused({ status: 404, problem: 'there is no program around this proxy that follows files' });

const starting = 'the proxy is starting; ask again when it has written its ready line';

/** Why it cannot be done now; null where it can. */
function unfit(phase: ProgramPhase): string | null {
  switch (phase) {
    case 'running':
      return null;
    case 'starting':
      return starting;
    case 'draining':
      return 'the proxy is draining: nothing is read again';
    case 'drained':
      return 'the proxy has drained: nothing is read again';
    default:
      return phase satisfies never;
  }
}

function isRejected({ service_config, endpoints, client_tls, backend_tls }: ReloadReport): boolean {
  return [service_config, endpoints, client_tls, backend_tls].some((file) => file?.outcome === 'rejected');
}
