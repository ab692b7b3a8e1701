import type { ServerUnaryCall, ServerWritableStream, sendUnaryData, UntypedServiceImplementation } from '@grpc/grpc-js';
import { Status } from '../grpc/status.js';

type ServingStatus = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';

export interface HealthRequest {
  readonly service: string;
}
export interface HealthResponse {
  readonly status: ServingStatus;
}

/** The service grpc.health.v1.Health, whose services all serve or none. */
export interface HealthService {
  readonly implementation: UntypedServiceImplementation;
  /** Tells those who watch, if it changed. */
  setServing(serving: boolean): void;
}

/** @param services the names asked for besides the empty one, which is the server as a whole */
export function createHealthService(services: readonly string[]): HealthService {
  const known = new Set(['', ...services]);
  const watchers = new Set<ServerWritableStream<HealthRequest, HealthResponse>>();
  let status: ServingStatus = 'SERVING';

  function check(
    { request }: ServerUnaryCall<HealthRequest, HealthResponse>,
    answer: sendUnaryData<HealthResponse>,
  ): void {
    if (known.has(request.service)) answer(null, { status });
    else answer({ code: Status.NOT_FOUND, details: 'no such service here' });
  }

  function list(_call: ServerUnaryCall<object, object>, answer: sendUnaryData<object>): void {
    answer(null, { statuses: Object.fromEntries([...known].map((name) => [name, { status }])) });
  }

  /** Stays open, for an unknown service too (health.proto, Watch). */
  function watch(call: ServerWritableStream<HealthRequest, HealthResponse>): void {
    if (!known.has(call.request.service)) {
      call.write({ status: 'SERVICE_UNKNOWN' });
      return;
    }
    watchers.add(call);
    call.on('cancelled', () => watchers.delete(call));
    call.write({ status });
  }

  return {
    implementation: { Check: check, List: list, Watch: watch },
    setServing(serving) {
      const next = serving ? 'SERVING' : 'NOT_SERVING';
      if (next === status) return;
      status = next;
      for (const call of watchers) call.write({ status });
    },
  };
}
