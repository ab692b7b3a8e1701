import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ReadSettings,
  readSettings,
  type SettingSources,
  settingsFile,
} from '../../../src/config/read-settings.js';
import { flagOf, type Settings, settingKeys, variableOf } from '../../../src/config/settings.js';

const backend = ['--backend', 'b1=127.0.0.1:50052'];

interface Given {
  readonly flags?: readonly string[];
  readonly env?: SettingSources['env'];
  readonly file?: string;
}

/** With one backend, unless the source itself has some. */
function read({ flags = [], env = {}, file }: Given): ReadSettings {
  const own = flags.includes('--backend') || (file?.includes('"backend":') ?? false);
  return readSettings({
    flags: own ? flags : [...backend, ...flags],
    env,
    file: file === undefined ? null : { path: 'h.json', text: file },
    localAddresses: ['192.168.1.5', '::1'],
  });
}

function settings(given: Given): Settings {
  const result = read(given);
  if (!result.ok) throw new Error(result.problem);
  return result.settings;
}

function problem(given: Given): string {
  const result = read(given);
  if (result.ok) throw new Error('accepted');
  expect(result.problem).not.toContain('\n');
  return result.problem;
}

describe('names', () => {
  it('flag, key and variable are spelled from one key', () => {
    expect([flagOf('perCallBufferLimit'), variableOf('perCallBufferLimit')]).toEqual([
      '--per-call-buffer-limit',
      'HEDGEROW_PER_CALL_BUFFER_LIMIT',
    ]);
  });

  it('every setting of this version is in the table', () => {
    expect(settingKeys.map(flagOf).toSorted()).toEqual(
      (
        '--access-log --admin --admin-host --admin-token-file --backend --backend-authority --backend-ca ' +
        '--backend-cert --backend-connections --backend-key --backend-server-name --backend-tls ' +
        '--buffer-limit --client-buffer-limit --client-keepalive-time --client-keepalive-timeout --client-memory-limit ' +
        '--config --connect-backoff-max --connect-timeout --control ' +
        '--directives --dns-refresh --drain-timeout --endpoints --flood-budget --forwarded ' +
        '--header-timeout --health-alive-window --health-check --health-count-internal ' +
        '--health-failure-rate --health-hard-failures --health-ignore-deadline --health-park ' +
        '--health-park-max --health-probe-grace --health-rate-limit --health-recent-window ' +
        '--hedge-distinct --idle-timeout --keepalive-max-pings --keepalive-time --keepalive-timeout ' +
        '--listen --load-balancing --log-format --log-level --max-attempts-limit ' +
        '--max-concurrent-streams --max-connection-age --max-connection-age-grace --max-connections ' +
        '--max-header-list-size --max-message-size --max-total-streams --metadata-prefix --min-blame ' +
        '--per-call-buffer-limit --pin --pin-on-parked --pin-same-backend-retry --pre-stop-delay ' +
        '--preface-timeout --queue-limit --recent-calls --relay-buffer-limit --response-metadata --service-config ' +
        '--session --session-lost-after --session-max-age --session-max-entries --session-ttl --tls-cert ' +
        '--tls-client-ca --tls-key --trust-forwarded --via'
      ).split(' '),
    );
  });
});

