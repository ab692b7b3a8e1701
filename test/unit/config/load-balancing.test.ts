import { describe, expect, it } from 'vitest';
import { accepted, parse, told } from './config-text.js';

/** A document with this loadBalancingConfig. */
function list(value: unknown): string {
  return JSON.stringify({ loadBalancingConfig: value });
}

function named(value: unknown): string {
  return JSON.stringify({ loadBalancingPolicy: value });
}

const path = 'loadBalancingConfig';

describe('loadBalancingConfig', () => {
  it.each([
    [[{ round_robin: {} }], { kind: 'round_robin' }],
    [[{ pick_first: {} }], { kind: 'pick_first', shuffle: false }],
    [[{ pick_first: { shuffleAddressList: false } }], { kind: 'pick_first', shuffle: false }],
    [[{ pick_first: { shuffleAddressList: true } }], { kind: 'pick_first', shuffle: true }],
    [[{ least_request_experimental: {} }], { kind: 'least_request', choiceCount: 2 }],
    [[{ least_request_experimental: { choiceCount: null } }], { kind: 'least_request', choiceCount: 2 }],
    [[{ least_request_experimental: { choiceCount: 5 } }], { kind: 'least_request', choiceCount: 5 }],
    [[{ least_request: { choiceCount: 2 } }], { kind: 'least_request', choiceCount: 2 }],
  ])('BAL-29: %j is understood', (value, balancing) => {
    expect(told(list(value))).toEqual([]);
    expect(accepted(list(value)).balancing).toEqual(balancing);
  });

  it('BAL-29: absent or null leaves the choice to --load-balancing', () => {
    for (const text of ['{}', list(null)]) expect(accepted(text).balancing).toBeNull();
  });

  it('CFG-12, BAL-30: policies that are not known are passed over, each with a warning', () => {
    const text = list([{ weighted_round_robin: { a: 1 } }, { grpclb: 3 }, { pick_first: {} }]);
    expect(told(text)).toEqual([`ignored-field ${path}[0].weighted_round_robin`, `ignored-field ${path}[1].grpclb`]);
    expect(accepted(text).balancing).toEqual({ kind: 'pick_first', shuffle: false });
  });

  it('BAL-30: the first that is known is used, and what comes after it is not read', () => {
    const text = list([{ round_robin: {} }, { pick_first: { shuffleAddressList: 'x' } }, 3]);
    expect(told(text)).toEqual([]);
    expect(accepted(text).balancing).toEqual({ kind: 'round_robin' });
  });

  it('BAL-31: a list without a policy that is known is an error that names those that are', () => {
    expect(told(list([{ weighted_round_robin: {} }, { x: {} }]))).toEqual([`no-supported-policy ${path}`]);
    expect(parse(list([{ roundRobin: {} }])).findings).toMatchObject([
      { message: expect.stringMatching(/pick_first.*did you mean round_robin\?/), severity: 'error' },
    ]);
    expect(told(list([]))).toEqual([`empty-list ${path}`]);
  });

  it.each([
    [{ round_robin: {} }, `wrong-type ${path}`],
    ['round_robin', `wrong-type ${path}`],
    [['round_robin'], `wrong-type ${path}[0]`],
    [[null], `wrong-type ${path}[0]`],
    [[{}], `one-policy-an-entry ${path}[0]`],
    [[{ round_robin: null }], `one-policy-an-entry ${path}[0]`],
    [[{ round_robin: {}, pick_first: {} }], `one-policy-an-entry ${path}[0]`],
    [[{ x: {}, y: {} }, { round_robin: {} }], `one-policy-an-entry ${path}[0]`],
    [[{ round_robin: [] }], `wrong-type ${path}[0].round_robin`],
    [[{ pick_first: { shuffleAddressList: 'true' } }], `wrong-type ${path}[0].pick_first.shuffleAddressList`],
    [[{ x: {} }, { least_request: { choiceCount: 1 } }], `out-of-range ${path}[1].least_request.choiceCount`],
    [[{ least_request: { choiceCount: 2.5 } }], `out-of-range ${path}[0].least_request.choiceCount`],
    [[{ least_request: { choiceCount: '3' } }], `wrong-type ${path}[0].least_request.choiceCount`],
  ])('BAL-31: %j is an error', (value, finding) => {
    const { config } = parse(list(value));
    expect(config).toBeNull();
    expect(told(list(value)).filter((one) => !one.startsWith('ignored-field'))).toEqual([finding]);
  });

  it('BAL-32: a choiceCount over 10 is taken for 10, with a warning', () => {
    const text = list([{ least_request: { choiceCount: 11 } }]);
    expect(told(text)).toEqual([`choices-over-cap ${path}[0].least_request.choiceCount`]);
    expect(accepted(text).balancing).toEqual({ kind: 'least_request', choiceCount: 10 });
    expect(told(list([{ least_request: { choiceCount: 10 } }]))).toEqual([]);
  });

  it('CFG-04: a field that its policy does not have is a warning with where it belongs', () => {
    const text = list([{ round_robin: { choiceCount: 3, shuffle: true } }]);
    expect(told(text)).toEqual([
      `misplaced-field ${path}[0].round_robin.choiceCount`,
      `unknown-field ${path}[0].round_robin.shuffle`,
    ]);
    expect(told('{"choiceCount":3}')).toEqual(['misplaced-field choiceCount']);
  });

  it('two policies in an entry are told at the second, a list without one at the list', () => {
    expect(parse('{"loadBalancingConfig":[{"x":{},"y":{}}]}').findings).toMatchObject([{ line: 1, column: 33 }]);
    expect(parse('{"loadBalancingConfig":[{"x":{}}]}').findings).toMatchObject([{ line: 1, column: 24 }]);
  });
});

describe('loadBalancingPolicy', () => {
  it.each([
    ['round_robin', { kind: 'round_robin' }],
    ['ROUND_ROBIN', { kind: 'round_robin' }],
    ['pick_first', { kind: 'pick_first', shuffle: false }],
    ['least_request_experimental', { kind: 'least_request', choiceCount: 2 }],
    ['Least_Request', { kind: 'least_request', choiceCount: 2 }],
    ['', null],
    ['UNSPECIFIED', null],
    [null, null],
  ])('BAL-33: %j, deprecated and in any case, is understood', (name, balancing) => {
    expect(told(named(name))).toEqual([]);
    expect(accepted(named(name)).balancing).toEqual(balancing);
  });

  it('BAL-33: another name and another type are errors', () => {
    expect(told(named('grpclb'))).toEqual(['no-supported-policy loadBalancingPolicy']);
    expect(told(named('pic\u212A_first'))).toEqual(['no-supported-policy loadBalancingPolicy']);
    expect(told(named(1))).toEqual(['wrong-type loadBalancingPolicy']);
    expect(parse(named('round-robin')).findings[0]?.message).toContain('did you mean round_robin?');
  });

  it('BAL-33: loadBalancingConfig wins, in either order, with a warning; what it overrules is checked all the same', () => {
    const both = (policy: string) => [
      JSON.stringify({ loadBalancingPolicy: policy, loadBalancingConfig: [{ round_robin: {} }] }),
      JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }], loadBalancingPolicy: policy }),
    ];
    for (const text of both('pick_first')) {
      expect(told(text)).toEqual(['ignored-field loadBalancingPolicy']);
      expect(accepted(text).balancing).toEqual({ kind: 'round_robin' });
    }
    for (const text of both('x')) expect(parse(text).config).toBeNull();
  });
});
