import { describe, expect, it } from 'vitest';
import { compileMethods, type MethodPolicy } from '../../../src/config/methods.js';
import { accepted, parse, told } from './config-text.js';

const at = 'methodConfig[0]';

function entry(fields: object): string {
  return JSON.stringify({ methodConfig: [{ name: [{ service: 'S' }], ...fields }] });
}

function policyOf(fields: object): MethodPolicy {
  return compileMethods(accepted(entry(fields))).lookup('/S/M');
}

/** The one finding, an error, of an entry with these fields. */
function refused(fields: object): string {
  const { config, findings } = parse(entry(fields));
  expect(config).toBeNull();
  expect(findings).toHaveLength(1);
  return `${findings[0]?.rule} ${findings[0]?.path.replace(`${at}.`, '')}`;
}

describe('group 1f: other fields of an entry', () => {
  it('good values are in force for the methods of the entry, and for no others', () => {
    const fields = {
      timeout: '1.5s',
      waitForReady: true,
      maxRequestMessageBytes: 10,
      maxResponseMessageBytes: 4194304,
    };
    const inForce = { ...fields, timeout: 1500 };
    expect(policyOf(fields)).toEqual({ ...inForce, plan: { kind: 'none' }, named: false, entry: 0 });
    expect(compileMethods(accepted(entry(fields))).lookup('/T/M')).toMatchObject({
      timeout: null,
      waitForReady: false,
      maxRequestMessageBytes: null,
      maxResponseMessageBytes: null,
    });
    const all = accepted(JSON.stringify({ methodConfig: [{ name: [{}], ...fields }] }));
    expect(compileMethods(all).lookup('/T/M')).toEqual({ ...inForce, plan: { kind: 'none' }, named: false, entry: 0 });
  });

  it('an entry hides its default whole: a field that it leaves out is not taken from there', () => {
    const text = JSON.stringify({
      methodConfig: [
        { name: [{}], timeout: '1s', waitForReady: true, maxRequestMessageBytes: 1 },
        { name: [{ service: 'S' }], timeout: '2s' },
      ],
    });
    expect(compileMethods(accepted(text)).lookup('/S/M')).toMatchObject({
      timeout: 2000,
      waitForReady: false,
      maxRequestMessageBytes: null,
    });
  });

  it.each([
    ['3c', 'bad-duration'],
    ['1ms', 'bad-duration'],
    [3, 'wrong-type'],
    ['-1s', 'out-of-range'],
  ])('CFG-81: a timeout of %j is refused', (timeout, rule) => expect(refused({ timeout })).toBe(`${rule} timeout`));

  it('CFG-81: a timeout of zero is accepted with a warning, and is no absent one', () => {
    expect(told(entry({ timeout: '0s' }))).toEqual([`zero-timeout ${at}.timeout`]);
    expect(policyOf({ timeout: '0s' }).timeout).toBe(0);
    expect(policyOf({ timeout: null }).timeout).toBeNull();
  });

  it.each(['true', 1, 0, []])('CFG-82: waitForReady %j is refused', (waitForReady) => {
    expect(refused({ waitForReady })).toBe('wrong-type waitForReady');
  });

  it.each([true, false])('CFG-82: waitForReady %j is accepted', (waitForReady) => {
    expect(policyOf({ waitForReady }).waitForReady).toBe(waitForReady);
  });

  describe.each(['maxRequestMessageBytes', 'maxResponseMessageBytes'] as const)('%s', (field) => {
    it.each([0, 1, 2_147_483_648, 4_294_967_295])('CFG-87: %d is accepted as it is', (bytes) => {
      expect(policyOf({ [field]: bytes })[field]).toBe(bytes);
    });

    it.each([
      ['10', 'wrong-type'],
      [true, 'wrong-type'],
      [-1, 'out-of-range'],
      [1.5, 'out-of-range'],
      [4_294_967_296, 'out-of-range'],
    ])('CFG-87: %j is refused', (bytes, rule) => expect(refused({ [field]: bytes })).toBe(`${rule} ${field}`));
  });

  it("grpc-js's own spellings of the sizes are unknown, with the right ones named", () => {
    const text = entry({ maxRequestBytes: 10, maxResponseBytes: 10 });
    expect(parse(text).findings).toMatchObject([
      { rule: 'unknown-field', message: expect.stringContaining('did you mean maxRequestMessageBytes?') },
      { rule: 'unknown-field', message: expect.stringContaining('did you mean maxResponseMessageBytes?') },
    ]);
    expect(policyOf({ maxRequestBytes: 10 }).maxRequestMessageBytes).toBeNull();
  });
});
