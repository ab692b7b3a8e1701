import { describe, expect, it } from 'vitest';
import { type ExplainResult, explain } from '../../../src/cli/explain.js';
import { readExplainOptions } from '../../../src/cli/explain-options.js';

const config = `{
  "methodConfig": [
    {
      "name": [{ "service": "shop.Cart", "method": "Add" }],
      "retryPolicy": {
        "maxAttempts": 4,
        "initialBackoff": "0.1s",
        "maxBackoff": "1s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"]
      }
    },
    {
      "name": [{ "service": "shop.Cart" }],
      "hedgingPolicy": { "maxAttempts": 3, "hedgingDelay": "0.05s", "nonFatalStatusCodes": ["UNAVAILABLE"] }
    },
    {
      "name": [{ "service": "shop.Race" }],
      "timeout": "2s",
      "hedgingPolicy": { "maxAttempts": 3, "nonFatalStatusCodes": ["UNAVAILABLE"] }
    },
    { "name": [{ "service": "Orders" }] }
  ]
}
`;
const throttled = config.replace(/\}\n$/, ', "retryThrottling": { "maxTokens": 4, "tokenRatio": 0.5 } }');

function ask(argv: readonly string[], text = config): ExplainResult {
  const read = readExplainOptions(['shop.json', ...argv]);
  if (!read.ok) throw new Error(read.problem);
  const { file, ...options } = read.options;
  return explain(text, file, options);
}

function told(argv: readonly string[], text = config): string {
  const result = ask(argv, text);
  if (!result.ok) throw new Error(result.problem);
  return result.stdout;
}

/** The last block: the timeline alone, without its title. */
function timeline(argv: readonly string[], text = config): string[] {
  const block = told(argv, text).trimEnd().split('\n\n').at(-1) ?? '';
  const [title = '', ...lines] = block.split('\n');
  expect(title).toMatch(/^timeline for /);
  return lines.map((line) => line.replace(/^ +/, ''));
}

const add = '/shop.Cart/Add';
const get = '/shop.Cart/Get';

