import type { ServerDuplexStream, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { PackageDefinition } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { Status } from '../grpc/status.js';
import { completeFiles } from './descriptors.js';

/** A service, and what serves it. */
export interface ReflectionPart {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

type InfoStream = ServerDuplexStream<unknown, unknown>;

/**
 * grpc.reflection.v1 and v1alpha, for these services and themselves: by @grpc/reflection, which reads what proto-loader put
 * into their definitions. It serves only what it was made of, adds itself to a server, and answers without regard to whether
 * its client reads: here it is handed a server that takes down what is added, and streams that wait.
 *
 * @param admit what is wrong with the caller's credentials; null: nothing
 */
export function createReflection(
  services: readonly ServiceDefinition[],
  admit: (call: InfoStream) => string | null,
): readonly ReflectionPart[] {
  const own = partsOf({});
  const files = completeFiles([...services, ...own.map(({ definition }) => definition)].flatMap(filesOf));
  // Of a package definition, its files are all that @grpc/reflection reads.
  const described = { files: { fileDescriptorProtos: files } } as unknown as PackageDefinition;
  return partsOf(described).map(({ definition, implementation: { [method]: handle } }) => ({
    definition,
    implementation: {
      [method](call: InfoStream) {
        // grpc-js makes a status of it in a listener of its own.
        call.on('error', () => {});
        const details = admit(call);
        if (details === null) {
          (handle as (stream: ReflectedStream) => void)(patient(call));
          return;
        }
        call.emit('error', { code: Status.UNAUTHENTICATED, details });
        call.resume();
      },
    },
  }));
}

const method = 'ServerReflectionInfo';

/** What @grpc/reflection asks of a stream. */
interface ReflectedStream {
  on(event: 'data' | 'end', listener: (request: unknown) => void): void;
  write(answer: unknown): void;
  end(): void;
}

/** Who does not read what it is told is not listened to until it does. */
function patient(call: InfoStream): ReflectedStream {
  return {
    on: (event, listener) => call.on(event, listener),
    write(answer) {
      if (call.write(answer)) return;
      call.pause();
      call.once('drain', () => call.resume());
    },
    end: () => call.end(),
  };
}

function partsOf(described: PackageDefinition): ReflectionPart[] {
  const parts: ReflectionPart[] = [];
  new ReflectionService(described).addToServer({
    addService(definition, implementation) {
      parts.push({ definition, implementation });
    },
  });
  return parts;
}

/** The descriptors that a service's methods carry, as proto-loader makes them. */
function filesOf(service: ServiceDefinition): Uint8Array[] {
  // Of its own types for methods grpc-js says no more than what it calls itself.
  const methods = Object.values(service) as readonly DescribedMethod[];
  return methods.flatMap(({ requestType, responseType }) => [
    ...(requestType?.fileDescriptorProtos ?? []),
    ...(responseType?.fileDescriptorProtos ?? []),
  ]);
}

interface DescribedMethod {
  readonly requestType?: { readonly fileDescriptorProtos?: readonly Uint8Array[] };
  readonly responseType?: { readonly fileDescriptorProtos?: readonly Uint8Array[] };
}
