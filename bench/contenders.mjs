import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { envoyConfig, haproxyConfig, nginxConfig } from './peers/native.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);

/**
 * One proxy under test.
 * @typedef {object} Contender
 * @property {string} name
 * @property {string | null} version null: not here, `missing` says why
 * @property {string} missing
 * @property {(ports: { port: number, backend: number, dir: string }) => { command: string, args: string[], port: number | 'stdout' | 'ready' }} start
 */

/** @param {string} command @param {string[]} args @param {RegExp} pattern */
function versionOf(command, args, pattern) {
  try {
    const out = execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    return pattern.exec(out)?.[1] ?? null;
  } catch (error) {
    const { stderr } = /** @type {{ stderr?: string }} */ (error);
    return pattern.exec(stderr ?? '')?.[1] ?? null;
  }
}

/** nginx prints its version on stderr with exit code 0. */
function nginxVersion() {
  try {
    return execFileSync('sh', ['-c', 'nginx -v 2>&1'], { encoding: 'utf8' }).match(/nginx\/([\d.]+)/)?.[1] ?? null;
  } catch {
    return null;
  }
}

const serviceConfig = JSON.stringify({
  methodConfig: [
    {
      name: [{ service: 'bench.Echo' }],
      retryPolicy: {
        maxAttempts: 4,
        initialBackoff: '0.1s',
        maxBackoff: '1s',
        backoffMultiplier: 2,
        retryableStatusCodes: ['UNAVAILABLE'],
      },
    },
  ],
});

/** @returns {Contender[]} */
export function contenders() {
  const root = path.dirname(here);
  const main = path.join(root, 'dist/main.js');
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const envoy = process.env.ENVOY ?? 'envoy';
  /** @param {string} file @param {string} name @param {string} of @returns {Contender} */
  const node = (file, name, of) => ({
    name,
    version: of,
    missing: '',
    start: ({ backend }) => ({
      command: process.execPath,
      args: [path.join(here, 'peers', file), String(backend)],
      port: 'stdout',
    }),
  });
  return [
    {
      name: 'hedgerow',
      version: existsSync(main) ? version : null,
      missing: 'not built: npm run build',
      start: ({ backend, dir }) => {
        const config = path.join(dir, 'service-config.json');
        writeFileSync(config, serviceConfig);
        const args = [main, 'serve', '--listen', '127.0.0.1:0', '--backend', `b1=127.0.0.1:${backend}`];
        return {
          command: process.execPath,
          args: [...args, '--service-config', config, '--admin', 'off'],
          port: 'ready',
        };
      },
    },
    node('grpc-js.mjs', 'grpc-js', require('@grpc/grpc-js/package.json').version),
    node('http2.mjs', 'node:http2', process.versions.node),
    node('splice.mjs', 'net splice', process.versions.node),
    {
      name: 'HAProxy',
      version: versionOf('haproxy', ['-v'], /version ([\d.]+)/),
      missing: 'haproxy is not installed',
      start: ({ port, backend, dir }) => {
        const file = path.join(dir, 'haproxy.cfg');
        writeFileSync(file, haproxyConfig({ port, backend }));
        return { command: 'haproxy', args: ['-f', file], port };
      },
    },
    {
      name: 'nginx',
      version: nginxVersion(),
      missing: 'nginx is not installed',
      start: ({ port, backend, dir }) => {
        const file = path.join(dir, 'nginx.conf');
        writeFileSync(file, nginxConfig({ port, backend, dir }));
        return { command: 'nginx', args: ['-e', 'stderr', '-c', file], port };
      },
    },
    {
      name: 'Envoy',
      version: versionOf(envoy, ['--version'], /\/([\d.]+)\//),
      missing: 'envoy is not installed (name its binary in ENVOY)',
      start: ({ port, backend, dir }) => {
        const file = path.join(dir, 'envoy.json');
        writeFileSync(file, envoyConfig({ port, backend }));
        return {
          command: envoy,
          args: ['-c', file, '--concurrency', '1', '--log-level', 'error', '--use-dynamic-base-id'],
          port,
        };
      },
    },
  ];
}