describe('defaults', () => {
  it('are those of the contract', () => {
    expect(settings({})).toEqual({
      listen: [{ kind: 'tcp', host: '127.0.0.1', port: 50051 }],
      backend: [
        {
          name: 'b1',
          target: '127.0.0.1:50052',
          where: { kind: 'one', endpoint: { kind: 'tcp', host: '127.0.0.1', port: 50052 } },
          weight: 1,
          priority: 0,
          maxCalls: null,
        },
      ],
      backendAuthority: { kind: 'client' },
      serviceConfig: null,
      maxAttemptsLimit: 5,
      perCallBufferLimit: 256 * 1024,
      clientBufferLimit: 8 * 1024 ** 2,
      bufferLimit: 64 * 1024 ** 2,
      relayBufferLimit: 256 * 1024 ** 2,
      clientMemoryLimit: 1024 ** 3,
      maxHeaderListSize: 16 * 1024,
      maxMessageSize: null,
      maxConcurrentStreams: 1000,
      maxTotalStreams: 200_000,
      maxConnections: 10_000,
      floodBudget: 10_000,
      prefaceTimeout: 5000,
      headerTimeout: 5000,
      connectTimeout: 2000,
      connectBackoffMax: 5000,
      backendConnections: 4,
      queueLimit: 1000,
      recentCalls: 500,
      keepaliveTime: 10_000,
      keepaliveTimeout: 5000,
      keepaliveMaxPings: 3,
      idleTimeout: null,
      clientKeepaliveTime: 7_200_000,
      clientKeepaliveTimeout: 20_000,
      maxConnectionAge: null,
      maxConnectionAgeGrace: 30_000,
      preStopDelay: 0,
      drainTimeout: 30_000,
      tlsCert: null,
      tlsKey: null,
      tlsClientCa: null,
      backendTls: false,
      backendCa: null,
      backendCert: null,
      backendKey: null,
      backendServerName: null,
      metadataPrefix: 'hedgerow',
      responseMetadata: true,
      directives: true,
      forwarded: 'off',
      trustForwarded: false,
      via: false,
      pin: 'strict',
      pinSameBackendRetry: false,
      admin: { kind: 'tcp', host: '127.0.0.1', port: 9901 },
      adminHost: [],
      adminTokenFile: null,
      logLevel: 'info',
      logFormat: null,
      accessLog: 'notable',
      config: null,
      control: null,
      dnsRefresh: 30_000,
      endpoints: null,
      loadBalancing: 'round_robin',
      hedgeDistinct: false,
      healthHardFailures: 3,
      healthFailureRate: 0.5,
      healthAliveWindow: 60_000,
      healthPark: 30_000,
      healthParkMax: 120_000,
      healthRecentWindow: 30_000,
      healthProbeGrace: 30_000,
      minBlame: 1000,
      healthIgnoreDeadline: [],
      healthCountInternal: false,
      healthRateLimit: false,
      healthCheck: null,
      pinOnParked: 'fail',
      session: 'strict',
      sessionTtl: 1_800_000,
      sessionMaxAge: null,
      sessionMaxEntries: 100_000,
      sessionLostAfter: 60_000,
    });
  });

  it('the settings are frozen to the bottom', () => {
    const { listen } = settings({});
    expect(Object.isFrozen(listen) && Object.isFrozen(listen[0])).toBe(true);
  });
});

describe('precedence', () => {
  const env = { HEDGEROW_DRAIN_TIMEOUT: '2s' };
  const file = '{"drainTimeout": "3s"}';

  it('flags beat the environment, which beats the file, which beats the defaults', () => {
    const all = [{ flags: ['--drain-timeout', '1s'], env, file }, { env, file }, { file }, {}];
    expect(all.map((given) => settings(given).drainTimeout)).toEqual([1000, 2000, 3000, 30_000]);
  });

  it('a later source replaces the whole of a repeatable setting', () => {
    const listen = (given: Given) =>
      settings(given).listen.map((address) => (address.kind === 'tcp' ? address.port : 0));
    const lists = {
      env: { HEDGEROW_LISTEN: ' 127.0.0.1:2\t127.0.0.1:3\n' },
      file: '{"listen": ["127.0.0.1:4", "127.0.0.1:5"]}',
    };
    expect(listen({ ...lists, flags: ['--listen', '127.0.0.1:1'] })).toEqual([1]);
    expect(listen(lists)).toEqual([2, 3]);
    expect(listen({ file: lists.file })).toEqual([4, 5]);
  });

  it('a source whose value is off beats one that gives an address', () => {
    expect(settings({ flags: ['--admin', 'off'], file: '{"admin": "127.0.0.1:1"}' }).admin).toBeNull();
  });

  it('the last of several flags counts, an empty variable does not', () => {
    expect(settings({ flags: ['--drain-timeout=1s', '--drain-timeout=2s'] }).drainTimeout).toBe(2000);
    expect(settings({ env: { HEDGEROW_DRAIN_TIMEOUT: '', HEDGEROW_LISTEN: ' ' } }).drainTimeout).toBe(30_000);
  });

  it('a broken value is told even where another source beats it', () => {
    expect(problem({ flags: ['--drain-timeout', '1s'], file: '{"drainTimeout": "x"}' })).toContain('h.json:1:18');
  });
});

