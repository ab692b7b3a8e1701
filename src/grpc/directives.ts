import type { TargetName } from './backend-id.js';

/** What a client asks of the proxy for one call, by the prefix's request keys (contract, Metadata). */
export interface Directives {
  /** That backend answers, or the call fails with that backend's own error. */
  readonly pin: TargetName | null;
  /** Sticky calls; validated, and without effect until sessions come. */
  readonly session: string | null;
  /** The pin or session holds for the first attempt only. */
  readonly allowRetry: boolean;
  /** Never these; unknown names among them mean nothing. */
  readonly exclude: readonly TargetName[];
  /** `off`: no policy attempts. */
  readonly retry: 'on' | 'off';
}

/** Of a call whose client asks for nothing: nearly all. */
export const noDirectives: Directives = {
  pin: null,
  session: null,
  allowRetry: false,
  exclude: [],
  retry: 'on',
};
