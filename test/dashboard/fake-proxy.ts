import { readFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Assets } from '../../src/admin/assets.js';
import type { LiveSnapshot, RecentCall } from '../../src/admin/live.js';

/**
 * An admin listener without a proxy: it serves the built page as the real one does, and its numbers are what a test says.
 */
export class FakeProxy {
  /** Of the listener; 0 before. */
  port: number;
  private snapshot: LiveSnapshot;
  private ring: readonly RecentCall[];
  /** Readers of /events are turned away, as when there are too many. */
  full = false;
  private readonly followers = new Set<http.ServerResponse>();
  private server: http.Server | null = null;
  private readonly assets: Assets;

  /** @param dist the directory of the built program */
  constructor(dist: string, snapshot: LiveSnapshot, ring: readonly RecentCall[] = [], port = 0) {
    this.assets = new Assets((name) => readFile(path.join(dist, name), 'utf8'));
    this.snapshot = snapshot;
    this.ring = ring;
    this.port = port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/`;
  }

  async start(): Promise<void> {
    const server = http.createServer((request, response) => void this.answer(request, response));
    this.server = server;
    await new Promise<void>((resolve, reject) => {
      server.on('error', reject);
      server.listen(this.port, '127.0.0.1', resolve);
    });
    this.port = (server.address() as AddressInfo).port;
  }

  /** Its connections end as when the process dies. */
  async stop(): Promise<void> {
    const { server } = this;
    this.server = null;
    this.followers.clear();
    await new Promise<void>((resolve) => {
      if (server === null) return resolve();
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }

  live(snapshot: LiveSnapshot): void {
    this.snapshot = snapshot;
    this.say('live', snapshot);
  }

  /** Newest first. */
  calls(calls: readonly RecentCall[]): void {
    this.ring = [...calls, ...this.ring];
    this.say('calls', { calls });
  }

  private say(event: string, data: unknown): void {
    for (const follower of this.followers) follower.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  private async answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { url = '/' } = request;
    if (url === '/live' || url.startsWith('/calls')) {
      const since = Number(new URL(url, this.url).searchParams.get('since') ?? 0);
      const body = url === '/live' ? this.snapshot : { calls: this.ring.filter(({ seq }) => seq > since) };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
      return;
    }
    if (url === '/events') {
      if (this.full) {
        response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '5' });
        response.end('{"error":"there is no room"}');
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      this.followers.add(response);
      response.on('close', () => this.followers.delete(response));
      response.write(`event: live\ndata: ${JSON.stringify(this.snapshot)}\n\n`);
      response.write(`event: calls\ndata: ${JSON.stringify({ calls: this.ring })}\n\n`);
      return;
    }
    const { status, body, type, headers } = (await this.assets.at(url)?.()) ?? { status: 404, body: '' };
    response.writeHead(status, { 'content-type': type ?? 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }
}
