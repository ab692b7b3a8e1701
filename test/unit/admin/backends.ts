import { backendId } from '../../../src/grpc/backend-id.js';
import type { UpstreamBackend } from '../../../src/upstream/types.js';

/** A backend as the admin endpoints read it, connected and idle; it takes no calls. */
export function backend(rest: Partial<UpstreamBackend> = {}): UpstreamBackend {
  const unused = (): never => {
    throw new Error('the admin endpoints only read');
  };
  return {
    id: backendId('b1'),
    name: 'b1',
    target: 'ipv4:10.0.0.7:50051',
    endpoint: { kind: 'tcp', host: '10.0.0.7', port: 50051 },
    host: null,
    authority: '10.0.0.7:50051',
    link: 'ready',
    generation: 3,
    connections: 1,
    inFlight: 2,
    queued: 0,
    load: 2,
    weight: 1,
    priority: 0,
    maxCalls: null,
    phase: 'serving',
    overdue: false,
    downSince: null,
    lastError: null,
    nextConnectAt: null,
    tryOpen: unused,
    wait: unused,
    cancel: unused,
    ...rest,
  };
}

/** One that is down and is to be tried again 250.4 ms after 1000. */
export const down = backend({
  id: backendId('b2'),
  name: 'b2',
  link: 'backoff',
  connections: 0,
  generation: 0,
  inFlight: 0,
  lastError: 'backend b2 (10.0.0.7:50051): connection refused',
  nextConnectAt: 1250.4,
});
