import { type Implementation, implementations } from './implementations.js';

/** gRPC's interop cases, in the order of its description; those about credentials, load balancing and load are left out. */
export const interopCases = [
  'empty_unary',
  'large_unary',
  'client_compressed_unary',
  'client_compressed_unary_noprobe',
  'server_compressed_unary',
  'client_streaming',
  'client_compressed_streaming',
  'client_compressed_streaming_noprobe',
  'server_streaming',
  'server_compressed_streaming',
  'ping_pong',
  'empty_stream',
  'custom_metadata',
  'status_code_and_message',
  'special_status_message',
  'unimplemented_method',
  'unimplemented_service',
  'cancel_after_begin',
  'cancel_after_first_response',
  'timeout_on_sleeping_server',
] as const;
export type InteropCase = (typeof interopCases)[number];

/** Why a pair cannot run a case; null: it can. */
export function notApplicable(name: InteropCase, client: Implementation, server: Implementation): string | null {
  if (name.includes('compressed') && client === 'grpc-go') return 'grpc-go’s client has no case of compression';
  if (name === 'client_compressed_unary' || name === 'client_compressed_streaming')
    return 'no server here sees whether a message came compressed, which the case’s first call asks; the case without it, _noprobe, does the rest';
  if (name.startsWith('client_compressed') && server === 'grpc-go')
    return 'grpc-go’s interop server is built without gzip';
  if (name.startsWith('server_compressed') && (server === 'grpc-go' || server === 'grpc-js'))
    return `${server === 'grpc-go' ? 'grpc-go’s interop server' : 'a grpc-js server'} does not compress answers`;
  return null;
}

/** A row a case, a column a client; a cell tells the servers it passed with, and those it cannot run with. */
export function interopTable(failed: ReadonlySet<string>): string {
  const rows = interopCases.map((name) => {
    const cells = implementations.map((client) => {
      const ran = implementations.filter((server) => notApplicable(name, client, server) === null);
      if (ran.length === 0) return 'n/a';
      const bad = ran.filter((server) => failed.has(pairKey(name, client, server)));
      return bad.length === 0 ? `${ran.length} of ${ran.length}` : `fails with ${bad.join(', ')}`;
    });
    return `| ${name} | ${cells.join(' | ')} |`;
  });
  const reasons = new Map<string, string[]>();
  let passed = 0;
  let left = 0;
  for (const name of interopCases)
    for (const client of implementations)
      for (const server of implementations) {
        const why = notApplicable(name, client, server);
        if (why === null) {
          passed += failed.has(pairKey(name, client, server)) ? 0 : 1;
          continue;
        }
        left += 1;
        reasons.set(why, [...(reasons.get(why) ?? []), name]);
      }
  const all = interopCases.length * implementations.length ** 2;
  return [
    `${passed} passed, ${all - passed - left} failed, ${left} n/a, of ${all}: each cell is a client with the four servers.`,
    '',
    `| case | ${implementations.join(' | ')} |`,
    `|---|${implementations.map(() => '---|').join('')}`,
    ...rows,
    '',
    ...[...reasons].map(([why, names]) => `- ${names.length} n/a: ${why} (${[...new Set(names)].join(', ')}).`),
  ].join('\n');
}

/** Names one cell of the whole table. */
export function pairKey(name: string, client: string, server: string): string {
  return `${client} → ${server}: ${name}`;
}
