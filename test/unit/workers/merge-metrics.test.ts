import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backendId } from '../../../src/grpc/backend-id.js';
import type { StatusCode } from '../../../src/grpc/status.js';
import type { Readings } from '../../../src/proxy/meters.js';
import { catalogue } from '../../../src/telemetry/metrics/catalogue.js';
import type { ProgramMeters } from '../../../src/telemetry/metrics/meters.js';
import { gaugeMerges } from '../../../src/workers/merge-gauges.js';
import { MetricsSum, RetiredMetrics } from '../../../src/workers/merge-metrics.js';
import { answer, attemptOf, createMeters, idle, play, printed, samples } from '../telemetry/metrics/rig.js';

/** Merges whole texts, of workers 1, 2, … */
function merge(texts: readonly string[], retired = new RetiredMetrics()): string {
  const sum = new MetricsSum(
    retired,
    texts.map((_, at) => at + 1),
  );
  for (const [at, text] of texts.entries()) {
    sum.take(at + 1, text);
    sum.end(at + 1);
  }
  return [...sum.text()].join('');
}

/** A process that is idle but for this. */
function readings(rest: Partial<Readings>): Readings {
  return { ...idle, ...rest };
}

function busy(methods: number): ProgramMeters {
  const meters = createMeters();
  for (let at = 0; at < methods; at += 1) {
    const attempts = [attemptOf({ end: answer(14) }), attemptOf({ cause: 'retry', previous: 1 })];
    play(meters, { path: `/pkg.Service/Method${at}`, named: true, attempts });
  }
  return meters;
}

describe('the text of one process', () => {
  it('WRK-10: comes out as it went in, byte for byte', () => {
    const text = printed(
      busy(30),
      readings({ backends: [{ name: 'b', state: 'ready', inFlight: 1, queued: 0, connections: 2 }] }),
    );
    expect(merge([text]) === text).toBe(true);
  });

  it('WRK-10: comes out the same wherever its pieces break, the last line feed missing or not', () => {
    const text = printed(busy(1));
    for (const length of [1, 2, 7, 100, 4096]) {
      const sum = new MetricsSum(new RetiredMetrics(), [1]);
      for (let at = 0; at < text.length; at += length) sum.take(1, text.slice(at, at + length));
      sum.end(1);
      expect([...sum.text()].join('') === text).toBe(true);
    }
    expect(merge([text.trimEnd()]) === text).toBe(true);
  });

  it('WRK-10: labels are taken as they stand, whatever is in them', () => {
    const text = `${['a{b="x y} 1",c="\\"\\n"} 2', 'a{b="#"} 3', 'a 4'].join('\n')}\n`;
    expect(merge([text, text])).toBe(`${['a{b="x y} 1",c="\\"\\n"} 4', 'a{b="#"} 6', 'a 8'].join('\n')}\n`);
  });

  it('WRK-10: infinite values, small and large ones are printed as the serializer does it', () => {
    const text = 'a +Inf\nb -Inf\nc 1e-7\nd 1e+21\ne 0.001\n';
    expect(merge([text])).toBe(text);
  });

  it('WRK-10: lines that are none of ours are left out', () => {
    expect(merge(['\n# no registered metrics\n#\n# HELP\nalone\nx y\n 1\na 1\n'])).toBe('a 1\n');
  });

  it('WRK-10: a metric of which nothing is counted keeps the lines that head it', () => {
    const head = '# HELP a_total Text.\n# UNIT a_total bytes\n# TYPE a_total counter\n';
    expect(merge([head, head])).toBe(head);
  });
});

