import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { RawConnection, RawOptions } from '../support/raw-connection.js';
import { connectRawClient, type RawClient } from '../support/raw-peer.js';
import { pause } from './rig.js';

/** Bytes that an attacker lets wait before it holds on: it is not read, and has its share. */
const enough = 4 * 1024 * 1024;

/** One attack in progress: where to, and until when. */
export class Assault {
  readonly port: number;
  private readonly until: number;
  private readonly atMost: number;
  private readonly clients: RawClient[] = [];
  private readonly sockets: Socket[] = [];
  /** How long the first connection lived that was closed on us (ms); null: none was. */
  closedAfter: number | null = null;
  /** Connections that were closed on us. */
  closed = 0;

  /**
   * @param duration ms
   * @param patience how much longer it goes on while nobody has closed a connection (ms)
   */
  constructor(port: number, duration: number, patience: number) {
    this.port = port;
    this.until = performance.now() + duration;
    this.atMost = this.until + patience;
  }

  get over(): boolean {
    return performance.now() >= (this.closed > 0 ? this.until : this.atMost);
  }

  /** A connection, on which nothing is given back and nothing answered. */
  async connect(options: RawOptions = {}): Promise<RawClient> {
    const client = await connectRawClient(this.port, { windows: 'none', answerPings: false, ...options });
    this.clients.push(client);
    this.watch(client.connection);
    return client;
  }

  /** Counts the end of a connection that the attack is about to use. */
  watch({ socket }: Pick<RawConnection, 'socket'>): void {
    const begun = performance.now();
    socket.once('close', () => {
      if (this.over) return;
      this.closed += 1;
      this.closedAfter ??= performance.now() - begun;
    });
  }

  /** Counts the end of a connection, and ends it with the attack. */
  hold(socket: Socket): void {
    this.sockets.push(socket);
    this.watch({ socket });
  }

  /** Sends `perSecond` of these, and connects anew whenever it is thrown out. `n` counts from 0 on each connection. */
  async flood(perSecond: number, attack: (n: number) => Uint8Array, options: RawOptions = {}): Promise<void> {
    while (!this.over) {
      const client = await this.connect(options).catch(() => null);
      if (client === null) {
        await pause(20);
        continue;
      }
      let n = 0;
      await this.pace(perSecond, (count) => {
        if (client.connection.closed) return false;
        if (client.connection.socket.writableLength > enough) return true;
        client.connection.send(...Array.from({ length: count }, () => attack(n++)));
        return true;
      });
    }
  }

  /** Calls `act` with what is due, in steps of some milliseconds, until it says false or the attack is over. */
  async pace(perSecond: number, act: (count: number) => boolean): Promise<void> {
    const begun = performance.now();
    let done = 0;
    while (!this.over) {
      const due = Math.floor(((performance.now() - begun) * perSecond) / 1000) + 1;
      if (due > done && !act(due - done)) return;
      done = due;
      await pause(5);
    }
  }

  /** Lets the time pass that is left. */
  async sitOut(): Promise<void> {
    while (!this.over) await pause(20);
  }

  end(): void {
    for (const client of this.clients) client.kill();
    for (const socket of this.sockets) socket.destroy();
  }
}
