import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { simulateFlags } from '../../../src/cli/simulate-options.js';
import { commandsOn } from '../../support/command.js';

const unavailable = ['UNAVAILABLE'];
const methodConfig = [
  {
    name: [{ service: 'shop.Cart', method: 'Add' }],
    retryPolicy: {
      maxAttempts: 3,
      initialBackoff: '0.01s',
      maxBackoff: '1s',
      backoffMultiplier: 2,
      retryableStatusCodes: unavailable,
    },
  },
  {
    name: [{ service: 'shop.Cart', method: 'Get' }],
    hedgingPolicy: { maxAttempts: 2, hedgingDelay: '0.05s', nonFatalStatusCodes: unavailable },
  },
];

const files: Readonly<Record<string, string>> = {
  'shop.json': JSON.stringify({ methodConfig, retryThrottling: { maxTokens: 10, tokenRatio: 0.1 } }),
  'free.json': JSON.stringify({ methodConfig }),
  'bad.json': '{"methodConfig": 3}',
};

const hedgerow = commandsOn(files);

async function printed(...argv: readonly string[]): Promise<string> {
  const { code, out, err } = await hedgerow('simulate', ...argv);
  expect([code, err]).toEqual([0, '']);
  return out;
}

/** What stands in a row of the table. */
function row(out: string, label: string): string[] {
  const line = out.split('\n').find((each) => each.trimStart().startsWith(`${label}  `));
  return (line ?? '').trim().split(/ {2,}/).slice(1);
}

const [add, get] = ['/shop.Cart/Add', '/shop.Cart/Get'];
const even = ['--arrivals', 'even', '--latency', '20ms', '--failures', 'none'] as const;

