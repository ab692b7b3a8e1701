import type { Endpoint } from './types.js';

/** `host:port`, `[host]:port` for IPv6, `unix:path`. */
export function formatEndpoint(endpoint: Endpoint): string {
  if (endpoint.kind === 'unix') return `unix:${endpoint.path}`;
  const { host, port } = endpoint;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
