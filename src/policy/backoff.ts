import { type Millis, millis } from '../grpc/millis.js';

export function backoffDelay(
  plan: { readonly initialBackoff: Millis; readonly maxBackoff: Millis; readonly multiplier: number },
  n: number,
  random: number,
): Millis {
  const grown = plan.initialBackoff * plan.multiplier ** (n - 1);
  const base = Math.min(Number.isNaN(grown) ? plan.maxBackoff : grown, plan.maxBackoff);
  return millis(base * (0.8 + 0.4 * random));
}
