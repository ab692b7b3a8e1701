import type { AdmissionRules, RequestFacts } from '../../../src/admin/admission.js';
import type { BackendRow } from '../../../src/admin/backend-state.js';
import { type Answer, createEndpoints } from '../../../src/admin/endpoints.js';
import type { World } from './backends.js';

const plain: RequestFacts = {
  method: 'GET',
  host: 'localhost',
  origin: undefined,
  fetchSite: undefined,
  authorization: undefined,
};

/** One request on loopback, from 127.0.0.1:5. */
export function ask(
  url: string,
  world: World,
  facts: Partial<RequestFacts> = {},
  rules: Partial<AdmissionRules> = {},
): Answer {
  const answer = createEndpoints(world, { hosts: new Set(), beyondLoopback: false, isToken: () => false, ...rules });
  return answer({ ...plain, ...facts }, url, '127.0.0.1:5');
}

export function post(url: string, world: World): Answer {
  return ask(url, world, { method: 'POST' });
}

/** The rows of an answer. */
export function rows({ body }: Answer): readonly BackendRow[] {
  return (body as { readonly backends: readonly BackendRow[] }).backends;
}