describe('hedgerow simulate', () => {
  it('SIM-15: prints what the policy does beside what happens without it', async () => {
    const out = await printed('shop.json', add, '--latency', '20ms', '--failures', '1%:UNAVAILABLE');
    expect(out).toContain('\nWith the policy 100 % of the calls succeed, without it 9');
    expect(row(out, 'success rate')[1]).toBe('100 %');
    expect(row(out, 'time to the end, p50')).toEqual(['20 ms', '20 ms']);
    expect(row(out, 'attempts per call')).toEqual(['1.000', '1.011']);
    expect(row(out, 'extra load')).toEqual(['+1.14 %']);
    expect(out).toMatch(/\nThe policy saves (\d+) of the \1 calls that fail without it\.\n/);
  });

  it('SIM-15: without a policy there is one column', async () => {
    const out = await printed('shop.json', '/shop.Cart/None', ...even);
    expect(out).toContain('\nNo policy governs it: 100 % of the calls succeed, p99 is 20 ms.\n');
    expect(row(out, 'success rate')).toEqual(['100 %']);
    expect(out).not.toContain('throttle');
  });

  it('SIM-16: tells what hedges cost and what they do to the tail', async () => {
    const out = await printed('shop.json', get, '--latency', '99%:20ms,1%:1s', '--failures', 'none');
    expect(row(out, 'p99.9')).toEqual(['1 s', '70 ms']);
    const [sent] = row(out, 'hedges sent').slice(1);
    expect(out).toContain(`\n${sent} hedges, 1.1 % of the calls, cut p99.9 from 1 s to 70 ms;`);
    expect(out).toContain('\nhedgingDelay 50ms: without the policy 1.1 % of the calls take longer.\n');
  });

  it('SIM-16: says so where hedges make it worse', async () => {
    const out = await printed('free.json', get, '--capacity', '2', '--rate', '150', '--cancelled-work', 'goes-on');
    expect(out).toMatch(/ raised p99\.9 from /);
  });

  it('SIM-17: tells when the throttle was shut, and what would come without it', async () => {
    const out = await printed('shop.json', add, ...even, '--outage', '30s-40s');
    expect(out).toMatch(/\nThe throttle was shut from 30\.1 s to 40\.\d s; it held back 9\d\d calls\.\n/);
    expect(out).toMatch(
      /\nWithout retryThrottling: \S+ % of the calls succeed, and backends get 1\d{4} attempts instead of 10\d{3}, at the worst 30\d in one second instead of \d{3}\.\n/,
    );
    expect(out).toMatch(/\n {3}30 s +0 % +0 % +1\.0\d {3}░{10} 0 shut\n/);
    expect(out).toMatch(/\n {3}25 s +100 % +100 % +1\.00 {3}█{10} 10\n/);
    const calm = await printed('shop.json', add, ...even);
    expect(calm).toContain('\nThe throttle was never shut: the bucket stayed full, and it shuts at 5.\n');
    expect(calm).not.toContain('each 5 s');
  });

  it('SIM-17: says where nothing throttles, and how much the peak grows', async () => {
    const out = await printed('free.json', add, ...even, '--outage', '30s-40s');
    expect(out).toContain('\nNothing throttles: the service config has no retryThrottling.\n');
    expect(out).toMatch(
      /\nAt the worst, backends get 30\d attempts in one second, 100 without the policy: 3\.0 times as many\.\n/,
    );
    expect(out).toMatch(/\n\d+ calls fail in all of 3 attempts\.\n/);
  });

  it.each([
    [['--failures', '2%:INTERNAL'], / calls fail with INTERNAL, which the policy does not try again\.\n/],
    [['--failures', '2%:UNAVAILABLE', '--pushback', '-1'], / calls fail at once as the pushback says so\.\n/],
    [
      ['--failures', '2%:UNAVAILABLE', '--pushback', '500', '--deadline', '100ms'],
      / calls fail as the next attempt would come after the deadline\.\n/,
    ],
    [
      ['--failures', '2%:UNAVAILABLE', '--request-size', '300KiB'],
      / calls fail and are not tried again: requests of 300 KiB are more than is kept for it\.\n/,
    ],
    [
      ['--outage', '5s-6s:silent', '--deadline', '1s'],
      / calls run into the deadline of 1 s, \d+ without the policy\.\n/,
    ],
    [['--outage', '5s-6s'], /\nBackends were parked for failing: b\d 5\.\d s–/],
    [['--outage', '500s-600s'], /\n--outage 500s-600s touches no call: the last one starts at /],
    [['--slow', '500s-600s:x2'], /\n--slow 500s-600s:x2 touches no call: /],
    [['--calls', '500'], /\np99\.9 rests on less than one call: make more, like --calls 100000\.\n/],
  ])('SIM-18: remarks on what %j comes to', async (argv, remark) => {
    expect(await printed('free.json', add, '--latency', '20ms', ...argv)).toMatch(remark);
    expect(await printed('free.json', add, ...even)).not.toMatch(remark);
  });

  it('SIM-19: --json has the same, and the same seed gives the same bytes', async () => {
    const argv = ['shop.json', add, '--outage', '30s-40s', '--json'];
    const [once, again, other] = [
      await printed(...argv),
      await printed(...argv),
      await printed(...argv, '--seed', '2'),
    ];
    expect(again).toBe(once);
    expect(other).not.toBe(once);
    const object: unknown = JSON.parse(once);
    expect(object).toMatchObject({
      file: 'shop.json',
      method: add,
      policy: { kind: 'retry', max_attempts: 3 },
      model: { calls: 10_000, rate_per_s: 100, outages: ['30s-40s'], seed: 1 },
      without_policy: { calls: 10_000, retries: 0, hedges: 0, throttled_calls: 0 },
      with_policy: { calls: 10_000, lowest_tokens: 0, throttle_shut: [{}, {}] },
      without_throttle: { calls: 10_000 },
      timeline: { bucket_ms: 5000 },
    });
  });

  it.each([
    [['bad.json', add], 1, /^hedgerow simulate: bad\.json:1:18: error: methodConfig/],
    [['gone.json', add], 2, /^hedgerow simulate: gone\.json: no such file\n$/],
    [[], 2, /^hedgerow simulate: no file; write hedgerow simulate FILE \/pkg\.Service\/Method\n$/],
    [['shop.json'], 2, /: no method; write /],
    [['shop.json', 'shop.Cart.Add'], 2, /is no method's path; write \/shop\.Cart\/Add\n$/],
    [['shop.json', add, '--calls', '0'], 2, /: --calls "0": must be an integer from 1 to 1000000\n$/],
    [['shop.json', add, '--rate', 'fast'], 2, /: --rate "fast": must be a number from 0\.01 to 100000\n$/],
    [['shop.json', add, '--latency', '20ms,x'], 2, /: --latency "20ms,x": at character 6, "x": write it as /],
    [
      ['shop.json', add, '--failures', '5%:NOPE'],
      2,
      /: --failures "5%:NOPE": at character 1, "5%:NOPE": "NOPE" is no status/,
    ],
    [
      ['shop.json', add, '--backends', '2', '--outage', '1s-2s:backend=b3'],
      2,
      /: "b3" is no backend; there are b1 to b2\n$/,
    ],
    [
      ['shop.json', add, '--outage', '1s-2s:silent'],
      2,
      /: --outage 1s-2s:silent: what is never answered never ends; give --deadline/,
    ],
    [['shop.json', add, '--cancelled-work', 'stop'], 2, /: must be stops or goes-on; did you mean stops\?\n$/],
    [['shop.json', add, '--outtage', '1s-2s'], 2, /: unknown flag --outtage; did you mean --outage\?\n$/],
  ])('SIM-20: %j is refused with one line', async (argv, exit, message) => {
    const { code, out, err } = await hedgerow('simulate', ...argv);
    expect([code, out]).toEqual([exit, '']);
    expect(err).toMatch(message);
    expect(err.trimEnd()).not.toContain('\n');
  });

  it.each([
    ['a file', ['x'.repeat(5000), add]],
    ['a method', ['shop.json', 'x'.repeat(5000)]],
    ['a method that was nearly right', ['shop.json', `x.${'y'.repeat(5000)}`]],
    ['a flag', ['shop.json', add, `--${'x'.repeat(5000)}`]],
    ['a value', ['shop.json', add, '--rate', 'x'.repeat(5000)]],
    ['a latency', ['shop.json', add, '--latency', `percentiles(${'x'.repeat(5000)}=0)`]],
    ['a failure', ['shop.json', add, '--failures', `5%:${'X'.repeat(5000)}`]],
    ['an outage', ['shop.json', add, '--outage', `1s-2s:silent${' '.repeat(5000)}`]],
    ['a slowness', ['shop.json', add, '--slow', `1s-2s:backend=${'x'.repeat(5000)}`]],
  ])('SIM-20: %s that is over-long is not repeated whole', async (_, argv) => {
    const { code, err } = await hedgerow('simulate', ...argv);
    expect(code).toBe(2);
    expect(err.length).toBeLessThan(500);
  });

  it('SIM-20: wherever one silent outage has a deadline, by flag or by timeout, it is simulated', async () => {
    const out = await printed('shop.json', add, '--outage', '1s-2s:silent', '--deadline', '1s', '--calls', '300');
    expect(row(out, 'DEADLINE_EXCEEDED')[0]).not.toBe('0');
  });

  it('has a help with all its flags, and so has docs/simulate.md', async () => {
    const { code, out } = await hedgerow('simulate', '--help');
    expect(code).toBe(0);
    const page = readFileSync(new URL('../../../docs/simulate.md', import.meta.url), 'utf8');
    for (const { name, metavar } of simulateFlags) {
      expect(out).toMatch(new RegExp(`^ {2}--${name}`, 'm'));
      expect(page).toContain(`\`--${name}${metavar === null ? '' : ` ${metavar.replaceAll('|', '\\|')}`}\``);
    }
    expect(out.split('\n').filter((line) => line.length > 80 && !line.startsWith('  hedgerow '))).toEqual([]);
  });
});
