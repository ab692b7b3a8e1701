import type { RunScript } from '../support/call-script.js';
import { type Planted, VirtualProxy } from '../support/virtual-proxy.js';
import { brokenIn } from './whole-call-checks.js';

/** A run is done again with HEDGEROW_SEED set to what it printed. */
export const seed = Number(process.env['HEDGEROW_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** Plays a run to its end; what does not hold. */
export function play(script: RunScript, planted: Planted = {}): { proxy: VirtualProxy; broken: string[] } {
  const proxy = new VirtualProxy(script, planted);
  proxy.run();
  const broken = brokenIn(script, proxy);
  const left = proxy.stop();
  if (left !== 0) broken.push(`left behind: ${left} alarms of connections`);
  return { proxy, broken };
}
