import type { JsonMember, JsonNode, JsonObject } from './json-tree.js';
import { didYouMean } from './nearest.js';
import { quote } from './quote.js';
import { memberPath, type Report } from './report.js';

/** The objects of a service config and the fields that each may hold (service_config.proto, in lowerCamelCase). */
const grammar = {
  document: [
    'methodConfig',
    'retryThrottling',
    'loadBalancingConfig',
    'loadBalancingPolicy',
    'healthCheckConfig',
    'connectionScaling',
  ],
  methodConfig: [
    'name',
    'retryPolicy',
    'hedgingPolicy',
    'timeout',
    'waitForReady',
    'maxRequestMessageBytes',
    'maxResponseMessageBytes',
  ],
  name: ['service', 'method'],
  retryPolicy: ['maxAttempts', 'initialBackoff', 'maxBackoff', 'backoffMultiplier', 'retryableStatusCodes'],
  hedgingPolicy: ['maxAttempts', 'hedgingDelay', 'nonFatalStatusCodes'],
  retryThrottling: ['maxTokens', 'tokenRatio'],
  roundRobin: [],
  pickFirst: ['shuffleAddressList'],
  leastRequest: ['choiceCount'],
} as const satisfies Record<string, readonly string[]>;

export type ObjectKind = keyof typeof grammar;

/** How a field's home is told to its author. */
const homes: Readonly<Record<ObjectKind, string>> = {
  document: 'the top level',
  methodConfig: 'an entry of methodConfig',
  name: 'methodConfig[].name',
  retryPolicy: 'methodConfig[].retryPolicy',
  hedgingPolicy: 'methodConfig[].hedgingPolicy',
  retryThrottling: 'retryThrottling',
  roundRobin: 'loadBalancingConfig[].round_robin',
  pickFirst: 'loadBalancingConfig[].pick_first',
  leastRequest: 'loadBalancingConfig[].least_request_experimental',
};

/** Sound by service_config.proto, and nothing to a proxy with backends of its own (CFG-12). */
const ignored: ReadonlySet<string> = new Set(['healthCheckConfig', 'connectionScaling']);

/** Names that other implementations read. */
const foreign: ReadonlyMap<string, string> = new Map([
  ['perAttemptRecvTimeout', 'an experiment of some clients, not part of gRFC A6: no attempt has a timeout of its own'],
  ['maxRequestBytes', 'did you mean maxRequestMessageBytes?'],
  ['maxResponseBytes', 'did you mean maxResponseMessageBytes?'],
]);

/** The fields of an object by name. Null is absent (CFG-07); of a repeated key the first counts, the error is reported. */
export type Fields = ReadonlyMap<string, JsonMember>;

/** Reads an object's fields and reports those that will have no effect. */
export function readFields(object: JsonObject, kind: ObjectKind, path: string, report: Report): Fields {
  const known: readonly string[] = grammar[kind];
  const fields = new Map<string, JsonMember>();
  for (const member of object.members) {
    const { key, keyOffset, value } = member;
    const at = memberPath(path, key);
    if (!known.includes(key)) reportUnknown(key, keyOffset, kind, at, report);
    else if (value.type !== 'null' && !fields.has(key)) {
      fields.set(key, member);
      if (ignored.has(key)) report.add('ignored-field', keyOffset, at, 'read by gRPC clients; this proxy ignores it');
    }
  }
  return fields;
}

function reportUnknown(key: string, offset: number, kind: ObjectKind, path: string, report: Report): void {
  const home = homeOf(key);
  if (home !== null) {
    const message = `has NO EFFECT here: ${key} belongs in ${homes[home]}, not in ${homes[kind]}`;
    report.add('misplaced-field', offset, path, message);
    return;
  }
  const hint = foreign.get(key);
  const tail = hint === undefined ? didYouMean(key, grammar[kind]) : `; ${hint}`;
  report.add('unknown-field', offset, path, `unknown field, ignored${tail}`);
}

function homeOf(key: string): ObjectKind | null {
  for (const kind of Object.keys(grammar) as ObjectKind[]) {
    const fields: readonly string[] = grammar[kind];
    if (fields.includes(key)) return kind;
  }
  return null;
}

/** A value as it is shown in a message: short, on one line. */
export function showNode(node: JsonNode): string {
  switch (node.type) {
    case 'string':
      return quote(node.value);
    case 'number':
      return node.text.length > 40 ? `${node.text.slice(0, 40)}…` : node.text;
    case 'boolean':
      return String(node.value);
    case 'null':
      return 'null';
    case 'array':
      return 'an array';
    case 'object':
      return 'an object';
    default:
      return node satisfies never;
  }
}
