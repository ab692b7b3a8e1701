import { fileURLToPath } from 'node:url';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { RegistrationFields, RegistryMessage, RegistryReply, UpdateFields } from './types.js';

/** Where protos/ is, from src/ and from dist/ alike. */
const protoRoot = fileURLToPath(new URL('../../protos', import.meta.url));

/** The largest RegisterRequest (bytes): a name and a path at their longest are a tenth of it. */
export const maxMessageSize = 8 * 1024;

interface RegistryService extends ServiceDefinition {
  readonly Register: MethodDefinition<RegistryMessage, RegistryReply>;
}

/** RegisterRequest as proto-loader gives it without defaults: what is absent on the wire is absent here. */
interface WireRequest {
  readonly registration?: Partial<RegistrationFields>;
  readonly update?: UpdateFields;
  readonly heartbeat?: object;
  readonly leaving?: object;
}

const path = '/hedgerow.registry.v1.Registry/Register';

/**
 * The registry's method with our own types. Reads protos/; throws where it is missing or broken, which means a broken
 * installation. A request that cannot be read comes as `malformed`: grpc-js would end the stream of a decoder that throws
 * so that it could not be told from one that broke, and a backend would pass for dead because it sent nonsense.
 */
export function loadRegistryService(): RegistryService {
  const definitions = loadSync('hedgerow/registry/v1/registry.proto', { includeDirs: [protoRoot], longs: Number });
  // The interfaces above say what the file says; nothing can check that but registrations themselves.
  const service = definitions['hedgerow.registry.v1.Registry'] as unknown as {
    readonly Register: MethodDefinition<unknown, unknown>;
  };
  const { requestDeserialize, responseSerialize } = service.Register;
  return {
    Register: {
      // With the types that reflection tells.
      ...service.Register,
      path,
      requestStream: true,
      responseStream: true,
      // Servers neither write requests nor read responses.
      requestSerialize: () => Buffer.alloc(0),
      responseDeserialize: () => ({ kind: 'updated' }),
      requestDeserialize(bytes) {
        if (bytes.length > maxMessageSize) {
          const problem = `a message of ${bytes.length} bytes; at most ${maxMessageSize} are taken`;
          return { kind: 'malformed', problem };
        }
        try {
          return readMessage(requestDeserialize(bytes) as WireRequest);
        } catch {
          return { kind: 'malformed', problem: 'a message that is not a hedgerow.registry.v1.RegisterRequest' };
        }
      },
      responseSerialize: (reply) => responseSerialize(writeReply(reply)),
    },
  };
}

/** The service grpc.health.v1.Health. Throws as loadRegistryService does. */
export function loadHealthService(): ServiceDefinition {
  const definitions = loadSync('grpc/health/v1/health.proto', {
    includeDirs: [protoRoot],
    defaults: true,
    enums: String,
  });
  return definitions['grpc.health.v1.Health'] as unknown as ServiceDefinition;
}

function readMessage({ registration, update, heartbeat, leaving }: WireRequest): RegistryMessage {
  if (registration !== undefined) {
    const { name = '', target = '', weight = 0, priority = 0, maxCalls = 0, heartbeats = false } = registration;
    return { kind: 'registration', fields: { name, target, weight, priority, maxCalls, heartbeats } };
  }
  if (update !== undefined) return { kind: 'update', fields: update };
  if (heartbeat !== undefined) return { kind: 'heartbeat' };
  return { kind: leaving === undefined ? 'unknown' : 'leaving' };
}

function writeReply(reply: RegistryReply): object {
  switch (reply.kind) {
    case 'registered':
      return { registered: { generation: reply.generation, heartbeatIntervalMs: reply.heartbeatInterval } };
    case 'updated':
      return { updated: {} };
    case 'rejected':
      return { rejected: { reason: reply.reason } };
    case 'left':
      return { left: {} };
    default:
      return reply satisfies never;
  }
}
