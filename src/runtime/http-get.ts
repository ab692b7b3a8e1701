import http from 'node:http';

/** Where to ask. `host` is an IP literal without brackets, or a host name. */
export type HttpPlace =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** An answer, or the code of an error (`ECONNREFUSED`, `ETIMEDOUT`, …; empty where it has none) and its message. */
export type HttpResult =
  | { readonly ok: true; readonly status: number; readonly body: string }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** The longest answer that is taken (bytes). */
const longest = 64 * 1024 * 1024;

/** GET over connections that are kept. The function never rejects. @param timeout for a whole answer (ms) */
export function createHttpGet(timeout: number): (place: HttpPlace, path: string) => Promise<HttpResult> {
  const agent = new http.Agent({ keepAlive: true });
  return (place, path) =>
    new Promise((resolve) => {
      const to = place.kind === 'unix' ? { socketPath: place.path } : { host: place.host, port: place.port };
      const fail = (error: NodeJS.ErrnoException): void =>
        resolve({ ok: false, code: error.code ?? '', message: firstMessage(error) });
      const request = http.get({ ...to, path, agent }, (response) => {
        const chunks: Buffer[] = [];
        let length = 0;
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          length += chunk.length;
          if (length > longest) request.destroy(new Error('the answer is too long'));
        });
        response.on('error', fail);
        response.on('end', () =>
          resolve({ ok: true, status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
        );
      });
      const timer = setTimeout(() => {
        request.destroy(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' }));
      }, timeout);
      request.on('close', () => clearTimeout(timer));
      request.on('error', fail);
    });
}

/** A name with several addresses fails with one error for each of them. */
function firstMessage(error: Error): string {
  const [first]: readonly unknown[] = error instanceof AggregateError ? error.errors : [];
  return first instanceof Error ? first.message : error.message;
}
