import path from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** The messages of test/interop/protos that the cases use, as proto-loader has them. */
export interface EchoStatus {
  readonly code: number;
  readonly message: string;
}
export interface SimpleRequest {
  readonly responseSize?: number;
  readonly payload?: { readonly body: Buffer };
  readonly responseStatus?: EchoStatus | null;
}
export interface OutputRequest {
  readonly responseParameters?: readonly { readonly size: number }[];
  readonly payload?: { readonly body: Buffer };
  readonly responseStatus?: EchoStatus | null;
}
export interface InputRequest {
  readonly payload?: { readonly body: Buffer };
}
export interface WithPayload {
  readonly payload: { readonly body: Buffer } | null;
}

const loaded = loadSync('interop/test.proto', {
  includeDirs: [path.join(import.meta.dirname, 'protos')],
  // What is not sent is read as zero, and a message as null.
  defaults: true,
});
const tree = grpc.loadPackageDefinition(loaded) as unknown as {
  readonly grpc: {
    readonly testing: Readonly<Record<'TestService' | 'UnimplementedService', grpc.ServiceClientConstructor>>;
  };
};

export const { TestService, UnimplementedService } = tree.grpc.testing;
