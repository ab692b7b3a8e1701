import { describe, expect, it } from 'vitest';
import { parseLog, parseSummary } from '../../../bench/figures/h2load-output.mjs';

const printed = `starting benchmark...
spawning thread #0: 4 total client(s). Timing-based test with 0s of warm-up time and 2s of main duration for measurements.
Warm-up started for thread #0.
Main benchmark duration is started for thread #0.
Application protocol: h2c

finished in 2.01s, 45210.50 req/s, 6.21MB/s
requests: 90421 total, 90521 started, 90421 done, 90400 succeeded, 20 failed, 1 errored, 0 timeout
status codes: 90421 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 12.42MB (13022352) total, 353.22KB (361700) headers (space savings 96.36%), 9.05MB (9494205) data
                     min         max         mean         sd        +/- sd
time for request:      183us     12.30ms      2.20ms       410us    77.01%
time for connect:      110us       301us       189us        74us    75.00%
time to 1st byte:      720us      1.45ms      1.10ms       321us    50.00%
req/s           :   11301.06    11304.56    11302.62        1.26    75.00%
`;

describe('the reading of h2load', () => {
  it('takes calls, failures, rate and the mean from its summary', () => {
    expect(parseSummary(printed)).toEqual({ seconds: 2.01, rate: 45210.5, calls: 90_400, failed: 21, mean: 2200 });
  });

  it('reads each unit of time', () => {
    const mean = (text: string): number => parseSummary(printed.replace('2.20ms', text)).mean;
    expect([mean('249us'), mean('1.20s')]).toEqual([expect.closeTo(249), expect.closeTo(1.2e6)]);
  });

  it('says so where there is no summary', () => {
    expect(() => parseSummary('Could not connect to the host')).toThrow('h2load printed no summary');
  });

  it('takes latencies from its log, without those of the warm-up, failures apart', () => {
    const log = '1000000\t200\t50\n1500000\t200\t60\n1600000\t503\t5\n2000000\t200\t70\n';
    expect(parseLog(log)).toEqual({ latencies: [50, 60, 70], failed: 1 });
    expect(parseLog(log, 500_000)).toEqual({ latencies: [60, 70], failed: 1 });
    expect(parseLog('')).toEqual({ latencies: [], failed: 0 });
  });
});
