/** --backend-authority: whose `:authority` backends see. */
export type AuthoritySetting =
  | { readonly kind: 'client' }
  | { readonly kind: 'target' }
  | { readonly kind: 'fixed'; readonly value: string };

/**
 * The `:authority` of one attempt: the same on every attempt unless `target` (BR-27).
 *
 * @param client as the client sent it; may be empty
 * @param target that of the backend which the attempt goes to
 */
export function authorityFor(setting: AuthoritySetting, client: string, target: string): string {
  switch (setting.kind) {
    case 'client':
      return client;
    case 'target':
      return target;
    case 'fixed':
      return setting.value;
    default:
      return setting satisfies never;
  }
}
