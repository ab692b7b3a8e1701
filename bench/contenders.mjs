/** The proxies under test: whether each is here, in which version, and how it is started. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { envoyConfig, haproxyConfig, nginxConfig } from './peers/native.mjs';
import { ask } from './stage/accounts.mjs';

/** @typedef {import('./stage/contender.mjs').Contender} Contender @typedef {import('./stage/contender.mjs').Setting} Setting */

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.dirname(here);
const main = path.join(root, 'dist/main.js');
const require = createRequire(import.meta.url);

/** @param {Setting} setting @param {string} name @param {string} text */
function file({ dir }, name, text) {
  const at = path.join(dir, name);
  writeFileSync(at, text);
  return at;
}

/** The first of several backends, for those that are configured for one. @param {Setting} setting */
function only(setting) {
  const [backend = 0] = setting.backends;
  return { port: setting.port, backend, dir: setting.dir, tls: setting.tls, streaming: setting.streaming };
}

/** @param {Setting} setting */
function hedgerowFlags(setting) {
  const { backends, tls } = setting;
  const config = file(setting, 'service-config.json', JSON.stringify(setting.serviceConfig));
  const secure =
    tls === null ? [] : ['--tls-cert', tls.cert, '--tls-key', tls.key, '--backend-tls', 'on', '--backend-ca', tls.ca];
  return [
    ...['serve', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--service-config', config],
    ...backends.flatMap((port, i) => ['--backend', `b${i + 1}=127.0.0.1:${port}`]),
    ...secure,
    ...setting.flags,
  ];
}

/** @param {string} name @param {string} key @param {string} program @returns {Contender} */
function hedgerow(name, key, program) {
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  return {
    name,
    key,
    ours: key === 'hedgerow',
    version: existsSync(main) ? `${version} on Node ${process.versions.node}` : null,
    missing: 'not built: npm run build',
    tls: true,
    start: (setting) => ({
      command: process.execPath,
      args: [...setting.node, program, ...hedgerowFlags(setting)],
      port: null,
    }),
  };
}

/** @param {string} program @param {string} name @param {string} version @returns {Contender} */
function script(program, name, version) {
  return {
    name,
    key: program,
    ours: false,
    version,
    missing: '',
    tls: false,
    start: (setting) => ({
      command: process.execPath,
      args: [path.join(here, 'peers', `${program}.mjs`), String(only(setting).backend)],
      port: null,
    }),
  };
}

/** Envoy's own binary: as named, as bench/peers/install-envoy.sh fetches it, or as installed. */
function envoyBinary() {
  const fetched = path.join(root, '.ci/cache/envoy/envoy');
  return process.env.ENVOY ?? (existsSync(fetched) ? fetched : 'envoy');
}

/** @returns {Contender[]} */
export function contenders() {
  const envoy = envoyBinary();
  const grpcJs = require('@grpc/grpc-js/package.json').version;
  return [
    hedgerow('hedgerow', 'hedgerow', main),
    hedgerow('hedgerow, no telemetry', 'bare', path.join(here, 'peers/hedgerow-bare.mjs')),
    {
      name: 'HAProxy, 1 thread',
      key: 'haproxy',
      ours: false,
      version: ask('haproxy', ['-v'], /version ([\d.]+)/),
      missing: 'not installed',
      tls: true,
      start: (setting) => {
        const config = file(setting, 'haproxy.cfg', haproxyConfig(only(setting)));
        return { command: 'haproxy', args: ['-f', config], port: setting.port };
      },
    },
    {
      name: 'nginx, 1 worker',
      key: 'nginx',
      ours: false,
      version: ask('nginx', ['-v'], /nginx\/([\d.]+)/),
      missing: 'not installed',
      tls: false,
      start: (setting) => {
        const config = file(setting, 'nginx.conf', nginxConfig(only(setting)));
        return { command: 'nginx', args: ['-e', 'stderr', '-c', config], port: setting.port };
      },
    },
    {
      name: 'Envoy, concurrency 1',
      key: 'envoy',
      ours: false,
      version: ask(envoy, ['--version'], /\/([\d.]+)\//),
      missing: 'not installed (bench/peers/install-envoy.sh fetches it)',
      tls: false,
      start: (setting) => {
        const config = file(setting, 'envoy.json', envoyConfig(only(setting)));
        const args = ['-c', config, '--concurrency', '1', '--log-level', 'error', '--use-dynamic-base-id'];
        return { command: envoy, args, port: setting.port };
      },
    },
    script('grpc-js', 'grpc-js passthrough', `${grpcJs} on Node ${process.versions.node}`),
    script('http2', 'node:http2 passthrough', `Node ${process.versions.node}`),
    script('splice', 'net splice', `Node ${process.versions.node}`),
  ];
}
