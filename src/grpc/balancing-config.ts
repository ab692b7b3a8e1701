/**
 * How calls are spread over backends that are as good as each other: the part of a service config's loadBalancingConfig that
 * a proxy with backends of its own can do.
 */
export type BalancingConfig =
  /** Each in turn, by its weight. */
  | { readonly kind: 'round_robin' }
  /** The first in the configured order; `shuffle`: in an order drawn once (gRFC A62, shuffleAddressList). */
  | { readonly kind: 'pick_first'; readonly shuffle: boolean }
  /** The one with the least load of `choiceCount` that are drawn, 2 to 10 (gRFC A48). */
  | { readonly kind: 'least_request'; readonly choiceCount: number };

/** The words of `--load-balancing`. */
export const balancingKinds = ['round_robin', 'pick_first', 'least_request'] as const;

export type BalancingKind = (typeof balancingKinds)[number];

/** The policy of that name as gRPC's defaults have it. */
export function defaultBalancing(kind: BalancingKind): BalancingConfig {
  switch (kind) {
    case 'round_robin':
      return { kind };
    case 'pick_first':
      return { kind, shuffle: false };
    case 'least_request':
      return { kind, choiceCount: 2 };
    default:
      return kind satisfies never;
  }
}
