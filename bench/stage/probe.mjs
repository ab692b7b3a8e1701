/** One real call through a proxy, its answer read whole: one that answers wrongly is not measured. */
import http2 from 'node:http2';
import { message } from '../wire.mjs';

/** Tries at most; a proxy may still be starting, which not every one tells. */
const tries = 100;
const pause = 50;

/** @param {{ port: number, tls: boolean, answerBytes: number }} where */
export async function probe(where) {
  for (let left = tries; ; left -= 1) {
    try {
      const status = await call(where);
      if (status !== '0') throw new Error(`grpc-status ${status}`);
      return;
    } catch (error) {
      if (left === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** @param {{ port: number, tls: boolean, answerBytes: number }} where @returns {Promise<string>} its grpc-status */
function call({ port, tls, answerBytes }) {
  return new Promise((resolve, reject) => {
    const session = http2.connect(`${tls ? 'https' : 'http'}://127.0.0.1:${port}`, { rejectUnauthorized: false });
    session.on('error', reject);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/bench.Echo/Unary',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let bytes = 0;
    let status = 'missing';
    stream.on('response', (headers) => {
      if (headers['grpc-status'] !== undefined) status = String(headers['grpc-status']);
    });
    stream.on('trailers', (fields) => {
      status = String(fields['grpc-status']);
    });
    stream.on('data', (chunk) => {
      bytes += chunk.length;
    });
    stream.on('error', reject);
    stream.on('close', () => {
      session.destroy();
      if (bytes === answerBytes + 5) resolve(status);
      else reject(new Error(`answered ${bytes} bytes for ${answerBytes + 5}, grpc-status ${status}`));
    });
    stream.end(message(100));
  });
}
