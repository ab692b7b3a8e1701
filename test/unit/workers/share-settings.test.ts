import { describe, expect, it } from 'vitest';
import { readSettings } from '../../../src/config/read-settings.js';
import { type Settings, settingKeys } from '../../../src/config/settings.js';
import { callShareWarnings, shareOf, shareOfCalls, workersOf } from '../../../src/workers/share-settings.js';

function settings(...flags: readonly string[]): Settings {
  const result = readSettings({ flags: ['--backend', 'b1=127.0.0.1:1', ...flags], env: {}, file: null });
  if (!result.ok) throw new Error(result.problem);
  return result.settings;
}

describe('how many workers', () => {
  it.each<[Settings['workers'], number, number]>([
    [1, 16, 1],
    [6, 2, 6],
    ['auto', 1, 1],
    ['auto', 8, 8],
    ['auto', 64, 64],
    ['auto', 65, 64],
    ['auto', 0, 1],
  ])('WRK-16: %s on %d cores are %d', (setting, cores, workers) => expect(workersOf(setting, cores)).toBe(workers));
});

describe('the share of one worker', () => {
  it('WRK-16: what limits the whole process is divided, rounded up, and nothing else is touched', () => {
    const whole = settings('--max-connections', '10', '--queue-limit', '2');
    const share = shareOf(whole, 4, 0);
    expect(
      Object.fromEntries(settingKeys.flatMap((key) => (share[key] === whole[key] ? [] : [[key, share[key]]]))),
    ).toEqual({
      backend: whole.backend,
      bufferLimit: 16 * 1024 ** 2,
      relayBufferLimit: 64 * 1024 ** 2,
      clientMemoryLimit: 256 * 1024 ** 2,
      maxConnections: 3,
      maxTotalStreams: 50_000,
      queueLimit: 1,
    });
  });

  it('WRK-16: one worker has all of it', () => {
    const whole = settings('--backend', 'b2=127.0.0.1:2,max-calls=7');
    expect(shareOf(whole, 1, 0)).toEqual(whole);
  });

  it('WRK-16: what is off stays off, and no buffer stays none', () => {
    const share = shareOf(settings('--client-memory-limit', 'off', '--buffer-limit', '0'), 4, 0);
    expect([share.clientMemoryLimit, share.bufferLimit]).toEqual([null, 0]);
  });

  it('WRK-16: no share is less than a process can work with', () => {
    const share = shareOf(
      settings('--client-memory-limit', '1MiB', '--relay-buffer-limit', '64KiB', '--max-connections', '1'),
      64,
      63,
    );
    expect([share.clientMemoryLimit, share.relayBufferLimit, share.maxConnections]).toEqual([1024 ** 2, 64 * 1024, 1]);
  });

  it('WRK-16: max-calls of each backend are those of the place', () => {
    const whole = settings('--backend', 'b2=127.0.0.1:2,max-calls=7');
    const calls = [0, 1].map((place) => shareOf(whole, 2, place).backend.map(({ maxCalls }) => maxCalls));
    expect(calls).toEqual([
      [null, 4],
      [null, 3],
    ]);
  });
});

describe('max-calls among workers', () => {
  it('WRK-16: the shares come to the number where there is one for each, else each has one', () => {
    for (let workers = 1; workers <= 64; workers += 1) {
      for (const maxCalls of [1, 2, 3, 7, 63, 64, 65, 100, 1000, 1_000_000]) {
        const shares = Array.from({ length: workers }, (_, place) => shareOfCalls(maxCalls, workers, place) ?? 0);
        expect(shares.reduce((sum, share) => sum + share, 0)).toBe(Math.max(maxCalls, workers));
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
        expect(Math.min(...shares)).toBeGreaterThanOrEqual(1);
      }
    }
  });

  it('WRK-16: without a limit there is none', () => expect(shareOfCalls(null, 4, 0)).toBeNull());

  it('WRK-16: backends with fewer calls than workers are told of, no others', () => {
    const backends = [
      { name: 'b1', maxCalls: null },
      { name: 'b2', maxCalls: 3 },
      { name: 'b3', maxCalls: 4 },
    ];
    expect(callShareWarnings(backends, 4)).toEqual([
      'backend b2: max-calls 3 is less than the 4 workers; each of them sends it up to 1 at a time, so up to 4 together',
    ]);
  });
});
