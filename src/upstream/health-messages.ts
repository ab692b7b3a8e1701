/** grpc.health.v1.HealthCheckResponse.ServingStatus, open as enums of proto3 are. */
export const ServingStatus = { UNKNOWN: 0, SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 } as const;

export const watchPath = '/grpc.health.v1.Health/Watch';

/** Wire type 2, field 1 of HealthCheckRequest. */
const serviceTag = 0x0a;
/** Field 1 of HealthCheckResponse. */
const statusField = 1;
/** The longest varint. */
const maxVarintBytes = 10;

/** A HealthCheckRequest. @param service empty: the whole server */
export function encodeHealthRequest(service: string): Buffer {
  const name = Buffer.from(service);
  // Defaults are not written (proto3).
  if (name.length === 0) return name;
  const length: number[] = [];
  let rest = name.length;
  for (; rest > 0x7f; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([serviceTag, ...length, rest]), name]);
}

/**
 * The status of a HealthCheckResponse. Fields that are not known are passed over, as later versions may have them. Throws one
 * sentence for what is no such message.
 */
export function decodeHealthResponse(bytes: Buffer): number {
  const reader = new Reader(bytes);
  let status: number = ServingStatus.UNKNOWN;
  while (!reader.done) {
    const tag = reader.varint();
    const field = Math.floor(tag / 8);
    const wireType = tag % 8;
    if (field === 0) throw malformed('a field has the number 0');
    // Of a field that is there twice the last one counts; one of another type is none that is known.
    if (field === statusField && wireType === 0) status = reader.varint();
    else reader.skip(wireType);
  }
  return status;
}

class Reader {
  private readonly bytes: Buffer;
  private at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get done(): boolean {
    return this.at >= this.bytes.length;
  }

  /** Exact up to 2^53: larger ones, negative enums among them, come to some large number. */
  varint(): number {
    let value = 0;
    for (let i = 0; i < maxVarintBytes; i += 1) {
      const byte = this.bytes[this.at];
      if (byte === undefined) throw malformed('it ends inside a number');
      this.at += 1;
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return value;
    }
    throw malformed('a number has more than 10 bytes');
  }

  skip(wireType: number): void {
    switch (wireType) {
      case 0:
        this.varint();
        break;
      case 1:
        this.pass(8);
        break;
      case 2:
        this.pass(this.varint());
        break;
      case 5:
        this.pass(4);
        break;
      default:
        throw malformed(`wire type ${wireType} is not known`);
    }
  }

  private pass(count: number): void {
    if (count > this.bytes.length - this.at) throw malformed('it ends inside a field');
    this.at += count;
  }
}

function malformed(why: string): Error {
  return new Error(`the answer is no grpc.health.v1.HealthCheckResponse: ${why}`);
}
