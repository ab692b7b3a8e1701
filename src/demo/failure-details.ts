import path from 'node:path';
import protobuf from 'protobufjs';
import { protoRoot } from './protocol.js';

/** The metadata key under which gRPC carries google.rpc.Status. */
export const detailsKey = 'grpc-status-details-bin';

/** google.rpc.ErrorInfo, without its metadata. */
export interface FailureInfo {
  readonly reason: string;
  readonly domain: string;
}

const infoUrl = 'type.googleapis.com/google.rpc.ErrorInfo';

const root = new protobuf.Root();
root.resolvePath = (_origin, target) => path.join(protoRoot, target);
root.loadSync('google/rpc/status.proto');
const statusType = root.lookupType('google.rpc.Status');
const infoType = root.lookupType('google.rpc.ErrorInfo');

/** A google.rpc.Status with one ErrorInfo, as the value of `grpc-status-details-bin`. */
export function encodeFailure(code: number, message: string, info: FailureInfo): Buffer {
  const value = infoType.encode(infoType.create(info)).finish();
  const details = [{ type_url: infoUrl, value }];
  return Buffer.from(statusType.encode(statusType.fromObject({ code, message, details })).finish());
}

/** The first ErrorInfo in a value of `grpc-status-details-bin`; null where there is none or the bytes are no such message. */
export function decodeFailure(bytes: Uint8Array): FailureInfo | null {
  try {
    const status = statusType.toObject(statusType.decode(bytes), { arrays: true });
    for (const any of status['details']) {
      if (any.type_url !== infoUrl) continue;
      const { reason, domain } = infoType.toObject(infoType.decode(any.value), { defaults: true });
      return { reason: String(reason), domain: String(domain) };
    }
    return null;
  } catch {
    return null;
  }
}
