import { describe, expect, it } from 'vitest';
import { diffConfigs } from '../../../src/config/config-diff.js';
import { accepted, retry } from './config-text.js';

interface Document {
  readonly methodConfig?: readonly object[];
  readonly retryThrottling?: object;
  readonly loadBalancingConfig?: readonly object[];
}

function diff(before: Document, after: Document, limit = 5): readonly string[] {
  return diffConfigs(accepted(JSON.stringify(before), limit), accepted(JSON.stringify(after), limit));
}

/** One entry with these fields for one name. */
function only(name: object, fields: object): Document {
  return { methodConfig: [{ name: [name], ...fields }] };
}

const method = { service: 'pkg.S', method: 'M' };
const hedge = { maxAttempts: 3, hedgingDelay: '0.05s', nonFatalStatusCodes: ['UNAVAILABLE'] };
const retrying = { retryPolicy: retry };
const hedging = { hedgingPolicy: hedge };

describe('diffConfigs', () => {
  it('tells one kind of policy from another by their outlines', () => {
    expect(diff(only(method, retrying), only(method, hedging))).toEqual([
      '/pkg.S/M: retry 4 attempts → hedge 3 attempts, 50ms',
    ]);
    expect(diff(only(method, hedging), only(method, {}))).toEqual(['/pkg.S/M: hedge 3 attempts, 50ms → no policy']);
    const together = { hedgingPolicy: { ...hedge, hedgingDelay: '0s' } };
    expect(diff(only(method, {}), only(method, together))).toEqual([
      '/pkg.S/M: no policy → hedge 3 attempts, all at once',
    ]);
  });

  it.each([
    [{ maxAttempts: 2 }, 'maxAttempts 4 → 2'],
    [{ initialBackoff: '0.100000001s' }, 'initialBackoff 100ms → 100.000001ms'],
    [{ maxBackoff: '1.000000001s' }, 'maxBackoff 1s → 1.000000001s'],
    [{ maxBackoff: '120s' }, 'maxBackoff 1s → 2m'],
    [{ backoffMultiplier: 1.5 }, 'backoffMultiplier 2 → 1.5'],
    [{ retryableStatusCodes: [14, 'ABORTED'] }, 'retryableStatusCodes UNAVAILABLE → ABORTED or UNAVAILABLE'],
    [{ maxAttempts: 3, backoffMultiplier: 1 }, 'maxAttempts 4 → 3; backoffMultiplier 2 → 1'],
  ])('tells a retryPolicy with %j by its field', (fields, words) => {
    expect(diff(only(method, retrying), only(method, { retryPolicy: { ...retry, ...fields } }))).toEqual([
      `/pkg.S/M: ${words}`,
    ]);
  });

  it.each([
    [{ maxAttempts: 2 }, 'maxAttempts 3 → 2'],
    [{ hedgingDelay: '1.5s' }, 'hedgingDelay 50ms → 1.5s'],
    [{ nonFatalStatusCodes: [] }, 'nonFatalStatusCodes UNAVAILABLE → no status'],
  ])('tells a hedgingPolicy with %j by its field', (fields, words) => {
    expect(diff(only(method, hedging), only(method, { hedgingPolicy: { ...hedge, ...fields } }))).toEqual([
      `/pkg.S/M: ${words}`,
    ]);
  });

  it.each([
    [undefined, [{ round_robin: {} }], 'as --load-balancing says → round_robin'],
    [[{ x: {} }, { round_robin: {} }], [{ pick_first: {} }], 'round_robin → pick_first'],
    [[{ pick_first: {} }], [{ pick_first: { shuffleAddressList: true } }], 'pick_first → pick_first, shuffled'],
    [[{ least_request: {} }], [{ least_request: { choiceCount: 3 } }], 'least_request of 2 → least_request of 3'],
  ])('BAL-34: tells another load balancing: %j and %j', (before, after, words) => {
    const top = (loadBalancingConfig: readonly object[] | undefined) => ({ loadBalancingConfig });
    expect(diff(top(before) as Document, top(after) as Document)).toEqual([`load balancing: ${words}`]);
    expect(diff(top(after) as Document, top(after) as Document)).toEqual([]);
  });

  it('tells the other fields of an entry', () => {
    const fields = { timeout: '1s', waitForReady: true, maxRequestMessageBytes: 0, maxResponseMessageBytes: 4096 };
    expect(diff(only(method, {}), only(method, fields))).toEqual([
      '/pkg.S/M: timeout none → 1s; waitForReady false → true; maxRequestMessageBytes none → 0; maxResponseMessageBytes none → 4096',
    ]);
    expect(diff(only(method, fields), only(method, { ...fields, timeout: '0.25s' }))).toEqual([
      '/pkg.S/M: timeout 1s → 250ms',
    ]);
  });

  it('tells a name that came or went by what its methods had and have', () => {
    expect(diff({}, only(method, retrying))).toEqual(['/pkg.S/M (added): no policy → retry 4 attempts']);
    expect(diff(only({ service: 'pkg.S' }, hedging), {})).toEqual([
      '/pkg.S/* (removed): hedge 3 attempts, 50ms → no policy',
    ]);
    expect(diff(only({}, retrying), {})).toEqual(['all other methods (removed): retry 4 attempts → no policy']);
  });

  it('knows the default that a removed name falls back to', () => {
    const both = {
      methodConfig: [
        { name: [{ service: 'pkg.S' }], ...hedging },
        { name: [method], ...retrying },
      ],
    };
    expect(diff(both, only({ service: 'pkg.S' }, hedging))).toEqual([
      '/pkg.S/M (removed): retry 4 attempts → hedge 3 attempts, 50ms',
    ]);
    expect(diff(both, only(method, retrying))).toEqual(['/pkg.S/* (removed): hedge 3 attempts, 50ms → no policy']);
  });

  it('keeps the order of the new config, with what is gone and then the bucket at the end', () => {
    const [a, b, c] = ['A', 'B', 'C'].map((service) => ({ name: [{ service }], ...retrying }));
    const before = { methodConfig: [a, c].flatMap((entry) => entry ?? []) };
    const after = {
      methodConfig: [b, { name: [{ service: 'A' }] }].flatMap((entry) => entry ?? []),
      retryThrottling: { maxTokens: 10, tokenRatio: 0.57 },
    };
    expect(diff(before, after)).toEqual([
      '/B/* (added): no policy → retry 4 attempts',
      '/A/*: retry 4 attempts → no policy',
      '/C/* (removed): retry 4 attempts → no policy',
      'retryThrottling: none → 10 tokens, ratio 0.57',
    ]);
  });

  it('tells the bucket that changed or went', () => {
    const bucket = (maxTokens: number, tokenRatio: number) => ({ retryThrottling: { maxTokens, tokenRatio } });
    expect(diff(bucket(10, 0.1), {})).toEqual(['retryThrottling: 10 tokens, ratio 0.1 → none']);
    expect(diff(bucket(4, 0.1), bucket(10, 0.1))).toEqual([
      'retryThrottling: 4 tokens, ratio 0.1 → 10 tokens, ratio 0.1',
    ]);
  });

  it('is empty where no call can tell the two configs apart', () => {
    const entries = [
      { name: [{ service: 'A' }], ...retrying },
      { name: [{ service: 'B' }], waitForReady: true },
    ];
    const same = [
      [{ methodConfig: entries }, { methodConfig: entries.toReversed() }],
      [only({}, retrying), { methodConfig: [{ name: [{}, { service: 'A' }, method], ...retrying }] }],
      [only({}, {}), only({}, { waitForReady: false })],
      [{}, only(method, {})],
      [{}, only({ service: 'S', method: 'a/b' }, retrying)],
      [{}, { methodConfig: [retrying] }],
      [
        only(method, { retryPolicy: { ...retry, maxAttempts: 8 } }),
        only(method, { retryPolicy: { ...retry, maxAttempts: 9 } }),
      ],
    ] as const;
    expect(same.map(([before, after]) => diff(before, after))).toEqual(same.map(() => []));
  });

  it('a name with control characters stays on one line', () => {
    const lines = diff({}, only({ service: 'a\nb\u2028c' }, retrying));
    expect(lines).toEqual(['/a\\u000ab\\u2028c/* (added): no policy → retry 4 attempts']);
  });
});
