import type { Http2Connection } from '../http2/types.js';
import type { AlarmHandle, Alarms, Clock, Turn } from '../runtime/ports.js';
import { answered, judge, type KeepaliveFacts, type KeepaliveLimits, type KeepaliveState, quiet } from './keepalive.js';
import type { Link } from './link.js';

/** What the watches of one backend share. */
export interface KeepaliveHome {
  readonly clock: Clock;
  readonly alarms: Alarms;
  readonly turn: Turn;
  /** In force now: `time` grows where the backend says too_many_pings (gRFC A8). */
  readonly keepalive: KeepaliveLimits;
}

/** What a watch needs of a connection. */
export type WatchedLink = Pick<Link, 'lastReadAt' | 'readOn'>;
export type WatchedConnection = Pick<Http2Connection, 'openStreams' | 'callFrames' | 'ping'>;

/** What a chunk that is read out of turn may take to come (ms). */
const readTime = 100;

/**
 * Keeps watch over one connection: one alarm at most, set while streams are open, moved only when it rings. Reads move
 * nothing; when the alarm rings it looks when the last one was.
 */
export class KeepaliveWatch {
  /** The silence after which its last PING was sent (ms); null: none was. */
  pingedAfter: number | null = null;
  /** PINGs sent so far. */
  sent = 0;

  private readonly home: KeepaliveHome;
  private readonly link: WatchedLink;
  private readonly connection: WatchedConnection;
  private readonly onLost: (detail: string) => void;
  private state: KeepaliveState = quiet;
  private busySince = Number.NEGATIVE_INFINITY;
  private alarm: AlarmHandle | null = null;
  /** The time is over, and what has been read in this turn is waited for. */
  private confirming = false;
  private stopped = false;
  private readonly ring = (): void => {
    this.alarm = null;
    this.look(false);
  };

  /** @param onLost the peer does not answer; the watch is over */
  constructor(home: KeepaliveHome, link: WatchedLink, connection: WatchedConnection, onLost: (detail: string) => void) {
    this.home = home;
    this.link = link;
    this.connection = connection;
    this.onLost = onLost;
  }

  /** PINGs in the silence that is, as the peer may count them. */
  get pings(): number {
    return this.state.pings;
  }

  /** A stream has been opened; its HEADERS need not be sent yet. */
  opened(): void {
    // The hot path: calls are open already, and the alarm is set.
    if (this.connection.openStreams > 1 && this.alarm !== null) return;
    const { clock, keepalive } = this.home;
    const now = clock.now();
    // Calls that give up one after another on a peer that says nothing are one silence.
    if (this.connection.openStreams === 1 && this.link.lastReadAt >= this.busySince) this.busySince = now;
    if (this.alarm !== null || this.confirming) return;
    // Never at once: a PING before its HEADERS would reach the peer while no stream is open there.
    this.arm(Math.max(now, this.busySince + keepalive.time));
  }

  /** The connection has ended. */
  stop(): void {
    this.stopped = true;
    if (this.alarm !== null) this.home.alarms.cancel(this.alarm);
    this.alarm = null;
  }

  private look(confirmed: boolean): void {
    const { clock, keepalive } = this.home;
    const { state, step } = judge(this.state, this.facts, clock.now(), keepalive);
    this.state = state;
    switch (step.kind) {
      case 'rest':
        return;
      case 'wait':
        this.arm(step.at);
        return;
      case 'ping':
        this.pingedAfter = keepalive.time;
        this.sent += 1;
        this.arm(step.at);
        this.connection.ping(() => {
          this.state = answered(this.state, this.connection.callFrames, clock.now());
        });
        return;
      case 'lost':
        if (confirmed) {
          this.stop();
          this.onLost(`no answer to a keepalive PING within ${keepalive.timeout} ms`);
          return;
        }
        this.confirm();
        return;
      default:
        step satisfies never;
    }
  }

  /** Looks once more: the answer may be there and not be read yet. */
  private confirm(): void {
    const { clock, alarms, turn } = this.home;
    this.confirming = true;
    const again = (): void => {
      this.alarm = null;
      this.confirming = false;
      if (!this.stopped) this.look(true);
    };
    // We do not read from a peer that lets megabytes of ours lie: that is no silence of its own.
    if (this.link.readOn()) this.alarm = alarms.set(clock.now() + readTime, again);
    // This process itself may have stood still.
    else turn.atEnd(again);
  }

  private get facts(): KeepaliveFacts {
    const { connection, link, busySince } = this;
    const { openStreams, callFrames } = connection;
    return { openStreams, callFrames, busySince, lastReadAt: link.lastReadAt };
  }

  private arm(at: number): void {
    this.alarm = this.home.alarms.set(at, this.ring);
  }
}
