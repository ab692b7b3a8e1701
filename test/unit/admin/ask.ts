import type { Answer } from '../../../src/admin/admin-state.js';
import type { AdmissionRules, RequestFacts } from '../../../src/admin/admission.js';
import type { BackendRow } from '../../../src/admin/backend-state.js';
import { createEndpoints } from '../../../src/admin/endpoints.js';
import type { World } from './backends.js';

const plain: RequestFacts = {
  method: 'GET',
  host: 'localhost',
  origin: undefined,
  fetchSite: undefined,
  fetchMode: undefined,
  fetchDest: undefined,
  authorization: undefined,
};

/** One request on loopback, from 127.0.0.1:5, that is answered at once. */
export function ask(
  url: string,
  world: World,
  facts: Partial<RequestFacts> = {},
  rules: Partial<AdmissionRules> = {},
): Answer {
  const answer = asked(url, world, facts, rules);
  if (answer instanceof Promise) throw new Error(`${url} is answered later`);
  return answer;
}

function asked(
  url: string,
  world: World,
  facts: Partial<RequestFacts>,
  rules: Partial<AdmissionRules>,
): Answer | Promise<Answer> {
  const answer = createEndpoints(world, { hosts: new Set(), beyondLoopback: false, isToken: () => false, ...rules });
  return answer({ ...plain, ...facts }, url, '127.0.0.1:5');
}

/** A POST, be it answered at once or later. */
export async function postLater(url: string, world: World, facts: Partial<RequestFacts> = {}): Promise<Answer> {
  return asked(url, world, { ...facts, method: 'POST' }, {});
}

export function post(url: string, world: World): Answer {
  return ask(url, world, { method: 'POST' });
}

/** The rows of an answer. */
export function rows({ body }: Answer): readonly BackendRow[] {
  return (body as { readonly backends: readonly BackendRow[] }).backends;
}
