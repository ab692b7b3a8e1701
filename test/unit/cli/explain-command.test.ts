import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { explain } from '../../../src/cli/explain.js';
import { explainFlags, readExplainOptions } from '../../../src/cli/explain-options.js';
import { commandsOn } from '../../support/command.js';

const files: Readonly<Record<string, string>> = {
  'shop.json': JSON.stringify({
    methodConfig: [
      {
        name: [{ service: 'shop.Cart', method: 'Add' }],
        retryPolicy: {
          maxAttempts: 2,
          initialBackoff: '0.1s',
          maxBackoff: '1s',
          backoffMultiplier: 2,
          retryableStatusCodes: ['UNAVAILABLE', 'ABORTED'],
        },
      },
      { name: [{ service: 'shop.Cart' }], timeout: '1s', hedgingPolicy: { maxAttempts: 2, hedgingDelay: '0.05s' } },
    ],
    retryThrottling: { maxTokens: 10, tokenRatio: 0.1 },
  }),
  'plain.json': '{}',
  'bad.json': '{\n  "methodConfig": 3\n}',
  'worse.json': '{"methodConfig":[{"name":[{}],"hedgingPolicy":{"maxAttempts":1},"timeout":"1"}]}',
};

const hedgerow = commandsOn(files);

const add = '/shop.Cart/Add';

async function json(...argv: readonly string[]): Promise<unknown> {
  const { code, out, err } = await hedgerow('explain', 'shop.json', ...argv, '--json');
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out);
}

describe('hedgerow explain', () => {
  it('prints on stdout alone, and ends with 0', async () => {
    const { code, out, err } = await hedgerow('explain', 'shop.json', add);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^\/shop\.Cart\/Add is governed by methodConfig\[0\] \(shop\.json:1\)/);
    expect(out).not.toContain('timeline');
  });

  it('has a help with its flags and its script', async () => {
    const { code, out } = await hedgerow('explain', '--help');
    expect(code).toBe(0);
    const flags = ['--script', '--deadline', '--tokens', '--random', '--seed', '--json', '--max-attempts-limit'];
    for (const flag of flags) expect(out).toMatch(new RegExp(`^ {2}${flag}`, 'm'));
    for (const item of ['refused@TIME', ':pushback=VALUE', 'cancel@TIME']) expect(out).toContain(`  ${item}`);
    expect(out.split('\n').filter((line) => line.length > 80 && !line.startsWith('  hedgerow '))).toEqual([]);
  });

  it.each([
    [
      ['bad.json', add],
      'bad.json:2:19: error: methodConfig: must be an array of entries; got 3 [wrong-type]; more: hedgerow check bad.json',
    ],
    [['worse.json', add], '; 1 more, all told by: hedgerow check worse.json'],
    [['bad.json', add, '--json'], '[wrong-type]; more: hedgerow check bad.json'],
  ])('%j: an invalid config is one line, exit 1', async (argv, words) => {
    const { code, out, err } = await hedgerow('explain', ...argv);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^hedgerow explain: [^\n]+\n$/);
    expect(err).toContain(words);
  });

  it.each([
    [[], 'no file; write hedgerow explain FILE /pkg.Service/Method'],
    [['shop.json'], 'no method; write hedgerow explain FILE /pkg.Service/Method'],
    [['shop.json', add, '/a/b'], 'one method at a time; "/a/b" is a second one'],
    [['nowhere.json', add], 'nowhere.json: no such file'],
    [['shop.json', 'shop.Cart/Add'], '"shop.Cart/Add" is no method\'s path; write /shop.Cart/Add'],
    [['shop.json', 'shop.Cart.Add'], '"shop.Cart.Add" is no method\'s path; write /shop.Cart/Add'],
    [['shop.json', '/Add'], '"/Add" is no method\'s path; write /pkg.Service/Method'],
    [['shop.json', '/a b/c'], '"/a b/c" is no method\'s path; write /pkg.Service/Method'],
    [['shop.json', add, '--scrpt', 'x'], 'unknown flag --scrpt; did you mean --script?'],
    [['shop.json', add, '--script', '14@1,x@2'], '--script: at character 6, "x@2": "x" is no status, name or number'],
    [
      ['shop.json', add, '--deadline', '2'],
      '--deadline "2": a duration needs a unit; write a number and ms, s, m or h, like 250ms, 1.5s or 2m',
    ],
    [['shop.json', add, '--tokens', 'x'], '--tokens "x": must be a number like 7 or 7.5'],
    [['shop.json', add, '--tokens=-1'], '--tokens "-1": must be a number like 7 or 7.5'],
    [['shop.json', add, '--tokens', '10.001'], '--tokens 10.001: the bucket holds at most 10'],
    [['plain.json', add, '--tokens', '1'], '--tokens: plain.json has no retryThrottling, so there is no bucket'],
    [['shop.json', add, '--random', '1'], '--random "1": must be a number from 0 to below 1'],
    [['shop.json', add, '--random', '.'], '--random ".": must be a number from 0 to below 1'],
    [['shop.json', add, '--random='], '--random "": must be a number from 0 to below 1'],
    [['shop.json', add, '--seed', 'x'], '--seed "x": must be an integer from 0 to 4294967295'],
    [['shop.json', add, '--seed', '1', '--random', '0'], '--random and --seed: give one of them'],
    [['shop.json', add, '--max-attempts-limit', '0'], '--max-attempts-limit "0": must be an integer from 1 to 1000'],
  ])('%j is wrong usage: one line, exit 2', async (argv, words) => {
    expect(await hedgerow('explain', ...argv)).toEqual({ code: 2, out: '', err: `hedgerow explain: ${words}\n` });
  });

  it('CFG-28: a path without a method has its service’s default', async () => {
    const { code, out } = await hedgerow('explain', 'shop.json', '/shop.Cart/');
    expect(code).toBe(0);
    expect(out).toMatch(/^\/shop\.Cart\/ is governed by methodConfig\[1\]/);
  });
});

