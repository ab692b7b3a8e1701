import fc from 'fast-check';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { decodeHealthResponse, encodeHealthRequest } from '../../../src/upstream/health-messages.js';

/** The messages of grpc.health.v1 as protobufjs reads and writes them. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  package grpc.health.v1;
  message HealthCheckRequest { string service = 1; }
  message HealthCheckResponse {
    enum ServingStatus { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; }
    ServingStatus status = 1;
    string later = 2; fixed64 wide = 3; fixed32 narrow = 4; int64 much = 5;
  }`);
const Request = root.lookupType('grpc.health.v1.HealthCheckRequest');
const Response = root.lookupType('grpc.health.v1.HealthCheckResponse');

function decode(...bytes: number[]): number {
  return decodeHealthResponse(Buffer.from(bytes));
}

describe('the messages of grpc.health.v1', () => {
  it('are written as protobufjs writes them, whatever the name', () => {
    for (const service of ['', 'pkg.Service', 'x'.repeat(127), 'x'.repeat(128), 'é'.repeat(300), 'x'.repeat(20_000)]) {
      expect(encodeHealthRequest(service)).toEqual(
        Buffer.from(Request.encode(service === '' ? {} : { service }).finish()),
      );
    }
  });

  it('are read as protobufjs writes them, fields of later versions and all', () => {
    for (const status of [0, 1, 2, 3, 200]) {
      const message = { status, later: 'x'.repeat(200), wide: 5, narrow: 6, much: 5 };
      expect(decodeHealthResponse(Buffer.from(Response.encode(message).finish()))).toBe(status);
    }
    expect(decode()).toBe(0);
  });

  it('that have the field twice mean the last one; one of another type is passed over', () => {
    expect(decode(0x08, 1, 0x08, 2)).toBe(2);
    expect(decode(0x08, 1, 0x0a, 1, 2)).toBe(1);
  });

  it('that are cut or are no messages are told so', () => {
    const is = 'the answer is no grpc.health.v1.HealthCheckResponse: ';
    expect(() => decode(0x08)).toThrow(`${is}it ends inside a number`);
    expect(() => decode(0x08, 0x80)).toThrow(`${is}it ends inside a number`);
    expect(() => decode(0x08, ...Array.from({ length: 10 }, () => 0x80), 0)).toThrow(
      `${is}a number has more than 10 bytes`,
    );
    expect(() => decode(0x12, 3, 1, 1)).toThrow(`${is}it ends inside a field`);
    expect(() => decode(0x19, 0, 0, 0)).toThrow(`${is}it ends inside a field`);
    expect(() => decode(0x25, 0, 0)).toThrow(`${is}it ends inside a field`);
    expect(() => decode(0x0b)).toThrow(`${is}wire type 3 is not known`);
    expect(() => decode(0x00, 1)).toThrow(`${is}a field has the number 0`);
  });

  it('that are any bytes are read, or refused with that sentence', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        try {
          expect(decodeHealthResponse(Buffer.from(bytes))).toBeGreaterThanOrEqual(0);
        } catch (error) {
          expect(String(error)).toContain('the answer is no grpc.health.v1.HealthCheckResponse: ');
        }
      }),
    );
  });
});