describe('explain', () => {
  it('tells a retry policy from the entry to the last status', () => {
    expect(told([add, '--script', '14@10ms,14@5ms:pushback=50,0@20ms'])).toBe(`\
/shop.Cart/Add is governed by methodConfig[0] (shop.json:3): its name {"service": "shop.Cart", "method": "Add"} is this method
fitting too, and wider, so without effect (entries are not merged): methodConfig[1] {"service": "shop.Cart"}

retry: up to 4 attempts, one after another, on UNAVAILABLE; waits 100ms, 200ms, 400ms, ± 20%

attempts, each failure with UNAVAILABLE bringing the next
  1  at once
  2  80–120 ms after attempt 1 has failed
  3  160–240 ms after attempt 2 has failed
  4  320–480 ms after attempt 3 has failed
  waits in all: 560–840 ms

timeline for 14@10ms,14@5ms:pushback=50,0@20ms; jitter 1 on each backoff (--random 0.5)
      0 ms  attempt 1 starts
     10 ms  attempt 1 ends UNAVAILABLE; the next attempt in 100 ms (jitter 1)
    110 ms  attempt 2 starts (retry, grpc-previous-rpc-attempts: 1)
    115 ms  attempt 2 ends UNAVAILABLE (pushback: not before 50 ms from now); the next attempt in 50 ms, as the pushback says
    165 ms  attempt 3 starts (retry, grpc-previous-rpc-attempts: 2)
    185 ms  attempt 3 ends OK
    185 ms  the call is committed to attempt 3: it is answered, no further attempt
the client gets OK of attempt 3 after 185 ms
`);
  });

  it('tells hedges with a delay: a failure brings the next forward, an answer cancels the rest', () => {
    expect(told([get, '--script', 'silent,14@5ms,0@30:headers=20'])).toBe(`\
/shop.Cart/Get is governed by methodConfig[1] (shop.json:13): its name {"service": "shop.Cart"} is the default of the service, and no entry names the method

hedge: up to 3 attempts, one every 50ms, the first answer wins; UNAVAILABLE starts the next at once, any other failure ends the call

attempts, while none has been answered
  1  at once
  2  at 50 ms
  3  at 100 ms

timeline for silent,14@5ms,0@30:headers=20
      0 ms  attempt 1 starts; the next in 50 ms
     50 ms  attempt 2 starts (hedge, grpc-previous-rpc-attempts: 1); the next in 50 ms
     55 ms  attempt 2 ends UNAVAILABLE
     55 ms  attempt 3 starts (hedge, grpc-previous-rpc-attempts: 2)
     75 ms  the response headers of attempt 3 come
     75 ms  the call is committed to attempt 3: its answer has begun, no further attempt
     75 ms  attempt 1 is cancelled: attempt 3 has won
     85 ms  attempt 3 ends OK
the client gets OK of attempt 3 after 85 ms
`);
  });

  it('tells hedges without a delay: all at once, within the timeout of the method', () => {
    expect(told(['/shop.Race/Run', '--script', 'silent,14@5,silent'])).toBe(`\
/shop.Race/Run is governed by methodConfig[2] (shop.json:17): its name {"service": "shop.Race"} is the default of the service, and no entry names the method

hedge: up to 3 attempts, all at once, the first answer wins; UNAVAILABLE is waited out, any other failure ends the call
timeout: 2000 ms for all attempts and waits; a client's own deadline rules where it is earlier

attempts, while none has been answered; deadline 2000 ms
  1  at once
  2  at once
  3  at once

timeline for silent,14@5,silent
      0 ms  attempt 1 starts
      0 ms  attempt 2 starts (hedge, grpc-previous-rpc-attempts: 1)
      0 ms  attempt 3 starts (hedge, grpc-previous-rpc-attempts: 2)
      5 ms  attempt 2 ends UNAVAILABLE; no further hedge, as maxAttempts are out; those in flight go on
   2000 ms  the deadline passes
   2000 ms  attempt 1 is cancelled: the deadline passed
   2000 ms  attempt 3 is cancelled: the deadline passed
the client gets DEADLINE_EXCEEDED after 2000 ms: deadline_exceeded (the deadline passed: the client’s own, or the method’s timeout); more: docs/troubleshooting.md#deadline_exceeded
`);
  });

  it.each(['-1', 'abc'])('a pushback of %s stops retries, whatever is left', (value) => {
    expect(timeline([add, '--script', `14@10:pushback=${value}`])).toEqual([
      '0 ms  attempt 1 starts',
      '10 ms  attempt 1 ends UNAVAILABLE (pushback: do not retry)',
      'the client gets UNAVAILABLE of attempt 1 after 10 ms: pushback (the backend said not to try again); more: docs/troubleshooting.md#pushback',
    ]);
  });

  it('a pushback stops hedges, not those in flight', () => {
    expect(timeline([get, '--script', '0@80,14@10:pushback=-1'])).toEqual([
      '0 ms  attempt 1 starts; the next in 50 ms',
      '50 ms  attempt 2 starts (hedge, grpc-previous-rpc-attempts: 1); the next in 50 ms',
      '60 ms  attempt 2 ends UNAVAILABLE (pushback: do not retry); no further hedge, as the pushback says; those in flight go on',
      '80 ms  attempt 1 ends OK',
      '80 ms  the call is committed to attempt 1: it is answered, no further attempt',
      'the client gets OK of attempt 1 after 80 ms',
    ]);
  });

  it('a pushback puts the next hedge off, and a plain failure does not bring it forward', () => {
    expect(timeline([get, '--script', '14@70,14@10:pushback=100,0@5'])).toEqual([
      '0 ms  attempt 1 starts; the next in 50 ms',
      '50 ms  attempt 2 starts (hedge, grpc-previous-rpc-attempts: 1); the next in 50 ms',
      '60 ms  attempt 2 ends UNAVAILABLE (pushback: not before 100 ms from now); the next attempt in 100 ms, as the pushback says',
      '70 ms  attempt 1 ends UNAVAILABLE; the next attempt in 90 ms, as an earlier pushback says',
      '160 ms  attempt 3 starts (hedge, grpc-previous-rpc-attempts: 2)',
      '165 ms  attempt 3 ends OK',
      '165 ms  the call is committed to attempt 3: it is answered, no further attempt',
      'the client gets OK of attempt 3 after 165 ms',
    ]);
  });

  it('the throttle shuts after its tokens, and lets the failure through', () => {
    const text = told([add, '--script', '14@10,14@10'], throttled);
    expect(text).toContain(
      'throttle: 4 of 4 tokens, shared by all calls; UNAVAILABLE, or a do-not-retry pushback, takes 1, an OK gives 0.5; at 2 or fewer no retry is sent\n',
    );
    expect(text).toContain(
      "  3  160–240 ms after attempt 2 has failed; not made if this call alone fails so often: attempt 2's failure shuts the throttle\n",
    );
    expect(text).toContain('; jitter 1 on each backoff (--random 0.5), 4 tokens at the start\n');
    expect(timeline([add, '--script', '14@10,14@10'], throttled)).toEqual([
      '0 ms  attempt 1 starts',
      '10 ms  attempt 1 ends UNAVAILABLE; tokens 4 → 3; the next attempt in 100 ms (jitter 1)',
      '110 ms  attempt 2 starts (retry, grpc-previous-rpc-attempts: 1)',
      '120 ms  attempt 2 ends UNAVAILABLE; tokens 3 → 2',
      'the client gets UNAVAILABLE of attempt 2 after 120 ms: throttled (too many calls fail just now: the retry throttle is shut); more: docs/troubleshooting.md#throttled',
    ]);
  });

  it('--tokens sets where the bucket stands: a hedge that is due finds it shut', () => {
    expect(timeline([get, '--script', '0@80', '--tokens', '1.75'], throttled)).toEqual([
      '0 ms  attempt 1 starts; the next in 50 ms',
      '50 ms  a hedge is due; no further hedge, as the throttle is shut; those in flight go on',
      '80 ms  attempt 1 ends OK; tokens 1.75 → 2.25',
      '80 ms  the call is committed to attempt 1: it is answered, no further attempt',
      'the client gets OK of attempt 1 after 80 ms',
    ]);
    expect(timeline([get, '--script', '0@8'], throttled)[1]).toBe('8 ms  attempt 1 ends OK; tokens stay 4, full');
  });

  it('a status that is not listed is final, and ends the other hedges', () => {
    expect(timeline([get, '--script', 'silent,13@5'])).toEqual([
      '0 ms  attempt 1 starts; the next in 50 ms',
      '50 ms  attempt 2 starts (hedge, grpc-previous-rpc-attempts: 1); the next in 50 ms',
      '55 ms  attempt 2 ends INTERNAL',
      '55 ms  attempt 1 is cancelled: the call is over',
      'the client gets INTERNAL of attempt 2 after 55 ms: fatal_status (INTERNAL is not among the codes that the policy tries again for: the client gets it at once); more: docs/troubleshooting.md#fatal_status',
    ]);
  });

  it('a backoff that would end past the deadline is not begun', () => {
    const argv = [add, '--script', '14@10,14@10,0@1', '--deadline', '300ms'];
    expect(timeline(argv)).toEqual([
      '0 ms  attempt 1 starts',
      '10 ms  attempt 1 ends UNAVAILABLE; the next attempt in 100 ms (jitter 1)',
      '110 ms  attempt 2 starts (retry, grpc-previous-rpc-attempts: 1)',
      '120 ms  attempt 2 ends UNAVAILABLE',
      'the client gets UNAVAILABLE of attempt 2 after 120 ms: backoff_beyond_deadline (the wait before the next attempt would have ended after the deadline); more: docs/troubleshooting.md#backoff_beyond_deadline',
      "not used: the script's last outcome, for want of attempts",
    ]);
    const text = told(argv);
    expect(text).toContain('bringing the next; deadline 300 ms\n');
    expect(text).toContain(
      '3  160–240 ms after attempt 2 has failed; only where the waits leave time before the deadline\n',
    );
    expect(text).toContain('4  320–480 ms after attempt 3 has failed; never made: too late for the deadline\n');
  });

  it("the earlier of the client's deadline and the method's timeout rules", () => {
    const end = (deadline: string): string | undefined =>
      timeline(['/shop.Race/Run', '--script', 'silent', '--deadline', deadline]).at(-1);
    expect(end('1s')).toContain('DEADLINE_EXCEEDED after 1000 ms');
    expect(end('3s')).toContain('DEADLINE_EXCEEDED after 2000 ms');
  });

  it('what no application saw is sent again at once, and not counted', () => {
    expect(timeline([add, '--script', 'refused@1,unsent@2,lost@3,cancel@50'])).toEqual([
      '0 ms  attempt 1 starts',
      '1 ms  attempt 1 ends UNAVAILABLE (refused, so no application saw it)',
      '1 ms  attempt 2 starts (transparent, not counted)',
      '3 ms  attempt 2 ends UNAVAILABLE (its connection was lost before it was sent)',
      '3 ms  attempt 3 starts (transparent, not counted)',
      '6 ms  attempt 3 ends UNAVAILABLE (its connection was lost); the next attempt in 100 ms (jitter 1)',
      '50 ms  the client cancels',
      'the client is told nothing, it cancelled after 50 ms: client_cancelled (the client cancelled the call); more: docs/troubleshooting.md#client_cancelled',
    ]);
  });

  it('attempts that found no backend are ordinary failures, told as such', () => {
    expect(timeline([add, '--script', Array(4).fill('unplaced@0').join(), '--random', '0']).slice(-2)).toEqual([
      '560 ms  attempt 4 ends UNAVAILABLE (no backend could be reached)',
      'the client gets UNAVAILABLE of attempt 4 after 560 ms: no_backend (no backend could be reached); more: docs/troubleshooting.md#no_backend',
    ]);
  });

  it('exhausted attempts are counted without transparent ones', () => {
    expect(timeline([add, '--script', 'refused@0,14@0,14@0,14@0,14@0']).at(-1)).toBe(
      'the client gets UNAVAILABLE of attempt 5 after 700 ms: attempts_exhausted (all 4 attempts that the policy permits failed); more: docs/troubleshooting.md#attempts_exhausted',
    );
  });

  it('an attempt beyond the script is silent, and says so; without a deadline the call stays open', () => {
    expect(timeline([add, '--script', '14@10'])).toEqual([
      '0 ms  attempt 1 starts',
      '10 ms  attempt 1 ends UNAVAILABLE; the next attempt in 100 ms (jitter 1)',
      '110 ms  attempt 2 starts (retry, grpc-previous-rpc-attempts: 1); it has no outcome in the script: silent',
      'the call stays open: nothing more is heard of attempt 2, and there is no deadline (--deadline sets one)',
    ]);
    expect(timeline([add, '--script', '14@10', '--deadline', '1s']).at(-1)).toBe(
      'the client gets DEADLINE_EXCEEDED after 1000 ms: deadline_exceeded (the deadline passed: the client’s own, or the method’s timeout); more: docs/troubleshooting.md#deadline_exceeded',
    );
  });

  it('outcomes that no attempt was left for are told', () => {
    expect(timeline([add, '--script', '0@1,0@1,0@1']).at(-1)).toBe(
      "not used: the script's last 2 outcomes, for want of attempts",
    );
  });

  it.each([
    [['--random', '0'], '80 ms (jitter 0.8)', 'jitter 0.8 on each backoff (--random 0)'],
    [['--random', '.75'], '110 ms (jitter 1.1)', 'jitter 1.1 on each backoff (--random 0.75)'],
    [['--seed', '1'], '105.083 ms (jitter 1.051)', 'jitter drawn with --seed 1'],
  ])('%j draws the wait', (draw, wait, title) => {
    const text = told([add, '--script', '14@10', ...draw]);
    expect(text).toContain(`the next attempt in ${wait}\n`);
    expect(text).toContain(`timeline for 14@10; ${title}\n`);
  });
});