describe('values', () => {
  it.each([
    ['250ms', 250],
    ['1.5s', 1500],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['0s', 0],
    ['0.0005s', 0.5],
  ])('the duration %s is %d ms', (text, ms) =>
    expect(settings({ flags: ['--drain-timeout', text] }).drainTimeout).toBe(ms),
  );

  it.each(['5', '-1s', '1S', '1 s', 's', '.5s', '1.s', '1e3s', '25h', '1d'])(
    '%j is no duration for a drain',
    (text) => {
      expect(problem({ flags: [`--drain-timeout=${text}`] })).toMatch(
        /^--drain-timeout .*(ms, s, m or h|must be from 0s to 24h)/,
      );
    },
  );

  it.each([
    ['0', 0],
    ['65536', 65_536],
    ['64KiB', 65_536],
    ['1MiB', 1_048_576],
    ['1GiB', 1_073_741_824],
  ])('the size %s is %d bytes', (text, bytes) => {
    expect(settings({ flags: ['--per-call-buffer-limit', text] }).perCallBufferLimit).toBe(bytes);
  });

  it.each(['64KB', '64k', '1.5MiB', '-1', '', '2GiB', '64 KiB', '0x10'])('%j is no size for a call', (text) => {
    expect(problem({ flags: [`--per-call-buffer-limit=${text}`] })).toMatch(/KiB, MiB or GiB|must be from 0 to 1GiB/);
  });

  it('a message size is a size or off, in every source', () => {
    const size = (given: Given) => settings(given).maxMessageSize;
    expect(size({ flags: ['--max-message-size', '4MiB'] })).toBe(4 * 1024 ** 2);
    expect(size({ env: { HEDGEROW_MAX_MESSAGE_SIZE: '4GiB' } })).toBe(4 * 1024 ** 3);
    expect(size({ file: '{"maxMessageSize": 1}' })).toBe(1);
    expect(size({ flags: ['--max-message-size', 'off'], file: '{"maxMessageSize": "64KiB"}' })).toBeNull();
  });

  it.each(['0', 'Off', '5GiB', ''])('%j is no message size', (text) => {
    expect(problem({ flags: [`--max-message-size=${text}`] })).toMatch(
      /^--max-message-size .*(KiB|must be from 1 to 4GiB)/,
    );
  });

  it('D1, D2: pins are strict unless a word loosens them', () => {
    expect(settings({ flags: ['--pin', 'first-attempt', '--pin-same-backend-retry'] })).toMatchObject({
      pin: 'first-attempt',
      pinSameBackendRetry: true,
    });
    expect(problem({ flags: ['--pin', 'loose'] })).toBe('--pin loose: must be strict or first-attempt');
  });

  it('directives are switched off by a word or by false', () => {
    expect(settings({ env: { HEDGEROW_DIRECTIVES: 'off' } }).directives).toBe(false);
    expect(settings({ file: '{"directives": false}' }).directives).toBe(false);
  });

  it.each(['0', '-1', '1.5', '1001', 'x', ''])('CFG-34: a cap of %j attempts is a usage error', (text) => {
    expect(problem({ flags: [`--max-attempts-limit=${text}`] })).toContain('must be an integer from 1 to 1000');
  });

  it('the file takes numbers and booleans where they say the same', () => {
    const file = '{"bufferLimit": 1024, "maxConnections": 7, "responseMetadata": false, "backendTls": "on"}';
    expect(settings({ file })).toMatchObject({
      bufferLimit: 1024,
      maxConnections: 7,
      responseMetadata: false,
      backendTls: true,
    });
  });

  it('a switch may stand bare', () => {
    expect(settings({ flags: ['--backend-tls', '--response-metadata', 'off'] })).toMatchObject({
      backendTls: true,
      responseMetadata: false,
    });
    expect(settings({ flags: ['--backend-tls=off'] }).backendTls).toBe(false);
  });

  it.each([
    ['client', { kind: 'client' }],
    ['target', { kind: 'target' }],
    ['orders.internal', { kind: 'fixed', value: 'orders.internal' }],
    ['orders.internal:443', { kind: 'fixed', value: 'orders.internal:443' }],
    ['[::1]:443', { kind: 'fixed', value: '[::1]:443' }],
    ['10.0.0.1', { kind: 'fixed', value: '10.0.0.1' }],
  ])('the authority %s', (text, value) => {
    expect(settings({ flags: ['--backend-authority', text] }).backendAuthority).toEqual(value);
  });

  it.each(['', 'a b', 'a:b', 'a:0', 'http://a', 'a/b', '::1'])('%j is no authority', (text) => {
    expect(problem({ flags: [`--backend-authority=${text}`] })).toContain('HOST[:PORT]');
  });

  it.each(['grpc', 'grpc-x', 'X', '1a', '', 'a_b', `a${'b'.repeat(32)}`])('%j is no metadata prefix', (text) => {
    expect(problem({ flags: [`--metadata-prefix=${text}`] })).toMatch(/^--metadata-prefix/);
  });

  it('a word that is nearly a choice is guessed', () => {
    expect(problem({ flags: ['--log-level', 'wran'] })).toBe(
      '--log-level wran: must be trace, debug, info, warn, error, fatal or silent; did you mean warn?',
    );
  });
});

