import { type BalancingConfig, defaultBalancing } from '../grpc/balancing-config.js';
import { type Fields, readFields, showNode } from './fields.js';
import type { JsonMember, JsonNode, JsonObject } from './json-tree.js';
import { didYouMean } from './nearest.js';
import { quote } from './quote.js';
import { itemPath, memberPath, type Report } from './report.js';
import { asArray, asObject, optionalBoolean, optionalUint32, type Scope } from './value-grammar.js';

/** gRFC A48: fewer are no choice, and more are taken for ten. */
const fewestChoices = 2;
const mostChoices = 10;

/** The policies that this proxy has, by their names in service_config.proto. */
const readers: ReadonlyMap<string, (config: JsonObject, path: string, report: Report) => BalancingConfig> = new Map([
  ['round_robin', readRoundRobin],
  ['pick_first', readPickFirst],
  ['least_request_experimental', readLeastRequest],
  ['least_request', readLeastRequest],
]);

const supported = 'round_robin, pick_first and least_request_experimental';

/**
 * What the top level of a service config says of balancing; null where it says nothing, or nothing that can be used and is
 * reported. `loadBalancingConfig` wins over the deprecated `loadBalancingPolicy`, which is checked all the same.
 */
export function readBalancing(fields: Fields, report: Report): BalancingConfig | null {
  const list = fields.get('loadBalancingConfig');
  const name = fields.get('loadBalancingPolicy');
  const byName = name === undefined ? null : readPolicyName(name.value, report);
  if (list === undefined) return byName;
  if (name !== undefined) {
    const message = 'has no effect: loadBalancingConfig, which stands here too, decides';
    report.add('ignored-field', name.keyOffset, 'loadBalancingPolicy', message);
  }
  return readList(list.value, report);
}

/** The first entry whose policy is supported; the ones after it are not looked at, as in gRPC. */
function readList(node: JsonNode, report: Report): BalancingConfig | null {
  const path = 'loadBalancingConfig';
  const items = asArray(node, path, 'an array of policies, like [{"round_robin":{}}]', report);
  if (items === null) return null;
  if (items.length === 0) {
    report.add('empty-list', node.offset, path, `must name at least one policy; supported are ${supported}`);
    return null;
  }
  const unsupported: (readonly [member: JsonMember, path: string])[] = [];
  for (const [index, item] of items.entries()) {
    const at = itemPath(path, index);
    const policy = policyOf(item, at, report);
    if (policy === null) return null;
    const read = readers.get(policy.key);
    const policyPath = memberPath(at, policy.key);
    if (read === undefined) {
      unsupported.push([policy, policyPath]);
      continue;
    }
    for (const [skipped, skippedPath] of unsupported) {
      const message = `this proxy has no such policy and goes on to ${policy.key}`;
      report.add('ignored-field', skipped.keyOffset, skippedPath, `${message}${nearestPolicy(skipped.key)}`);
    }
    const config = asObject(policy.value, policyPath, report);
    return config === null ? null : read(config, policyPath, report);
  }
  const [first] = unsupported;
  const hint = unsupported.length === 1 && first !== undefined ? nearestPolicy(first[0].key) : '';
  const message = `names no policy that this proxy has; supported are ${supported}${hint}`;
  report.add('no-supported-policy', node.offset, path, message);
  return null;
}

/** The one member of an entry (service_config.proto, LoadBalancingConfig: a oneof). A null one is absent (CFG-07). */
function policyOf(node: JsonNode, path: string, report: Report): JsonMember | null {
  const object = asObject(node, path, report);
  if (object === null) return null;
  const policies = object.members.filter(({ value }) => value.type !== 'null');
  const [policy, second] = policies;
  if (policy !== undefined && second === undefined) return policy;
  const found = policy === undefined ? 'none' : String(policies.length);
  const message = `must hold exactly one policy, like {"round_robin":{}}; got ${found}`;
  report.add('one-policy-an-entry', second?.keyOffset ?? object.offset, path, message);
  return null;
}

function readRoundRobin(config: JsonObject, path: string, report: Report): BalancingConfig {
  readFields(config, 'roundRobin', path, report);
  return { kind: 'round_robin' };
}

function readPickFirst(config: JsonObject, path: string, report: Report): BalancingConfig {
  const scope: Scope = { fields: readFields(config, 'pickFirst', path, report), path, offset: config.offset, report };
  return { kind: 'pick_first', shuffle: optionalBoolean(scope, 'shuffleAddressList') ?? false };
}

function readLeastRequest(config: JsonObject, path: string, report: Report): BalancingConfig {
  const scope: Scope = {
    fields: readFields(config, 'leastRequest', path, report),
    path,
    offset: config.offset,
    report,
  };
  const choiceCount = optionalUint32(scope, 'choiceCount');
  const member = scope.fields.get('choiceCount');
  if (choiceCount === null || member === undefined) return defaultBalancing('least_request');
  const { value: node } = member;
  const at = memberPath(path, 'choiceCount');
  if (choiceCount < fewestChoices) {
    report.add(
      'out-of-range',
      node.offset,
      at,
      `must be an integer of ${fewestChoices} or more; got ${showNode(node)}`,
    );
  }
  if (choiceCount > mostChoices) {
    report.add(
      'choices-over-cap',
      node.offset,
      at,
      `${choiceCount} is over the cap of gRFC A48: ${mostChoices} are drawn`,
    );
  }
  return { kind: 'least_request', choiceCount: Math.min(choiceCount, mostChoices) };
}

/** The names of the enum, in any case as C-core has it; its zero value is as good as absent. */
function readPolicyName(node: JsonNode, report: Report): BalancingConfig | null {
  const path = 'loadBalancingPolicy';
  if (node.type !== 'string') {
    report.add('wrong-type', node.offset, path, `must be a policy's name in quotes; got ${showNode(node)}`);
    return null;
  }
  // ASCII only: toLowerCase folds other letters into it, such as the Kelvin sign.
  const name = /^\w*$/.test(node.value) ? node.value.toLowerCase() : node.value;
  switch (name) {
    case '':
    case 'unspecified':
      return null;
    case 'round_robin':
    case 'pick_first':
    case 'least_request':
      return defaultBalancing(name);
    case 'least_request_experimental':
      return defaultBalancing('least_request');
    default: {
      const message = `${quote(node.value)} is no policy that this proxy has; supported are ${supported}`;
      report.add('no-supported-policy', node.offset, path, `${message}${nearestPolicy(name)}`);
      return null;
    }
  }
}

function nearestPolicy(name: string): string {
  return didYouMean(name, readers.keys());
}
