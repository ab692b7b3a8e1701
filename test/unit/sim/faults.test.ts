import { describe, expect, it } from 'vitest';
import { Status } from '../../../src/grpc/status.js';
import { parseFailures, parseOutage, parseSlowness } from '../../../src/sim/faults.js';

const unavailable = { kind: 'status', code: Status.UNAVAILABLE, after: null };

describe('failures', () => {
  it('are shares with a status, and a time where they have one of their own', () => {
    expect(parseFailures('5%:UNAVAILABLE, 0.1%:internal@2ms,1%:99')).toEqual({
      ok: true,
      value: [
        { share: 0.05, ...unavailable },
        { share: 0.001, kind: 'status', code: Status.INTERNAL, after: 2 },
        { share: 0.01, kind: 'status', code: 99, after: null },
      ],
    });
    expect(parseFailures('none')).toEqual({ ok: true, value: [] });
  });

  it.each([
    ['5%', 'at character 1, "5%": write SHARE:STATUS, like 5%:UNAVAILABLE'],
    ['5:UNAVAILABLE', 'at character 1, "5:UNAVAILABLE": "5" is no share; write 5% or 0.1%, up to 100%'],
    [
      '1%:INTERNAL,5%:UNAVAILABEL',
      'at character 13, "5%:UNAVAILABEL": "UNAVAILABEL" is no status, name or number; did you mean UNAVAILABLE?',
    ],
    ['5%:OK', 'at character 1, "5%:OK": OK is no failure'],
    ['5%:0', 'at character 1, "5%:0": OK is no failure'],
    ['5%:INTERNAL@', 'at character 1, "5%:INTERNAL@": @TIME needs its time'],
    ['5%:INTERNAL@1ms@2ms', 'at character 1, "5%:INTERNAL@1ms@2ms": one "@TIME" a status'],
    ['60%:INTERNAL,50%:UNAVAILABLE', 'the shares are 110 % together, more than 100 %'],
    ['', 'at character 1: an item is missing'],
  ])('%s: %s', (text, problem) => {
    expect(parseFailures(text)).toEqual({ ok: false, problem });
  });
});

describe('an outage', () => {
  it.each([
    ['10s-20s', { from: 10_000, to: 20_000, backend: null, share: 1, how: unavailable }],
    [
      '10s-20s:backend=b2:rate=50%:ABORTED@1ms',
      { from: 10_000, to: 20_000, backend: 1, share: 0.5, how: { kind: 'status', code: Status.ABORTED, after: 1 } },
    ],
    ['0-500ms:silent', { from: 0, to: 500, backend: null, share: 1, how: { kind: 'silent' } }],
    ['1m-2m:down:backend=B3', { from: 60_000, to: 120_000, backend: 2, share: 1, how: { kind: 'down' } }],
  ])('%s', (text, value) => {
    expect(parseOutage(text, 3)).toEqual({ ok: true, value });
  });

  it.each([
    ['10s', 'begin with its time, like 10s-20s'],
    ['20s-10s', '"20s-10s" ends before it begins'],
    ['10s-20s:backend=b4', '"b4" is no backend; there are b1 to b3'],
    ['10s-20s:backend=b0', '"b0" is no backend; there are b1 to b3'],
    ['10s-20s:backend=b1:backend=b2', 'one backend each; give the flag twice for two'],
    ['10s-20s:rate=50%:down', 'what is down is down for all: leave rate= out'],
    [
      '10s-20s:down:UNAVAILABLE',
      '"down" and "UNAVAILABLE" contradict each other: one of them, or an --outage for each',
    ],
    [
      '10s-20s:ABORTED@1ms:rate=50%:silent',
      '"ABORTED@1ms" and "silent" contradict each other: one of them, or an --outage for each',
    ],
    ['10s-20s:slient', '"slient" is no option; did you mean silent?'],
    ['10s-20s:rate=2', '"2" is no share; write 5% or 0.1%, up to 100%'],
  ])('%s: %s', (text, problem) => {
    expect(parseOutage(text, 3)).toEqual({ ok: false, problem });
  });
});

describe('a slowness', () => {
  it.each(['x10', '×10', 'X10'])('has a factor, %s', (factor) => {
    expect(parseSlowness(`10s-20s:backend=b2:${factor}`, 3)).toEqual({
      ok: true,
      value: { from: 10_000, to: 20_000, backend: 1, factor: 10 },
    });
  });

  it.each([
    ['10s-20s', 'needs one factor, like x10'],
    ['10s-20s:x0', 'needs one factor, like x10'],
    ['10s-20s:x2:x3', 'needs one factor, like x10'],
    ['10s-20s:10', 'needs one factor, like x10'],
    ['10s-20s:backend=b2:x2', '"b2" is no backend; there is b1'],
  ])('%s: %s', (text, problem) => {
    expect(parseSlowness(text, 1)).toEqual({ ok: false, problem });
  });
});
