import { describe, expect, it } from 'vitest';
import { type Forwarding, originOf, viaLine, withForwarding } from '../../../src/grpc/forwarding.js';
import { field } from '../../../src/grpc/known-fields.js';
import type { MetadataField } from '../../../src/grpc/metadata.js';
import { readRequest } from '../../../src/grpc/request.js';

const request = (lines: readonly MetadataField[]): readonly MetadataField[] => [
  field(':method', 'POST'),
  field(':path', '/a.B/C'),
  field('content-type', 'application/grpc'),
  ...lines,
];

/** The metadata of a call that comes with these lines, after the content-type, as `name: value`. */
function passed(forwarding: Forwarding, ...lines: readonly (readonly [string, string])[]): readonly string[] {
  const fields = request(lines.map(([name, value]) => field(name, value)));
  const verdict = withForwarding(readRequest(fields, 'hedgerow-', true), forwarding);
  if (verdict.kind !== 'call') throw new Error(JSON.stringify(verdict));
  return verdict.call.fields.slice(1).map(({ name, value }) => `${name}: ${value}`);
}

const untrusting: Forwarding = { origin: originOf('10.0.0.9', null, false), via: null };
const trusting: Forwarding = { origin: originOf('10.0.0.9', null, true), via: null };
const certificate = 'Hash=00;Subject="CN=a"';
const viaOnly: Forwarding = { origin: null, via: viaLine('k3') };

describe('x-forwarded-for and x-forwarded-client-cert', () => {
  it('say where a call comes from, after its own metadata', () => {
    const both = { origin: originOf('10.0.0.9', certificate, false), via: null };
    expect(passed(both, ['a', '1'], ['b', '2'])).toEqual([
      'a: 1',
      'b: 2',
      'x-forwarded-for: 10.0.0.9',
      `x-forwarded-client-cert: ${certificate}`,
    ]);
  });

  it('from a client are removed, also the one that there is nothing to say in', () => {
    const lines = [
      ['x-forwarded-for', '1.1.1.1'],
      ['x-forwarded-client-cert', 'Hash=ff'],
      ['x-forwarded-for', '2.2.2.2'],
      ['x-forwarded-proto', 'https'],
    ] as const;
    expect(passed(untrusting, ...lines)).toEqual(['x-forwarded-proto: https', 'x-forwarded-for: 10.0.0.9']);
    expect(passed({ origin: originOf(null, null, false), via: null }, ...lines)).toEqual(['x-forwarded-proto: https']);
  });

  it('from a client that is trusted stay, ours after them in one line', () => {
    const lines = [
      ['x-forwarded-for', '1.1.1.1'],
      ['a', '1'],
      ['x-forwarded-for', '2.2.2.2, 3.3.3.3'],
      ['x-forwarded-client-cert', 'Hash=ff'],
    ] as const;
    const forwarding = { origin: originOf('10.0.0.9', certificate, true), via: null };
    expect(passed(forwarding, ...lines)).toEqual([
      'a: 1',
      'x-forwarded-for: 1.1.1.1, 2.2.2.2, 3.3.3.3, 10.0.0.9',
      `x-forwarded-client-cert: Hash=ff,${certificate}`,
    ]);
    expect(passed({ origin: originOf(null, null, true), via: null }, ...lines).slice(1)).toEqual([
      'x-forwarded-for: 1.1.1.1, 2.2.2.2, 3.3.3.3',
      'x-forwarded-client-cert: Hash=ff',
    ]);
    const twoCertificates = passed(
      forwarding,
      ['x-forwarded-client-cert', 'Hash=ff'],
      ['x-forwarded-client-cert', 'Hash=fe'],
    );
    expect(twoCertificates.at(-1)).toBe(`x-forwarded-client-cert: Hash=ff,Hash=fe,${certificate}`);
    expect(passed(trusting, ['x-forwarded-for', ''])).toEqual(['x-forwarded-for: 10.0.0.9']);
  });

  it('a joined line is never indexed where a part of it came so', () => {
    const secret = { ...field('x-forwarded-for', '1.1.1.1'), neverIndexed: true };
    const verdict = withForwarding(readRequest(request([secret]), 'hedgerow-', true), trusting);
    expect(verdict).toMatchObject({ call: { fields: [{}, { value: '1.1.1.1, 10.0.0.9', neverIndexed: true }] } });
    const open = withForwarding(
      readRequest(request([{ ...secret, neverIndexed: false }]), 'hedgerow-', true),
      trusting,
    );
    expect(open).toMatchObject({ call: { fields: [{}, { value: '1.1.1.1, 10.0.0.9', neverIndexed: false }] } });
  });

  it.each([
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['::1', '::1'],
    ['::FFFF:7.1.2.3', '7.1.2.3'],
    ['::ffff:a01:203', '::ffff:a01:203'],
    ['2001:db8::ffff:1', '2001:db8::ffff:1'],
    ['64:ff9b::ffff:10.1.2.3', '64:ff9b::ffff:10.1.2.3'],
    ['fe80::1%eth0', 'fe80::1'],
  ])('%s is told as %s', (address, told) => {
    expect(passed({ origin: originOf(address, null, false), via: null })).toEqual([`x-forwarded-for: ${told}`]);
  });

  it('pass as they came where only via is on', () => {
    const lines = [
      ['x-forwarded-for', '1.1.1.1'],
      ['x-forwarded-client-cert', 'Hash=ff'],
    ] as const;
    expect(passed(viaOnly, ...lines)).toEqual([
      'x-forwarded-for: 1.1.1.1',
      'x-forwarded-client-cert: Hash=ff',
      'via: 2 hedgerow-k3',
    ]);
  });
});

describe('via', () => {
  it('names us after all that were passed before', () => {
    const lines = ['1.1 gate', '2 hedgerow-k4, 2 other (hedgerow-k3)', '2 hedgerow-k33'];
    expect(passed(viaOnly, ...lines.map((value) => ['via', value] as const))).toEqual(
      [...lines, '2 hedgerow-k3'].map((value) => `via: ${value}`),
    );
  });

  it.each(['2 hedgerow-k3', '1.1 gate,2  hedgerow-k3 (again)', '1.1 gate, 2 hedgerow-k3, 2 hedgerow-k9'])(
    'that names us already is a loop: %s',
    (value) => {
      const verdict = withForwarding(readRequest(request([field('via', value)]), 'hedgerow-', true), viaOnly);
      expect(verdict).toEqual({
        kind: 'status',
        code: 13,
        reason: 'malformed_request',
        detail: expect.stringMatching(/^a loop: .*via: 2 hedgerow-k3\)/),
      });
    },
  );

  it.each([
    ['via', 'hedgerow-k3'],
    ['via', '2'],
    ['x-via', '2 hedgerow-k3'],
  ])('is not what %s: %s says', (name, value) => {
    expect(passed(viaOnly, [name, value])).toEqual([`${name}: ${value}`, 'via: 2 hedgerow-k3']);
  });

  it('is ordinary metadata where it is off', () => {
    expect(passed(untrusting, ['via', '2 hedgerow-k3'])[0]).toBe('via: 2 hedgerow-k3');
  });
});

it('what is no call stays what it is', () => {
  const verdict = readRequest([field(':method', 'GET')], 'hedgerow-', true);
  expect(withForwarding(verdict, trusting)).toBe(verdict);
});
