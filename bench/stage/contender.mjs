/**
 * What a round needs of a proxy.
 *
 * @typedef {{ cert: string, key: string, ca: string, pem: string }} Tls paths; `pem` holds certificate and key
 *
 * @typedef {object} Setting
 * @property {number} port a free one, for those that cannot say which they took
 * @property {readonly number[]} backends their ports
 * @property {string} dir for its files
 * @property {Tls | null} tls with clients and backends
 * @property {boolean} streaming calls whose requests stay open are to reach the backend: a peer that waits for whole requests, to
 *   have them for retries, does not
 * @property {object} serviceConfig hedgerow's
 * @property {readonly string[]} flags further ones of hedgerow's
 * @property {readonly string[]} node flags of Node's, before hedgerow's program
 *
 * @typedef {object} Contender
 * @property {string} name
 * @property {string} key in --peers
 * @property {boolean} ours
 * @property {string | null} version null: not here, `missing` says why
 * @property {string} missing
 * @property {boolean} tls whether it is configured for TLS here
 * @property {(setting: Setting) => { command: string, args: string[], port: number | null }} start `port` null: it prints it
 */

/** A retryPolicy as services have it: four attempts at UNAVAILABLE. */
export const retryPolicy = {
  maxAttempts: 4,
  initialBackoff: '0.1s',
  maxBackoff: '1s',
  backoffMultiplier: 2,
  retryableStatusCodes: ['UNAVAILABLE'],
};

/** The service config of a run, unless a row has its own. */
export const armed = { methodConfig: [{ name: [{ service: 'bench.Echo' }], retryPolicy }] };
