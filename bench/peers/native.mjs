/** Configurations of the proxies written in C and C++: alike in what they must do (one thread, retries armed, no access log). */

/** @param {{ port: number, backend: number }} ports */
export function haproxyConfig({ port, backend }) {
  return `global
  nbthread 1
  maxconn 4000
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 2s
  retries 3
  retry-on conn-failure empty-response 503
  option http-buffer-request
frontend in
  bind 127.0.0.1:${port} proto h2
  default_backend out
backend out
  http-reuse always
  server b1 127.0.0.1:${backend} proto h2
`;
}

/** @param {{ port: number, backend: number, dir: string }} ports */
export function nginxConfig({ port, backend, dir }) {
  return `worker_processes 1;
daemon off;
master_process off;
pid ${dir}/nginx.pid;
error_log ${dir}/nginx.log error;
events { worker_connections 4096; }
http {
  access_log off;
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

/** @param {{ port: number, backend: number }} ports */
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