describe('one line with its place', () => {
  it.each<[Given, string]>([
    [{ flags: ['--drain-timeot', '1s'] }, 'unknown flag --drain-timeot; did you mean --drain-timeout?'],
    [{ flags: ['-listen', 'x'] }, 'unknown flag -listen; did you mean --listen?'],
    [{ flags: ['--zzzzzz'] }, 'unknown flag --zzzzzz'],
    [{ flags: ['--listen'] }, '--listen needs a value'],
    [{ flags: ['--listen', '--admin', 'off'] }, '--listen needs a value'],
    [{ flags: ['serve'] }, 'unexpected argument "serve"; settings are flags, like --listen ADDR'],
    [{ env: { HEDGEROW_QUEUE_LIMIT: '0' } }, 'HEDGEROW_QUEUE_LIMIT: 0: must be an integer from 1 to 1000000'],
    [{ file: '{\n  "drainTimeot": "1s"\n}' }, 'h.json:2:3: unknown setting "drainTimeot"; did you mean drainTimeout?'],
    [{ file: '{\n  "queueLimit": 0\n}' }, 'h.json:2:17: queueLimit: 0: must be an integer from 1 to 1000000'],
    [{ file: '{"listen": "127.0.0.1:1"}' }, 'h.json:1:12: listen: "127.0.0.1:1": must be an array of strings'],
    [{ file: '{"listen": [1]}' }, 'h.json:1:13: listen: 1: must be a string'],
    [{ file: '{"drainTimeout": 5}' }, 'h.json:1:18: drainTimeout: 5: must be a string'],
    [{ file: '{"queueLimit": 1, "queueLimit": 2}' }, 'h.json:1:19: queueLimit is given twice'],
    [{ file: '{"config": "x"}' }, 'h.json:1:2: config cannot be set in the settings file itself'],
    [{ file: '[]' }, 'h.json:1:1: must be one JSON object with settings by their camelCase keys'],
    [{ file: '{"queueLimit": 1,}' }, 'h.json:1:17: JSON has no trailing commas: remove it'],
    [{ flags: ['--tls-cert', 'c.pem'] }, '--tls-cert needs --tls-key beside it'],
    [{ env: { HEDGEROW_TLS_KEY: 'k.pem' } }, 'HEDGEROW_TLS_KEY needs --tls-cert beside it'],
    [{ flags: ['--tls-client-ca', 'ca.pem'] }, '--tls-client-ca needs --tls-cert and --tls-key beside it'],
    [{ flags: ['--backend-ca', 'ca.pem'] }, '--backend-ca needs --backend-tls on'],
    [{ flags: ['--backend-key', 'k.pem', '--backend-tls'] }, '--backend-key needs --backend-cert beside it'],
    [{ flags: ['--backend-key', 'k.pem', '--backend-cert', 'c.pem'] }, '--backend-cert needs --backend-tls on'],
    [{ flags: ['--listen', '127.0.0.1:1', '--listen', '127.0.0.1:1'] }, '--listen 127.0.0.1:1: given twice'],
  ])('%j', (given, line) => expect(problem(given)).toBe(line));

  it('no backend, or one name for two, is refused', () => {
    expect(problem({ file: '{"backend": []}' })).toContain('no backend: give at least one, like --backend');
    for (const file of ['{"backend": [], "endpoints": "f.json"}', '{"backend": [], "control": "127.0.0.1:0"}']) {
      expect(settings({ file }).backend).toEqual([]);
    }
    const twice = ['--backend', 'a=10.0.0.1:1', '--backend', 'a=10.0.0.2:1'];
    expect(problem({ flags: twice })).toBe('--backend a=10.0.0.2:1: the name a is used twice');
    const file = '{"backend": ["a=10.0.0.1:1", "a=10.0.0.2:1"]}';
    expect(problem({ file })).toBe('h.json: backend a=10.0.0.2:1: the name a is used twice');
  });

  it.each([
    ['127.0.0.1:7', '127.0.0.1:7'],
    ['0.0.0.0:7', '127.0.0.1:7'],
    ['0.0.0.0:7', '192.168.1.5:7'],
    ['[::]:7', '[::1]:7'],
    ['localhost:7', '127.0.0.1:7'],
    ['127.0.0.1:7', '0.0.0.0:7'],
    ['[::1]:7', '[0:0:0:0:0:0:0:1]:7'],
    ['127.0.0.1:7', '[::ffff:127.0.0.1]:7'],
    ['unix:/run/x.sock', 'unix:///run/./x.sock'],
    ['127.0.0.1:7', 'localhost:7'],
    ['127.0.0.1:7', 'dns:///LOCALHOST.:7'],
    ['10.0.0.1:7', 'ipv4:10.0.0.2:7,10.0.0.1:7'],
  ])('a listener on %s and a backend at %s are a loop', (listen, target) => {
    expect(problem({ flags: ['--listen', listen, '--backend', `a=${target}`] })).toContain('our own listener');
  });

  it('a backend at the admin or control address is refused', () => {
    expect(problem({ flags: ['--backend', 'a=127.0.0.1:9901'] })).toContain('our own admin address');
    const flags = ['--control', '127.0.0.1:9902', '--backend', 'a=127.0.0.1:9902'];
    expect(problem({ flags })).toContain('our own control address');
  });

  it.each([
    ['127.0.0.1:7', '127.0.0.1:8'],
    ['127.0.0.1:7', '127.0.0.2:7'],
    ['0.0.0.0:7', '192.168.1.6:7'],
    ['127.0.0.1:0', '127.0.0.1:7'],
    ['unix:/run/x.sock', 'unix:/run/y.sock'],
  ])('a listener on %s and a backend at %s are no loop', (listen, target) => {
    expect(settings({ flags: ['--listen', listen, '--backend', `a=${target}`] }).backend).toHaveLength(1);
  });

  it('a variable that looks like a misspelt setting is noted, others are left alone', () => {
    const result = read({ env: { HEDGEROW_DRAIN_TIMOUT: '1s', HEDGEROW_SERVICE_HOST: '10.0.0.1', PATH: '/bin' } });
    expect(result).toMatchObject({
      ok: true,
      notes: [expect.stringContaining('did you mean HEDGEROW_DRAIN_TIMEOUT?')],
    });
  });

  it.each([
    [['--forwarded', 'certificate'], '--forwarded certificate tells no certificate without --tls-client-ca'],
    [['--trust-forwarded'], '--trust-forwarded has no effect without --forwarded'],
  ])('%j is noted: it has no effect alone', (flags, words) => {
    expect(read({ flags })).toMatchObject({ ok: true, notes: [expect.stringContaining(words)] });
  });

  it('whatever the arguments, nothing is thrown and a problem is one line', () => {
    const word = fc.oneof(
      fc.constantFrom(...settingKeys.map(flagOf), '--', '='),
      fc.string({ unit: 'binary', maxLength: 12 }),
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), fc.string({ maxLength: 30 }), (flags, file) => {
        const result = readSettings({ flags, env: { HEDGEROW_BACKEND: flags[0] }, file: { path: 'f', text: file } });
        if (!result.ok) expect(result.problem).not.toMatch(/[\r\n]/);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('settingsFile', () => {
  it('is named by the flag, else by the variable', () => {
    const env = { HEDGEROW_CONFIG: 'e.json' };
    const named = [['--config', 'f.json'], ['--config=f.json'], [], ['--oops']].map((flags) =>
      settingsFile(flags, env),
    );
    expect(named).toEqual(['f.json', 'f.json', 'e.json', 'e.json']);
    expect(settingsFile([], {})).toBeNull();
  });
});
