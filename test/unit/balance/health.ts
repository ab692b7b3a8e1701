import { createPicker, type PickerOptions } from '../../../src/balance/picker.js';
import type { HealthView, Picker, PickQuery, Standing } from '../../../src/balance/types.js';
import type { BalancingConfig } from '../../../src/grpc/balancing-config.js';
import { ids, query } from './pool.js';

/** How one backend stands. */
export interface Case {
  readonly standing: Standing;
  /** Clock milliseconds. */
  readonly until?: number;
  /** A lapsed one's probe may be a call without a policy too: its grace is over. */
  readonly grace?: boolean;
}

const words: Readonly<Record<string, Standing>> = {
  clean: 'clean',
  recent: 'recent',
  lapsed: 'lapsed',
  probing: 'probing',
  breached: 'breached',
  limited: 'rate_limited',
  parked: 'parked',
};

/**
 * Health by hand: `a:parked@50 b:lapsed c:lapsed@5+grace`; who is not named is clean. `set` says it anew. A picker asks for no more
 * than the interface grants: `standing` of a calm pool's first attempt, or `mayProbe` of one that has not lapsed, is a defect.
 */
export class ScriptedHealth implements HealthView {
  private cases = new Map<string, Case>();
  asked = 0;

  constructor(text = '') {
    this.set(text);
  }

  set(text: string): void {
    this.cases = new Map();
    for (const part of text.split(' ').filter((one) => one !== '')) {
      const [, id = '', word = '', until, grace] = /^(.+):([a-z]+)(?:@(\d+))?(\+grace)?$/.exec(part) ?? [];
      const standing = words[word];
      if (standing === undefined) throw new Error(`no standing in ${part}`);
      this.put(id, { standing, until: Number(until ?? 0), grace: grace !== undefined });
    }
  }

  put(id: string, how: Case): void {
    this.cases.set(id, how);
  }

  get calm(): boolean {
    return [...this.cases.values()].every(({ standing }) => standing === 'clean' || standing === 'recent');
  }

  standing(id: string): Standing {
    this.asked += 1;
    return this.cases.get(id)?.standing ?? 'clean';
  }

  parkedUntil(id: string): number {
    return this.cases.get(id)?.until ?? 0;
  }

  mayProbe(id: string, _now: number, guarded: boolean): boolean {
    const how = this.cases.get(id);
    if (how?.standing !== 'lapsed') throw new Error(`${id} has not lapsed`);
    return guarded || how.grace === true;
  }
}

/** A picker over health that the test scripts. */
export function tiered(
  health: HealthView,
  options: Partial<PickerOptions> = {},
  config: BalancingConfig = { kind: 'round_robin' },
  random: () => number = () => 0,
): Picker {
  return createPicker(config, health, { hedgeDistinct: false, pinOnParked: 'fail', ...options }, random);
}

/** The query of a retry that has tried these, one letter each. */
export function retrying(tried: string): PickQuery {
  return { ...query(ids(tried)), cause: 'retry' };
}

export function hedging(tried: string): PickQuery {
  return { ...query(ids(tried)), cause: 'hedge' };
}

/** A first attempt of a call without a policy. */
export const unguarded: PickQuery = { ...query(), guarded: false };