describe('the texts of several', () => {
  it('WRK-10: series of one metric stand together under one head, those that one worker alone has too', () => {
    const head = (name: string): string => `# HELP ${name} Text.\n# TYPE ${name} counter\n`;
    const first = `${head('a_total')}a_total{x="1"} 1\n${head('b_total')}b_total 5\n`;
    const second = `${head('a_total')}a_total{x="2"} 2\na_total{x="1"} 3\n${head('b_total')}b_total 7\n${head('c_total')}c_total 1\n`;
    expect(merge([first, second])).toBe(
      `${head('a_total')}a_total{x="1"} 4\na_total{x="2"} 2\n${head('b_total')}b_total 12\n${head('c_total')}c_total 1\n`,
    );
  });

  it('WRK-10: series are told apart by their whole names, and belong to the metric of theirs', () => {
    expect(merge(['a 1\nab 2\n', 'ab 5\na 7\n'])).toBe('a 8\nab 7\n');
    const head = '# TYPE hedgerow_draining gauge\n';
    expect(merge([`${head}b 1\n`, `${head}b 1\n`])).toBe(`${head}b 2\n`);
  });

  it('WRK-10: where one prints other words about a metric, those that came first stand', () => {
    expect(merge(['# HELP a One.\n# TYPE a counter\na 1\n', '# HELP a Two.\n# TYPE a counter\na 1\n'])).toBe(
      '# HELP a One.\n# TYPE a counter\na 2\n',
    );
  });

  it('WRK-10: how pieces of several come in between each other makes no difference to what is counted', () => {
    const texts = [busy(20), busy(25), busy(3)].map((meters) => [...meters.render(idle)]);
    const sum = new MetricsSum(new RetiredMetrics(), [1, 2, 3]);
    for (let at = 0; texts.some((pieces) => at < pieces.length); at += 1)
      for (const [worker, pieces] of texts.entries()) sum.take(worker + 1, pieces[at] ?? '');
    for (const worker of [1, 2, 3]) sum.end(worker);
    const lines = (text: string): string[] => text.split('\n').sort();
    expect(lines([...sum.text()].join(''))).toEqual(lines(merge(texts.map((pieces) => pieces.join('')))));
  });

  it('WRK-10: pieces have some 250 lines, and joined they are the text', () => {
    const sum = new MetricsSum(new RetiredMetrics(), [1]);
    const text = printed(busy(100));
    sum.take(1, text);
    sum.end(1);
    const pieces = [...sum.text()];
    expect(pieces.join('') === text).toBe(true);
    expect(pieces.length).toBeGreaterThan(1);
    expect(Math.max(...pieces.map((piece) => piece.split('\n').length - 1))).toBe(250);
  });

  it('WRK-10: of k meters that each got some of the records it is what one meter prints that got all', () => {
    // Sums of seconds are exact: all times are multiples of 125 ms.
    const time = fc.integer({ min: 1, max: 100 }).map((eighths) => eighths * 125);
    const record = fc.record({
      kind: fc.constantFrom(...kinds),
      at: fc.nat({ max: 3 }),
      method: fc.constantFrom('/a.S/M', '/a.S/N', '/b.T/O'),
      code: fc.constantFrom<StatusCode>(0, 0, 5, 14),
      time,
    });
    fc.assert(
      fc.property(fc.array(record, { maxLength: 40 }), fc.integer({ min: 1, max: 4 }), (records, k) => {
        const parts = Array.from({ length: k }, createMeters);
        const whole = createMeters();
        for (const entry of records) {
          note(whole, entry);
          const part = parts[entry.at % k];
          if (part !== undefined) note(part, entry);
        }
        expect(totalsOf(merge(parts.map((part) => printed(part))))).toEqual(totalsOf(printed(whole)));
      }),
      { numRuns: 60 },
    );
  });
});

const kinds = ['call', 'retry', 'hedge', 'refused', 'loss', 'lag', 'client'] as const;

/** Something that is counted. */
interface Entry {
  readonly kind: (typeof kinds)[number];
  readonly method: string;
  readonly code: StatusCode;
  /** Milliseconds. */
  readonly time: number;
}

