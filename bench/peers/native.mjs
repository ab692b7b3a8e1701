/**
 * Configurations of the proxies written in C and C++: alike in what they must do, which is what hedgerow does. One thread,
 * retries armed for UNAVAILABLE or what comes nearest, the request kept for them as far as each can, a line logged for a call
 * that failed and none for others, stream windows as ours where they can be set.
 */

/** @typedef {{ port: number, backend: number, dir: string, tls: import('../stage/contender.mjs').Tls | null, streaming: boolean }} Setting */

/** @param {Setting} setting */
export function haproxyConfig({ port, backend, tls, streaming }) {
  return `global
  nbthread 1
  log stdout format raw local0
  maxconn 8000
  tune.h2.max-concurrent-streams 1000
  tune.h2.initial-window-size 262144
defaults
  mode http
  log global
  option httplog
  option dontlog-normal
  timeout client 60s
  timeout server 60s
  timeout connect 2s
  retries 3
  retry-on conn-failure empty-response 503
${streaming ? '' : '  option http-buffer-request\n'}frontend in
  bind 127.0.0.1:${port} ${tls === null ? 'proto h2' : `ssl crt ${tls.pem} alpn h2`}
  default_backend out
backend out
  http-reuse always
  server b1 127.0.0.1:${backend} ${tls === null ? 'proto h2' : `ssl verify required ca-file ${tls.ca} alpn h2`}
`;
}

/** @param {Setting} setting */
export function nginxConfig({ port, backend, dir }) {
  return `worker_processes 1;
daemon off;
master_process off;
pid ${dir}/nginx.pid;
error_log ${dir}/nginx.log error;
events { worker_connections 4096; }
http {
  map $status $notable { ~^[23] 0; default 1; }
  access_log ${dir}/access.log combined if=$notable;
  client_max_body_size 0;
  client_body_temp_path ${dir}/body;
  proxy_temp_path ${dir}/proxy;
  fastcgi_temp_path ${dir}/fastcgi;
  uwsgi_temp_path ${dir}/uwsgi;
  scgi_temp_path ${dir}/scgi;
  keepalive_requests 100000000;
  http2_max_requests 100000000;
  http2_max_concurrent_streams 1000;
  upstream out { server 127.0.0.1:${backend}; keepalive 64; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port} http2;
    location / {
      grpc_pass grpc://out;
      grpc_next_upstream error timeout http_503;
      grpc_next_upstream_tries 3;
    }
  }
}
`;
}

/** @param {Setting} setting */
export function envoyConfig({ port, backend }) {
  return JSON.stringify({
    static_resources: {
      listeners: [
        {
          address: { socket_address: { address: '127.0.0.1', port_value: port } },
          filter_chains: [
            {
              filters: [
                {
                  name: 'envoy.filters.network.http_connection_manager',
                  typed_config: {
                    '@type':
                      'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
                    stat_prefix: 'in',
                    access_log: [
                      {
                        name: 'notable',
                        filter: { grpc_status_filter: { statuses: ['OK'], exclude: true } },
                        typed_config: {
                          '@type': 'type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog',
                        },
                      },
                    ],
                    codec_type: 'HTTP2',
                    route_config: {
                      virtual_hosts: [
                        {
                          name: 'all',
                          domains: ['*'],
                          routes: [
                            {
                              match: { prefix: '/' },
                              route: {
                                cluster: 'out',
                                timeout: '0s',
                                retry_policy: { retry_on: 'unavailable', num_retries: 3 },
                              },
                            },
                          ],
                        },
                      ],
                    },
                    http_filters: [
                      {
                        name: 'envoy.filters.http.router',
                        typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' },
                      },
                    ],
                  },
                },
              ],
            },
          ],
        },
      ],
      clusters: [
        {
          name: 'out',
          type: 'STATIC',
          connect_timeout: '2s',
          circuit_breakers: {
            thresholds: [{ max_requests: 100_000, max_pending_requests: 100_000, max_retries: 1000 }],
          },
          typed_extension_protocol_options: {
            'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
              '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
              explicit_http_config: { http2_protocol_options: {} },
            },
          },
          load_assignment: {
            cluster_name: 'out',
            endpoints: [
              {
                lb_endpoints: [
                  { endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: backend } } } },
                ],
              },
            ],
          },
        },
      ],
    },
  });
}
