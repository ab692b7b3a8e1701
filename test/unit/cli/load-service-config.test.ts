import { describe, expect, it } from 'vitest';
import { loadServiceConfig } from '../../../src/cli/load-service-config.js';

const maxAttemptsLimit = 3;

function load(serviceConfig: string | null, found: string | { readonly code: string }) {
  return loadServiceConfig({ serviceConfig, maxAttemptsLimit }, async (path) => {
    expect(path).toBe(serviceConfig ?? './service-config.json');
    if (typeof found === 'string') return found;
    throw Object.assign(new Error('no'), found);
  });
}

describe('the service config of a start', () => {
  it('is the file’s, with its warnings and the cap in force', async () => {
    expect(await load('sc.json', '{"methodConfgi": []}')).toEqual({
      ok: true,
      loaded: {
        ok: true,
        path: 'sc.json',
        version: expect.stringMatching(/^[0-9a-f]{12}$/),
        config: { methodConfig: [], throttling: null, balancing: null, maxAttemptsLimit },
        findings: [expect.objectContaining({ rule: 'unknown-field', line: 1, column: 2 })],
        warnings: [expect.stringMatching(/^sc\.json:1:2: warning: methodConfgi: .*\[unknown-field\]$/)],
      },
    });
  });

  it('is {} where none was named and none is there', async () => {
    const found = await load(null, { code: 'ENOENT' });
    expect(found).toMatchObject({
      ok: true,
      loaded: {
        path: null,
        config: { methodConfig: [], throttling: null, balancing: null, maxAttemptsLimit },
        warnings: [],
      },
    });
    const written = await load(null, '{}');
    expect(written).toMatchObject({ loaded: { path: './service-config.json' } });
    expect([found, written].map((first) => first.ok && first.loaded.version)).toEqual(
      Array.from({ length: 2 }, () => expect.stringMatching(/^44136fa355b3$/)),
    );
  });

  it.each([
    ['named and missing', 'sc.json', { code: 'ENOENT' }, 'sc.json: no such file', 2],
    ['not named and unreadable', null, { code: 'EACCES' }, './service-config.json: no permission to read it', 2],
    ['not named and broken', null, '{', /^\.\/service-config\.json:1:\d+: error: .*\[json-syntax\]$/, 1],
    ['broken in two places', 'sc.json', '{"methodConfig": 1, "retryThrottling": 2}', /; 1 more, all told by: /, 1],
  ] as const)('%s forbids it', async (_what, serviceConfig, found, problem, exitCode) => {
    const first = await load(serviceConfig, found);
    expect(first).toEqual({
      ok: false,
      problem: typeof problem === 'string' ? problem : expect.stringMatching(problem),
      exitCode,
    });
  });
});
