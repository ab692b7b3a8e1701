import { expect, test } from 'vitest';
import { decodeFailure, encodeFailure } from '../../../src/demo/failure-details.js';

const info = { reason: 'RESTARTING', domain: 'orders.demo' };

test('details are google.rpc.Status on the wire, byte for byte', () => {
  const bytes = encodeFailure(14, 'no', info);
  const url = 'type.googleapis.com/google.rpc.ErrorInfo';
  const inner = Buffer.concat([
    Buffer.of(0x0a, 10),
    Buffer.from('RESTARTING'),
    Buffer.of(0x12, 11),
    Buffer.from('orders.demo'),
  ]);
  const any = Buffer.concat([Buffer.of(0x0a, url.length), Buffer.from(url), Buffer.of(0x12, inner.length), inner]);
  expect(bytes).toEqual(
    Buffer.concat([Buffer.of(0x08, 14, 0x12, 2), Buffer.from('no'), Buffer.of(0x1a, any.length), any]),
  );
});

test('what is encoded is decoded', () => {
  expect(decodeFailure(encodeFailure(14, 'no', info))).toEqual(info);
});

test('bytes that are no such message decode to nothing', () => {
  expect(decodeFailure(Buffer.from('ffffff', 'hex'))).toBeNull();
  expect(decodeFailure(Buffer.alloc(0))).toBeNull();
});

test('details of another type are passed over', () => {
  const bytes = encodeFailure(14, 'no', info);
  const other = Buffer.from(bytes.toString('latin1').replace('ErrorInfo', 'RetryInfo'), 'latin1');
  expect(decodeFailure(other)).toBeNull();
});
