import type { Endpoint } from './types.js';

/** The `:authority` of calls to this endpoint, as gRPC names have it: `host:port`, and `localhost` for a unix socket. */
export function authorityOf(endpoint: Endpoint): string {
  return endpoint.kind === 'unix' ? 'localhost' : formatEndpoint(endpoint);
}

/** `host:port`, `[host]:port` for IPv6, `unix:path`. */
export function formatEndpoint(endpoint: Endpoint): string {
  if (endpoint.kind === 'unix') return `unix:${endpoint.path}`;
  const { host, port } = endpoint;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
