import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { settingKeys } from '../../../src/config/settings.js';
import { hedgerow } from '../../support/program.js';
import { startRawBackend } from '../../support/raw-peer.js';
import { certificate, privateKey } from '../../support/tls.js';

/*
 * docs/admin.md against the built program: each field of an answer has a row in its section, each row is a field of an
 * answer, and the examples have no others.
 */

const page = readFileSync(new URL('../../../docs/admin.md', import.meta.url), 'utf8');

/** A section's text, from its heading to the next. */
function section(heading: string): string {
  const [, text] = page.split(`\n## ${heading}\n`);
  if (text === undefined) throw new Error(`docs/admin.md has no section ${heading}`);
  return text.split('\n## ')[0] ?? '';
}

/** The names in the first column of the section's table of fields. */
function rowsOf(text: string): readonly string[] {
  const [, table = ''] = text.split('| field | |\n|---|---|\n');
  const rows = table.split('\n').filter((line) => line.startsWith('| `'));
  return rows.flatMap((row) => [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
}

/** Objects that are told as a whole: what is in them is somebody else's. */
const opaque = new Set(['service_config.content', 'service_config.warnings', 'FILES.paths']);
const files = /^(endpoints|client_tls|backend_tls)$/;

/** The fields in a value, `a[].b` for those of arrays; null and empty arrays are fields themselves. */
function fieldsOf(value: unknown, at = ''): readonly string[] {
  if (opaque.has(at)) return [at];
  if (Array.isArray(value) && value.some((item) => typeof item === 'object')) {
    return value.flatMap((item) => fieldsOf(item, `${at}[]`));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [at];
  return Object.entries(value).flatMap(([key, item]) => {
    const name = files.test(key) && at === '' ? 'FILES' : at === 'settings' ? 'SETTING' : key;
    return fieldsOf(item, at === '' ? name : `${at}.${name}`);
  });
}

/** Rows that say what null means for what has fields of its own elsewhere. */
const nullable = ['throttle', 'service_config.rejected'];

function sorted(names: Iterable<string>): readonly string[] {
  return [...new Set(names)].filter((name) => name !== 'FILES').toSorted();
}

it('docs/admin.md has the fields of every answer, and no others', async () => {
  const backend = await startRawBackend();
  try {
    const program = await hedgerow(
      [
        ...['serve', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--backend', `b=${backend.address}`],
        ...['--backend', 'g=dns:///localhost:9', '--endpoints', 'e.json', '--tls-cert', 'a.crt', '--tls-key', 'a.key'],
      ],
      {
        files: {
          'a.crt': certificate('server'),
          'a.key': privateKey('server'),
          'e.json': '{"backends": []}',
          'service-config.json': '{"retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1}, "unknown": 1}',
        },
      },
    );
    await program.line(({ event }) => event === 'connected');
    const ask = async (heading: string): Promise<unknown> => {
      const [method, url] = heading.split(' ');
      return (await fetch(`http://${await program.admin()}${url}`, { method: method ?? '' })).json();
    };
    const answers = new Map<string, unknown>();
    for (const heading of ['GET /healthz', 'GET /readyz', 'GET /backends', 'GET /sessions', 'GET /throttle']) {
      answers.set(heading, await ask(heading));
    }
    answers.set('POST /sessions/clear', await ask('POST /sessions/clear'));
    await writeFile(path.join(program.directory, 'service-config.json'), '{');
    answers.set('POST /reload', await ask('POST /reload'));
    answers.set('GET /config', await ask('GET /config'));
    answers.set('POST /drain', await ask('POST /drain'));

    for (const [heading, answer] of answers) {
      const rows = rowsOf(section(heading)).filter((row) => !nullable.includes(row));
      expect([heading, sorted(rows)]).toEqual([heading, sorted(fieldsOf(answer))]);
    }
    const { settings } = answers.get('GET /config') as { readonly settings: object };
    expect(Object.keys(settings)).toEqual(settingKeys);
  } finally {
    await backend.close();
  }
});

it('docs/admin.md has no field in an example that has no row', () => {
  const headings = [...page.matchAll(/^## ((?:GET|POST) .*)$/gm)].map(([, heading = '']) => heading);
  for (const heading of headings) {
    const text = section(heading);
    const names = new Set(rowsOf(text).flatMap((row) => row.split(/\.|\[\]/)));
    if (names.size === 0) continue;
    for (const [, block = ''] of text.matchAll(/^```console\n([\s\S]*?)^```$/gm)) {
      for (const example of block.split(/^\$ .*\n/m).filter((part) => part.startsWith('{'))) {
        const keys = fieldsOf(JSON.parse(example)).flatMap((field) => field.split(/\.|\[\]/));
        const known = (key: string): boolean =>
          names.has(key) || settingKeys.some((setting) => setting === key) || key === 'content';
        expect([heading, keys.filter((key) => !known(key) && !inContent(key))]).toEqual([heading, []]);
      }
    }
  }
});

/** Keys of a service config, which an example of a part of /config shows. */
function inContent(key: string): boolean {
  return /^(methodConfig|name|service|timeout|retryPolicy|maxAttempts|initialBackoff|maxBackoff|backoffMultiplier|retryableStatusCodes|retryThrottling|maxTokens|tokenRatio)$/.test(
    key,
  );
}