function note(meters: ProgramMeters, { kind, method, code, time }: Entry): void {
  const last = attemptOf({ endedAt: time, end: answer(code), sentBytes: time });
  switch (kind) {
    case 'call':
      play(meters, { path: method, named: true, attempts: [last] }, code, code === 0 ? 'ok' : 'no_policy');
      break;
    case 'retry':
    case 'hedge': {
      const first = attemptOf({ end: answer(14), endedAt: 125, backend: { id: backendId('b2'), name: 'b2' } });
      const more = { ...last, cause: kind, previous: 1, startedAt: 125, endedAt: time + 125 } as const;
      play(meters, { path: method, named: true, guarded: true, attempts: [first, more] }, code);
      break;
    }
    case 'refused':
      meters.callRefused(3, 'invalid_directive');
      break;
    case 'loss':
      meters.lost({ backend: backendId('b1'), generation: 1, detail: '', attempts: 1, outcomes: { failed: 1 } });
      break;
    case 'lag':
      meters.lagged(time);
      break;
    case 'client':
      meters.clientConnected();
      break;
    default:
      kind satisfies never;
  }
}

/** The series of counters and histograms by name and labels; not the CPU time, which each process has of its own. */
function totalsOf(text: string): Map<string, string> {
  const found = new Map<string, string>();
  let gauge = false;
  for (const line of text.split('\n')) {
    if (line.startsWith('# TYPE')) gauge = line.endsWith(' gauge');
    if (line === '' || gauge || line.startsWith('process_cpu')) continue;
    const space = line.lastIndexOf(' ');
    const key = line.startsWith('#') ? line : line.slice(0, space);
    expect(found.has(key)).toBe(false);
    found.set(key, line.slice(space + 1));
  }
  return found;
}

describe('gauges', () => {
  it('WRK-10: every gauge of the catalogue has its rule, and nothing else has', () => {
    const gauges = catalogue.flatMap(({ name, type }) => (type === 'gauge' ? [name] : []));
    expect(Object.keys(gaugeMerges).sort()).toEqual([...gauges].sort());
  });

  it('WRK-10: what each process has for itself is added up', () => {
    const bucket = { milliTokens: 9500, limits: { maxMilliTokens: 10_000, milliTokensPerSuccess: 100 } };
    const first = printed(createMeters(), readings({ callsInFlight: 2, replayHeld: 15, throttle: bucket }));
    const second = printed(createMeters(), readings({ callsInFlight: 3, replayHeld: 5, throttle: bucket }));
    const text = merge([first, second]);
    const of = (name: string): number | undefined => samples(text, name)[''];
    expect([of('hedgerow_calls_in_flight'), of('hedgerow_replay_buffer_bytes')]).toEqual([5, 20]);
    expect([of('hedgerow_throttle_tokens'), of('hedgerow_throttle_max_tokens')]).toEqual([19, 20]);
    expect([of('process_resident_memory_bytes'), of('process_cpu_seconds_total')]).toEqual([200, 3]);
  });

  it('WRK-10: what the program has once is told once', () => {
    const sessions = (size: number): Partial<Readings> => ({ sessions: { ...idle.sessions, size } });
    const texts = [sessions(7), { ...sessions(3), draining: true }, sessions(2)].map((rest, at) =>
      printed(createMeters(), readings(rest)).replace('seconds 1700000000', `seconds ${1_700_000_000 + at}`),
    );
    const text = merge(texts.reverse());
    expect(samples(text, 'hedgerow_sessions')).toEqual({ '': 7 });
    expect(samples(text, 'hedgerow_draining')).toEqual({ '': 1 });
    expect(samples(text, 'hedgerow_build_info')).toEqual({ 'version="1.2.3",node="v20.0.0"': 1 });
    expect(samples(text, 'process_start_time_seconds')).toEqual({ '': 1_700_000_000 });
  });

  it('WRK-10: a backend of three members has three, and one that is parked in one worker is told as parked too', () => {
    const member = { name: 'b', inFlight: 1, queued: 0, connections: 1 } as const;
    const ready = { ...member, state: 'ready' } as const;
    const first = printed(createMeters(), readings({ backends: [ready, ready, ready] }));
    expect(samples(merge([first, first]), 'hedgerow_backend_state')).toEqual({ 'backend="b",state="ready"': 3 });
    const second = printed(createMeters(), readings({ backends: [ready, ready, { ...member, state: 'parked' }] }));
    const text = merge([first, second]);
    expect(samples(text, 'hedgerow_backend_state')).toEqual({
      'backend="b",state="ready"': 3,
      'backend="b",state="parked"': 1,
    });
    expect(samples(text, 'hedgerow_backend_in_flight')).toEqual({ 'backend="b"': 6 });
  });
});

