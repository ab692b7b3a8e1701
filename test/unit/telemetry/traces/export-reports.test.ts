import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { beforeEach, describe, expect, it } from 'vitest';
import { ExportReports, reported } from '../../../../src/telemetry/traces/export-reports.js';

type Told = [level: string, fields: Readonly<Record<string, unknown>>, message: string];

let now = 0;
let told: Told[] = [];
let reports: ExportReports;
beforeEach(() => {
  now = 1000;
  told = [];
  reports = new ExportReports(
    (...line) => told.push(line),
    () => now,
  );
});

describe('spans that could not be sent', () => {
  it('are told once a minute, with how many there were since', () => {
    reports.failed(5, new Error('connect ECONNREFUSED 127.0.0.1:4318'));
    now += 59_999;
    reports.failed(7, new Error('again'));
    expect(told).toEqual([
      ['warn', { event: 'traces', spans_lost: 5 }, 'traces could not be sent: connect ECONNREFUSED 127.0.0.1:4318'],
    ]);
    now += 1;
    reports.failed(1, new Error('once more'));
    expect(told.slice(1)).toEqual([
      ['warn', { event: 'traces', spans_lost: 8 }, 'traces could not be sent: once more'],
    ]);
  });

  it('are told to be sent again once, with what was lost meanwhile', () => {
    reports.sent();
    expect(told).toEqual([]);
    reports.failed(5, new Error('down'));
    reports.failed(7, new Error('down'));
    reports.sent();
    reports.sent();
    expect(told.slice(1)).toEqual([['info', { event: 'traces', spans_lost: 7 }, 'traces are sent again']]);
  });

  it('are all told of a collector that comes and goes, by two lines a minute at most', () => {
    reports.failed(2, new Error('down'));
    now += 5000;
    reports.sent();
    for (let nth = 0; nth < 5; nth += 1) {
      now += 5000;
      reports.failed(100, new Error('down'));
      now += 5000;
      reports.sent();
    }
    expect(told.map(([, fields]) => fields['spans_lost'])).toEqual([2, undefined]);
    now += 5000;
    reports.sent();
    reports.sent();
    expect(told.slice(2)).toEqual([['info', { event: 'traces', spans_lost: 500 }, 'traces are sent again']]);
    // That was the line of this minute.
    reports.failed(7, new Error('down'));
    reports.sent();
    expect(told).toHaveLength(3);
    now += 60_000;
    reports.failed(1, new Error('down'));
    expect(told.slice(3)).toEqual([['warn', { event: 'traces', spans_lost: 8 }, 'traces could not be sent: down']]);
  });

  it('are told at the end, where no line has yet told them', () => {
    reports.ended();
    expect(told).toEqual([]);
    reports.failed(5, new Error('down'));
    reports.failed(7, new Error('down'));
    reports.ended();
    reports.ended();
    expect(told.slice(1)).toEqual([['warn', { event: 'traces', spans_lost: 7 }, 'traces could not all be sent']]);
  });

  it.each([
    [Object.assign(new Error('Bad Request'), { code: 400 }), 'HTTP 400 Bad Request'],
    [Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    [new TypeError(''), 'TypeError'],
    [new Error('a\u001b[31mred'), 'a\\u{1b}[31mred'],
    [undefined, 'no reason was given'],
  ])('say why: %o', (error, reason) => {
    reports.failed(1, error);
    expect(told[0]?.[2]).toBe(`traces could not be sent: ${reason}`);
  });
});

describe('words of OpenTelemetry’s own', () => {
  it('are told ten times a minute, with how many were not', () => {
    for (let nth = 1; nth <= 12; nth += 1) reports.word(`word ${nth}`);
    expect(told.map(([, , message]) => message)).toEqual(Array.from({ length: 10 }, (_, i) => `traces: word ${i + 1}`));
    now += 60_000;
    reports.word('later');
    expect(told.slice(10)).toEqual([['warn', { event: 'traces', untold: 2 }, 'traces: later']]);
  });

  it.each([
    ['{"stack":"Error: Timeout\\n    at x","message":"Timeout","name":"Error"}', 'Timeout'],
    ['{"name":"Error"}', '{"name":"Error"}'],
    ['{not JSON', '{not JSON'],
  ])('come without a stack: %s', (text, words) => {
    reports.word(text);
    expect(told[0]?.[2]).toBe(`traces: ${words}`);
  });
});

describe('an exporter', () => {
  it('whose failures are reported fails for nobody else', async () => {
    let result = 0;
    let ended = 0;
    const inner: SpanExporter = {
      export: (_, done) => done(result === 0 ? { code: 0 } : { code: 1, error: new Error('down') }),
      shutdown: async () => {
        ended += 1;
      },
    };
    const exporter = reported(inner, reports);
    const codes: number[] = [];
    const spans = [{}, {}, {}] as ReadableSpan[];
    for (result of [1, 0]) exporter.export(spans, ({ code }) => codes.push(code));
    expect(codes).toEqual([0, 0]);
    expect(told.map(([, fields, message]) => [fields['spans_lost'], message])).toEqual([
      [3, 'traces could not be sent: down'],
      [undefined, 'traces are sent again'],
    ]);
    await exporter.forceFlush?.();
    await exporter.shutdown();
    expect(ended).toBe(1);
  });
});
