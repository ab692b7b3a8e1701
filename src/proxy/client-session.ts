import type { SocketBinding } from '../http2/socket.js';
import { ErrorCode } from '../http2/types.js';
import type { AlarmHandle, Alarms, Clock, Random, Turn } from '../runtime/ports.js';
import type { KeepaliveWatch } from '../upstream/keepalive-watch.js';
import type { ClientConnection } from './client-connection.js';
import { type ClientKeepalive, watchClient } from './client-keepalive.js';
import { sayGoodbye } from './goodbye.js';

/** When a client's connection ends by itself. Milliseconds; null: never. */
export interface ClientLifetime {
  /** Without calls. */
  readonly idle: number | null;
  /** At all; a tenth is added or taken at random, so that clients that came together do not come again together. */
  readonly age: number | null;
  /** What its calls get to finish in once it is that old. */
  readonly ageGrace: number;
  /** Absent: a client is not asked whether it lives. */
  readonly keepalive?: ClientKeepalive | null;
}

/** What a session takes from outside. */
export interface SessionPorts {
  readonly clock: Clock;
  readonly alarms: Alarms;
  readonly random: Random;
  readonly turn: Turn;
}

/** What a client gets for its last bytes once the time to finish is over (ms). */
const lastLinger = 100;
const ageJitter = 0.1;

/** A client's connection from its preface to its end: says when it ends, and how (A9; RFC 9113 6.8). */
export class ClientSession {
  readonly client: Pick<ClientConnection, 'openCalls' | 'abandonCalls'>;
  private readonly binding: Pick<
    SocketBinding,
    'connection' | 'lastReadAt' | 'readOn' | 'end' | 'endWhenRead' | 'destroy'
  >;
  private readonly ports: SessionPorts;
  private readonly lifetime: ClientLifetime;
  /** Takes back the goodbye that is being said; null before. */
  private stopGoodbye: (() => void) | null = null;
  /** The final GOAWAY has been sent: no call can come any more. */
  private saidLast = false;
  /** What the client gets to read its last bytes in (ms). */
  private patience: number;
  /** It may not have read the end of an answer yet. */
  private unread = false;
  private givenUp = false;
  private readonly begunAt: number;
  /** When the last call ended (clock ms); before any, long ago. */
  private endedAt = Number.NEGATIVE_INFINITY;
  /** Moved only when it rings: see `callEnded`. */
  private idleAlarm: AlarmHandle | null = null;
  private ageAlarm: AlarmHandle | null = null;
  private readonly watch: KeepaliveWatch | null = null;

  /** @param onSilent the client does not answer: its connection is being closed */
  constructor(
    client: Pick<ClientConnection, 'openCalls' | 'abandonCalls'>,
    binding: Pick<SocketBinding, 'connection' | 'lastReadAt' | 'readOn' | 'end' | 'endWhenRead' | 'destroy'>,
    ports: SessionPorts,
    lifetime: ClientLifetime,
    onSilent: (detail: string) => void = () => {},
  ) {
    this.client = client;
    this.binding = binding;
    this.ports = ports;
    this.lifetime = lifetime;
    this.patience = lifetime.ageGrace;
    this.begunAt = ports.clock.now();
    const { idle, age, keepalive = null } = lifetime;
    if (idle !== null) this.watchIdle(this.begunAt + idle);
    if (age !== null) {
      const jittered = age * (1 - ageJitter + 2 * ageJitter * ports.random.next());
      this.ageAlarm = ports.alarms.set(this.begunAt + jittered, () => this.growOld());
    }
    if (keepalive !== null) {
      this.watch = watchClient(binding, ports, keepalive, (detail) => {
        onSilent(detail);
        binding.destroy(detail);
      });
    }
  }

  /** PINGs that asked whether the client lives. */
  get keepalives(): number {
    return this.watch?.sent ?? 0;
  }

  /** A call is over. */
  callEnded(): void {
    if (this.client.openCalls > 0) return;
    this.endedAt = this.ports.clock.now();
    if (this.stopGoodbye !== null) {
      this.unread = true;
      if (this.saidLast) this.finish();
      return;
    }
    const { idle } = this.lifetime;
    if (idle !== null && this.idleAlarm === null) this.watchIdle(this.endedAt + idle);
  }

  /**
   * Sends both GOAWAYs, then closes when the last call has ended and the client has read its end. Once; later ones change nothing.
   *
   * @param patience what the client gets for that reading (ms) [ageGrace]
   */
  leave(patience = this.lifetime.ageGrace): void {
    if (this.stopGoodbye !== null) return;
    this.patience = patience;
    this.idleAlarm = this.clear(this.idleAlarm);
    this.stopGoodbye = sayGoodbye(this.binding.connection, this.ports, (heard) => {
      this.saidLast = true;
      // Where the last answer ended longer ago than that, it has had its time.
      if (!heard && this.ports.clock.now() - this.endedAt < patience) this.unread = true;
      // Only now: a client that has not heard the last GOAWAY may still open a call.
      if (this.client.openCalls === 0) this.finish();
    });
  }

  /** The time to finish is over: what is left ends UNAVAILABLE `drain_timeout`, and the connection with it. */
  giveUp(): void {
    if (!this.saidLast) {
      // So that calls which are under way to us are known not to have been taken.
      const { connection } = this.binding;
      this.leave();
      this.stopGoodbye?.();
      connection.goaway(connection.lastPeerStreamId, ErrorCode.NO_ERROR, 'draining');
      this.saidLast = true;
    }
    this.givenUp = true;
    this.client.abandonCalls();
    // What a peer that reads would take at once is all that is waited for.
    this.binding.end(lastLinger);
  }

  /** Closes now. */
  destroy(): void {
    this.binding.destroy();
  }

  /** The socket is closed. */
  closed(): void {
    this.idleAlarm = this.clear(this.idleAlarm);
    this.ageAlarm = this.clear(this.ageAlarm);
    this.stopGoodbye?.();
    this.watch?.stop();
  }

  /** No call is left and none can come. To close at once would cut off an answer that the client has not read to its end. */
  private finish(): void {
    if (this.givenUp) return;
    if (this.unread) this.binding.endWhenRead(this.patience);
    else this.binding.end();
  }

  private growOld(): void {
    const { alarms, clock } = this.ports;
    this.leave();
    this.ageAlarm = alarms.set(clock.now() + this.lifetime.ageGrace, () => this.giveUp());
  }

  private watchIdle(at: number): void {
    this.idleAlarm = this.ports.alarms.set(at, () => {
      this.idleAlarm = null;
      const { idle } = this.lifetime;
      // The end of the last call sets it anew.
      if (idle === null || this.client.openCalls > 0) return;
      const due = Math.max(this.begunAt, this.endedAt) + idle;
      if (this.ports.clock.now() < due) this.watchIdle(due);
      else this.leave();
    });
  }

  private clear(alarm: AlarmHandle | null): null {
    if (alarm !== null) this.ports.alarms.cancel(alarm);
    return null;
  }
}
