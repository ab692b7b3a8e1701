import { Status, type StatusCode } from './status.js';

/** The status of an answer that has an HTTP status but no grpc-status (gRPC http-grpc-status-mapping; PRX-19). */
export function statusOfHttp(httpStatus: number): StatusCode {
  switch (httpStatus) {
    case 400:
      return Status.INTERNAL;
    case 401:
      return Status.UNAUTHENTICATED;
    case 403:
      return Status.PERMISSION_DENIED;
    case 404:
      return Status.UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
      return Status.UNAVAILABLE;
    default:
      return Status.UNKNOWN;
  }
}
