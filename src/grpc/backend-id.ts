declare const kind: unique symbol;

/** The name of one backend: `NAME` for a literal address, `NAME/ADDR` for a member of a group (contract, --backend). */
export type BackendId = string & { readonly [kind]: 'backend' };

/** Marks a configured name as a backend's identity. */
export function backendId(name: string): BackendId {
  return name as BackendId;
}

/** What a pin or an exclude names: a backend's id, or the name of a group and with it any member. Lower case. */
export type TargetName = string;
