import { describe, expect, it } from 'vitest';
import { readSettings, type SettingSources } from '../../../src/config/read-settings.js';
import { type SettingKey, type Settings, settingKeys } from '../../../src/config/settings.js';
import { type ShownSetting, showSettings } from '../../../src/config/show-settings.js';

type Read = { readonly settings: Settings; readonly shown: Readonly<Record<SettingKey, ShownSetting>> };

function read(sources: Partial<SettingSources>): Read {
  const result = readSettings({ flags: [], env: {}, file: null, ...sources });
  if (!result.ok) throw new Error(result.problem);
  return { settings: result.settings, shown: showSettings(result.settings, result.origins) };
}

const flags = (...given: readonly string[]): Partial<SettingSources> => ({
  flags: ['--backend', 'b1=127.0.0.1:1', ...given],
});

describe('settings in force', () => {
  it('ADM-21: each says which source it is from', () => {
    const { shown } = read({
      ...flags('--drain-timeout', '90s'),
      env: { HEDGEROW_DRAIN_TIMEOUT: '5s', HEDGEROW_QUEUE_LIMIT: '7' },
      file: { path: 'h.json', text: '{"queueLimit": 9, "via": true}' },
    });
    expect(shown.drainTimeout).toEqual({ value: '90s', source: 'flag' });
    expect(shown.queueLimit).toEqual({ value: 7, source: 'environment' });
    expect(shown.via).toEqual({ value: true, source: 'file' });
    expect(shown.preStopDelay).toEqual({ value: '0s', source: 'default' });
    expect(Object.keys(shown)).toEqual(settingKeys);
  });

  it.each<[SettingKey, string[], unknown]>([
    ['drainTimeout', ['1500ms'], '1.5s'],
    ['drainTimeout', ['250ms'], '250ms'],
    ['drainTimeout', ['120s'], '2m'],
    ['drainTimeout', ['24h'], '24h'],
    ['keepaliveTime', ['off'], 'off'],
    ['bufferLimit', ['65536'], '64KiB'],
    ['bufferLimit', ['1000'], 1000],
    ['bufferLimit', ['0'], 0],
    ['maxMessageSize', ['off'], 'off'],
    ['healthFailureRate', ['0.25'], 0.25],
    ['admin', ['off'], 'off'],
    ['admin', ['[::1]:9901'], '[::1]:9901'],
    ['listen', ['unix:/run/h.sock'], ['unix:/run/h.sock']],
    ['backendAuthority', ['target'], 'target'],
    ['backendAuthority', ['orders.internal:443'], 'orders.internal:443'],
    ['healthCheck', [''], ''],
    ['healthCheck', ['off'], 'off'],
    ['tlsCert', [], null],
    ['logFormat', [], null],
  ])('%s %j is shown as %j', (key, given, shown) => {
    const flag = `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const { shown: all } = read(flags(...given.flatMap((value) => [flag, value])));
    expect(all[key].value).toEqual(shown);
  });

  it('backends are shown as they were given, without what is as by default', () => {
    const backends = ['g=ipv4:10.0.0.1:1,10.0.0.2:1,weight=3,max-calls=9', 'h=dns:///h:1,priority=2', 'u=unix:/a.sock'];
    const { shown } = read({ flags: [...backends, 'w=h:1,weight=1'].flatMap((text) => ['--backend', text]) });
    expect(shown.backend.value).toEqual([...backends, 'w=h:1']);
  });

  it('ADM-21: what is shown is a settings file that gives the same settings', () => {
    const given = read(
      flags(
        ...['--listen', '[::1]:0', '--listen', 'unix:/x', '--drain-timeout', '1234.5ms', '--idle-timeout', '90m'],
        ...[
          '--backend',
          'g=ipv6:[::1]:1,[::2]:1,weight=3',
          '--relay-buffer-limit',
          '65537',
          '--client-memory-limit',
          'off',
        ],
        ...['--health-ignore-deadline', '/a.B/*', '--admin-host', 'h.example', '--control', 'unix:/c', '--via'],
        ...['--metadata-prefix', 'hg', '--pin', 'first-attempt', '--health-check', 'a.B', '--min-blame', '1.25s'],
      ),
    );
    const text = JSON.stringify(
      Object.fromEntries(
        Object.entries(given.shown).flatMap(([key, { value }]) => (value === null ? [] : [[key, value]])),
      ),
    );
    const again = read({ flags: [], file: { path: 'h.json', text } });
    expect(again.settings).toEqual(given.settings);
    expect(new Set(Object.values(again.shown).map(({ source }) => source))).toEqual(new Set(['file', 'default']));
  });
});
