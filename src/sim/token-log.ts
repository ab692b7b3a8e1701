import type { Millis } from '../grpc/millis.js';
import type { Throttle, ThrottleLimits } from '../policy/throttle.js';
import type { VirtualTime } from './virtual-time.js';

/** How the bucket stood over a run. */
export interface TokenRecord {
  readonly limits: ThrottleLimits;
  /** Each level that differs from the one before, in thousandths, from the first on. */
  readonly levels: readonly { readonly at: Millis; readonly milliTokens: number }[];
  /** When it was shut; `to` null: at the end still. */
  readonly shut: readonly { readonly from: Millis; readonly to: Millis | null }[];
  readonly lowest: number;
}

/** Counts for a throttle, and keeps how it stood. */
export class TokenLog {
  private readonly time: VirtualTime;
  private readonly throttle: Throttle;
  private readonly levels: { at: Millis; milliTokens: number }[] = [];
  private readonly shut: { from: Millis; to: Millis | null }[] = [];
  private lowest: number;

  constructor(time: VirtualTime, throttle: Throttle) {
    this.time = time;
    this.throttle = throttle;
    this.lowest = throttle.state?.milliTokens ?? 0;
    this.note();
  }

  count(as: 'failure' | 'success'): void {
    this.throttle.count(as);
    this.note();
  }

  /** Null: nothing throttles. */
  get record(): TokenRecord | null {
    const { state } = this.throttle;
    return state === null ? null : { limits: state.limits, levels: this.levels, shut: this.shut, lowest: this.lowest };
  }

  private note(): void {
    const { state } = this.throttle;
    if (state === null) return;
    const { milliTokens } = state;
    const { now: at } = this.time;
    if (this.levels.at(-1)?.milliTokens !== milliTokens) this.levels.push({ at, milliTokens });
    if (milliTokens < this.lowest) this.lowest = milliTokens;
    const last = this.shut.at(-1);
    const wasShut = last !== undefined && last.to === null;
    const isShut = this.throttle.isShut(false);
    if (isShut && !wasShut) this.shut.push({ from: at, to: null });
    else if (!isShut && wasShut) last.to = at;
  }
}