describe('which entry', () => {
  it('none: one attempt, and names that were perhaps meant', () => {
    expect(told(['/shop.cart/add'])).toBe(`\
no entry of methodConfig names /shop.cart/add, its service, or all methods (shop.json)
note: methodConfig[0] names {"service": "shop.Cart", "method": "Add"}, which does not fit: names are compared with regard to case
note: methodConfig[1] names {"service": "shop.Cart"}, which does not fit: names are compared with regard to case

no policy: one attempt; only what no application saw is sent again

attempts: 1, at once
`);
  });

  it.each([
    [
      '/shop.Orders/Get',
      'methodConfig[3] names {"service": "Orders"}, which does not fit: the package is missing, write shop.Orders',
    ],
    [
      '/Race/Run',
      'methodConfig[2] names {"service": "shop.Race"}, which does not fit: it has a package, the method that was asked for has none',
    ],
  ])('%s: a slip with the package', (method, note) => {
    expect(told([method])).toContain(`\nnote: ${note}\n`);
  });

  it('a name with slashes or blanks does not fit, and is told', () => {
    const text = '{"methodConfig":[{"name":[{"service":"/shop.Cart"},{"service":"shop.Cart ","method":"Add"}]}]}';
    const notes = told([add], text).match(/^note: .*$/gm);
    expect(notes).toHaveLength(2);
    for (const note of notes ?? []) expect(note).toContain('a name has no blanks and no outer slashes');
  });

  it('the default of all methods governs what nothing else names', () => {
    const text = '{"methodConfig":[{"name":[{}],"waitForReady":true,"maxRequestMessageBytes":10}]}';
    const [why, , ...rest] = told(['/a.B/C'], text).split('\n');
    expect(why).toBe(
      '/a.B/C is governed by methodConfig[0] (shop.json:1): its name {} is the default of all methods, and no entry names the method or its service',
    );
    expect(rest).toContain('waitForReady: where no backend can be reached, it waits for one');
    expect(rest).toContain('request messages: at most 10 bytes each');
  });

  it('a byte order mark moves no line', () => {
    expect(told([add], `\uFEFF${config}`)).toContain('(shop.json:3)');
  });

  it('the cap on attempts is told where it cuts', () => {
    const many = config.replace('"maxAttempts": 4', '"maxAttempts": 9');
    expect(told([add], many)).toContain('note: maxAttempts is 9 in the file, cut to 5 by --max-attempts-limit\n');
    expect(told([add, '--max-attempts-limit', '9'], many)).not.toContain('note:');
    const off = told([add, '--max-attempts-limit', '1']);
    expect(off).toContain('note: its policy is off: --max-attempts-limit is 1\n');
    expect(off).toContain('attempts: 1, at once\n');
  });

  it('a throttle that never permits a retry is told', () => {
    const tiny = throttled.replace('"maxTokens": 4', '"maxTokens": 2');
    expect(told([add], tiny)).toContain('note: the throttle never permits a retry');
    expect(told([get], tiny)).not.toContain('note: the throttle');
    expect(told([add], throttled)).not.toContain('note:');
  });

  it('a file name from outside is no control sequence', () => {
    const read = readExplainOptions(['\u001b[31m.json', add]);
    if (!read.ok) throw new Error(read.problem);
    const { file, ...options } = read.options;
    const result = explain(config, file, options);
    expect(result.ok && result.stdout).toContain('(\\u001b[31m.json:3)');
  });
});