describe('hedgerow explain --json', () => {
  it('without a script: the entry, the policy, the bucket and the schedule', async () => {
    expect(await json(add, '--deadline', '150ms', '--tokens', '6')).toEqual({
      file: 'shop.json',
      method: add,
      entry: { index: 0, line: 1, column: 18, fits: 'method', name: { service: 'shop.Cart', method: 'Add' } },
      passed_over: [
        {
          index: 1,
          line: 1,
          column: expect.any(Number),
          fits: 'service',
          name: { service: 'shop.Cart', method: null },
        },
      ],
      notes: [],
      policy: {
        kind: 'retry',
        max_attempts: 2,
        initial_backoff_ms: 100,
        max_backoff_ms: 1000,
        backoff_multiplier: 2,
        retryable_status_codes: ['ABORTED', 'UNAVAILABLE'],
      },
      timeout_ms: null,
      wait_for_ready: false,
      max_request_message_bytes: null,
      max_response_message_bytes: null,
      deadline_ms: 150,
      throttle: { tokens: 6, max_tokens: 10, token_ratio: 0.1, threshold: 5 },
      schedule: [
        { attempt: 1, wait_ms: [0, 0], at_ms: [0, 0], deadline: 'in_time', throttled: false },
        { attempt: 2, wait_ms: [80, 120], at_ms: [80, 120], deadline: 'in_time', throttled: true },
      ],
      timeline: null,
    });
  });

  it('where nothing fits', async () => {
    expect(await json('/shop.Basket/Add')).toMatchObject({ entry: null, passed_over: [], policy: { kind: 'none' } });
  });

  it('with a script: each event with its decisions and tokens, each attempt, and the end', async () => {
    expect(await json('/shop.Cart/Get', '--script', 'silent,13@5:pushback=-1')).toMatchObject({
      policy: { kind: 'hedge', max_attempts: 2, hedging_delay_ms: 50, non_fatal_status_codes: [] },
      timeout_ms: 1000,
      deadline_ms: 1000,
      timeline: {
        script: 'silent,13@5:pushback=-1',
        random: 0.5,
        seed: null,
        events: [
          {
            at_ms: 0,
            event: 'started',
            decisions: [{ decision: 'start_attempt', attempt: 1, cause: 'first', previous_rpc_attempts: 0 }],
            tokens: { before: 10, after: 10 },
            random: null,
            next_attempt_at_ms: 50,
            pushed_back_until_ms: null,
            no_further_hedge: null,
          },
          {
            at_ms: 50,
            event: 'woke',
            decisions: [{ decision: 'start_attempt', attempt: 2, cause: 'hedge', previous_rpc_attempts: 1 }],
            tokens: { before: 10, after: 10 },
            random: null,
            next_attempt_at_ms: null,
            pushed_back_until_ms: null,
            no_further_hedge: null,
          },
          {
            at_ms: 55,
            event: 'attempt_ended',
            attempt: 2,
            code: 'INTERNAL',
            reach: 'processed',
            by: 'backend',
            pushback_ms: 'never',
            decisions: [
              { decision: 'count_throttle', as: 'failure' },
              { decision: 'cancel_attempt', attempt: 1, why: 'superseded' },
              { decision: 'finish', reason: 'fatal_status' },
            ],
            tokens: { before: 10, after: 9 },
            random: null,
            next_attempt_at_ms: null,
            pushed_back_until_ms: null,
            no_further_hedge: null,
          },
        ],
        attempts: [
          {
            attempt: 1,
            cause: 'first',
            previous_rpc_attempts: 0,
            started_at_ms: 0,
            ended_at_ms: 55,
            code: null,
            reach: null,
            pushback_ms: null,
            cancelled: 'superseded',
            in_script: true,
          },
          {
            attempt: 2,
            cause: 'hedge',
            previous_rpc_attempts: 1,
            started_at_ms: 50,
            ended_at_ms: 55,
            code: 'INTERNAL',
            reach: 'processed',
            pushback_ms: 'never',
            cancelled: null,
            in_script: true,
          },
        ],
        committed: null,
        result: {
          at_ms: 55,
          code: 'INTERNAL',
          attempt: 2,
          reason: 'fatal_status',
          help: 'docs/troubleshooting.md#fatal_status',
        },
      },
    });
  });

  it('an attempt beyond the script, a commit, a seed and a call that stays open', async () => {
    expect(await json(add, '--script', '14@1:pushback=7', '--seed', '3')).toMatchObject({
      timeline: {
        seed: 3,
        random: null,
        attempts: [{ pushback_ms: 7 }, { started_at_ms: 8, in_script: false }],
        result: null,
      },
    });
    expect(await json(add, '--script', '0@9:headers=2')).toMatchObject({
      timeline: {
        committed: { attempt: 1, cause: 'headers' },
        events: [
          {},
          { event: 'headers_received', attempt: 1, decisions: [{ decision: 'commit', cause: 'headers' }] },
          {},
        ],
      },
    });
  });

  it('times are whole where they are meant to be: no digits of floating point', async () => {
    const { code, out } = await hedgerow(
      'explain',
      'shop.json',
      add,
      '--script',
      '14@0.1,0@0.2',
      '--random',
      '.3',
      '--json',
    );
    expect(code).toBe(0);
    expect(out).not.toMatch(/\d\.\d{7,}/);
  });
});

describe('the example in docs/command-line.md', () => {
  const page = readFileSync(new URL('../../../docs/command-line.md', import.meta.url), 'utf8');
  const section = page.slice(page.indexOf('\n## hedgerow explain'), page.indexOf('\n### Scripts'));

  it('prints what it is said to print', () => {
    const [, text] = /```json\n(.*?)```/s.exec(section) ?? [];
    const [, argv, output] = /\$ node dist\/main\.js explain (.*?)\n(.*?)```/s.exec(section) ?? [];
    const read = readExplainOptions((argv ?? '').split(' '));
    if (!read.ok) throw new Error(read.problem);
    const { file, ...options } = read.options;
    expect(explain(text ?? '', file, options)).toEqual({ ok: true, stdout: output });
  });

  it('its table has every flag', () => {
    for (const { name } of explainFlags) expect(section).toMatch(new RegExp(`^\\| \`--${name}[\` ]`, 'm'));
  });
});
