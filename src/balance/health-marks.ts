import type { Mark } from './health-types.js';

/** No probe is under way. */
const noProbe = -1;

/**
 * The marks of one backend's attempts: even numbers that grow by 2 with each park that is set and each probe that begins; a
 * probe's own is the odd one below. So a mark says whether its attempt began after a park was set, 4.3 (b), and whether it is
 * the probe.
 */
export class Marks {
  /** Of an attempt that begins now. */
  last: Mark = 0;
  private probe: Mark = noProbe;
  private probeAt = 0;

  /** A park is set. Marks of attempts that begin from now on are no less than what is returned. */
  next(): Mark {
    this.last += 2;
    return this.last;
  }

  beginProbe(now: number): Mark {
    this.probe = this.next() - 1;
    this.probeAt = now;
    return this.probe;
  }

  endProbe(): void {
    this.probe = noProbe;
  }

  isProbe(mark: Mark): boolean {
    return mark === this.probe;
  }

  /** A probe is under way, for less than this many milliseconds. */
  probing(now: number, timeout: number): boolean {
    return this.probe !== noProbe && now - this.probeAt < timeout;
  }
}
