import type { ServerDuplexStream, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { PackageDefinition } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { Status } from '../grpc/status.js';
import { completeFiles, messagesOf } from './descriptors.js';

/** A service, and what serves it. */
export interface ReflectionPart {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

type InfoStream = ServerDuplexStream<unknown, unknown>;

/**
 * grpc.reflection.v1 and v1alpha, for these services and themselves: by @grpc/reflection, which reads what proto-loader put
 * into their definitions. It serves only what it was made of, adds itself to a server, and answers without regard to whether
 * its client reads: here it is handed a server that takes down what is added, and streams that wait and that mend its answers.
 *
 * @param admit what is wrong with the caller's credentials; null: nothing
 */
export function createReflection(
  services: readonly ServiceDefinition[],
  admit: (call: InfoStream) => string | null,
): readonly ReflectionPart[] {
  const own = partsOf({});
  const files = completeFiles([...services, ...own.map(({ definition }) => definition)].flatMap(filesOf));
  const messages = messagesOf(files);
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
          (handle as (stream: ReflectedStream) => void)(patient(call, messages));
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
  write(answer: ReflectionAnswer): void;
  end(): void;
}

/** Of an answer as @grpc/reflection makes it, what is mended here. */
interface ReflectionAnswer {
  readonly validHost?: unknown;
  readonly originalRequest?: Readonly<Record<string, unknown>>;
  readonly [response: string]: unknown;
}

/** Who does not read what it is told is not listened to until it does. */
function patient(call: InfoStream, messages: ReadonlySet<string>): ReflectedStream {
  return {
    on: (event, listener) => call.on(event, listener),
    write(answer) {
      if (call.write(mended(answer, messages))) return;
      call.pause();
      call.once('drain', () => call.resume());
    },
    end: () => call.end(),
  };
}

/** What is asked for by a name, and how an answer says that it is not there. */
const named: readonly (readonly [request: string, missing: string])[] = [
  ['fileContainingSymbol', 'Symbol not found:'],
  ['fileByFilename', 'Proto file not found:'],
  ['allExtensionNumbersOfType', 'Extensions not found for symbol'],
];

/**
 * @grpc/reflection looks names up in plain objects, where it finds `constructor` and the like; and it takes a type without
 * extensions for one that is not there, for which reflection.proto has NOT_FOUND.
 */
function mended(answer: ReflectionAnswer, messages: ReadonlySet<string>): ReflectionAnswer {
  const { validHost, originalRequest = {} } = answer;
  for (const [request, missing] of named) {
    const name = originalRequest[request];
    if (originalRequest['messageRequest'] !== request || typeof name !== 'string') continue;
    if (name in Object.prototype)
      return {
        validHost,
        originalRequest,
        errorResponse: { errorCode: Status.NOT_FOUND, errorMessage: `${missing} ${name}` },
      };
    if (request === 'allExtensionNumbersOfType' && 'errorResponse' in answer && messages.has(name))
      return {
        validHost,
        originalRequest,
        allExtensionNumbersResponse: { baseTypeName: name, extensionNumber: [] },
      };
  }
  return answer;
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