describe('a worker that is gone', () => {
  const calls = (count: number): string => {
    const meters = createMeters();
    for (let n = 0; n < count; n += 1) play(meters, { named: true });
    return printed(meters, readings({ callsInFlight: count }));
  };
  const ask = (retired: RetiredMetrics, told: Readonly<Record<number, string | null>>): string => {
    const sum = new MetricsSum(retired, Object.keys(told).map(Number));
    for (const [worker, text] of Object.entries(told)) {
      if (text === null) continue;
      sum.take(Number(worker), text);
      sum.end(Number(worker));
    }
    return [...sum.text()].join('');
  };
  const total = (text: string): number =>
    Object.values(samples(text, 'hedgerow_calls_total')).reduce((sum, value) => sum + value, 0);
  const inFlight = (text: string): number => samples(text, 'hedgerow_calls_in_flight')[''] ?? 0;

  it('WRK-12: keeps its counters and histograms in the sums, and takes its gauges along', () => {
    const retired = new RetiredMetrics();
    expect(total(ask(retired, { 1: calls(5), 2: calls(3) }))).toBe(8);
    retired.retire(1);
    const after = ask(retired, { 2: calls(4), 3: calls(1) });
    expect([total(after), inFlight(after)]).toEqual([10, 5]);
    expect(samples(after, 'hedgerow_call_duration_seconds_bucket')['method="pkg.S/M",le="+Inf"']).toBe(10);
    expect(samples(after, 'hedgerow_build_info')).toEqual({ 'version="1.2.3",node="v20.0.0"': 1 });
    retired.retire(2);
    retired.retire(3);
    expect(total(ask(retired, { 4: calls(0) }))).toBe(10);
    expect(total(ask(retired, { 4: calls(2) }))).toBe(12);
  });

  it('WRK-12: its series stay where no other worker has them, under the head that belongs to them', () => {
    const retired = new RetiredMetrics();
    const before = ask(retired, { 1: calls(5), 2: calls(0) });
    retired.retire(1);
    const after = ask(retired, { 2: calls(0) });
    expect(samples(after, 'hedgerow_calls_total')).toEqual(samples(before, 'hedgerow_calls_total'));
    expect(after.match(/^# TYPE hedgerow_calls_total /gm)).toHaveLength(1);
    retired.retire(2);
    // Nobody is left at all.
    const alone = ask(retired, {});
    expect(samples(alone, 'hedgerow_calls_total')).toEqual(samples(before, 'hedgerow_calls_total'));
    expect(alone).not.toContain('hedgerow_calls_in_flight');
  });

  it('WRK-12: one that dies amid a scrape counts as it told last, not by half and not twice', () => {
    const retired = new RetiredMetrics();
    ask(retired, { 1: calls(5), 2: calls(3) });
    const sum = new MetricsSum(retired, [1, 2]);
    const text = calls(6);
    sum.take(1, text.slice(0, text.length / 2));
    sum.take(2, calls(3));
    sum.end(2);
    retired.retire(1);
    expect(total([...sum.text()].join(''))).toBe(8);
    expect(total(ask(retired, { 2: calls(3) }))).toBe(8);
  });

  it('WRK-12: one that dies after it told all amid a scrape counts once, then and later', () => {
    const retired = new RetiredMetrics();
    const sum = new MetricsSum(retired, [1, 2]);
    sum.take(1, calls(6));
    sum.end(1);
    sum.take(2, calls(3));
    sum.end(2);
    retired.retire(1);
    expect(total([...sum.text()].join(''))).toBe(9);
    expect(total(ask(retired, { 2: calls(3) }))).toBe(9);
  });

  it('WRK-12: one that does not answer counts as it told last, its gauges left out', () => {
    const retired = new RetiredMetrics();
    ask(retired, { 1: calls(5), 2: calls(3) });
    const text = ask(retired, { 1: null, 2: calls(3) });
    expect([total(text), inFlight(text)]).toEqual([8, 3]);
    expect(total(ask(retired, { 1: calls(6), 2: calls(3) }))).toBe(9);
  });

  it('WRK-12: a scrape that began before what another has heard since takes the newer', () => {
    const retired = new RetiredMetrics();
    ask(retired, { 1: calls(1) });
    const early = new MetricsSum(retired, [1]);
    ask(retired, { 1: calls(4) });
    retired.retire(1);
    expect(total([...early.text()].join(''))).toBe(4);
  });

  it('WRK-12: one that is gone is counted once, however often that is said', () => {
    const retired = new RetiredMetrics();
    ask(retired, { 1: calls(5) });
    retired.retire(1);
    retired.retire(1);
    expect(total(ask(retired, { 2: calls(1) }))).toBe(6);
  });

  it('WRK-12: one that never told anything leaves nothing', () => {
    const retired = new RetiredMetrics();
    retired.retire(1);
    new MetricsSum(retired, [2]);
    retired.retire(2);
    expect(total(ask(retired, { 3: calls(2) }))).toBe(2);
  });

  it('WRK-12: scrapes at a time that add up the same dead workers count each once', () => {
    const retired = new RetiredMetrics();
    ask(retired, { 1: printed(busy(40)), 2: printed(busy(40)), 3: printed(busy(40)) });
    retired.retire(1);
    retired.retire(2);
    const texts = [new MetricsSum(retired, [3]), new MetricsSum(retired, [3])].map((sum) => {
      sum.take(3, printed(busy(40)));
      sum.end(3);
      return { pieces: sum.text(), text: '' };
    });
    for (let going = true; going; ) {
      going = false;
      for (const one of texts) {
        const step = one.pieces.next();
        if (step.done === true) continue;
        one.text += step.value;
        going = true;
      }
    }
    for (const { text } of texts) expect(total(text)).toBe(120);
    expect(total(ask(retired, { 3: printed(busy(40)) }))).toBe(120);
    // Done once: the sum and nothing beside it.
    expect(retired.totals).toHaveLength(1);
  });

  it('WRK-12: a slow scrape does not undo what a quick one has added up', () => {
    const retired = new RetiredMetrics();
    ask(retired, { 1: printed(busy(40)), 2: printed(busy(40)) });
    retired.retire(1);
    retired.retire(2);
    const slow = new MetricsSum(retired, []).text();
    // It has begun to add up the first.
    expect(slow.next().value).toBe('');
    expect(total(ask(retired, {}))).toBe(80);
    expect(total([...slow].join(''))).toBe(80);
    expect(total(ask(retired, {}))).toBe(80);
  });

  it('WRK-12: what is told after the end, or by one that was not asked, changes nothing', () => {
    const sum = new MetricsSum(new RetiredMetrics(), [1]);
    sum.take(1, calls(2));
    sum.end(1);
    sum.take(1, calls(9));
    sum.end(1);
    sum.take(2, calls(2));
    sum.end(2);
    expect(total([...sum.text()].join(''))).toBe(2);
  });
});
