import type { BalancingConfig } from '../grpc/balancing-config.js';
import type { Millis } from '../grpc/millis.js';
import { readFields } from './fields.js';
import type { Finding } from './finding.js';
import { type JsonNode, type JsonObject, parseJson } from './json-tree.js';
import { readBalancing } from './load-balancing.js';
import { type MethodName, readNames, type TakenNames } from './names.js';
import { type Policy, readHedgingPolicy, readRetryPolicy, readThrottling, type Throttling } from './policy-grammar.js';
import { createReport, itemPath, memberPath, type Report } from './report.js';
import { asArray, asObject, optionalBoolean, optionalDuration, optionalUint32, type Scope } from './value-grammar.js';

/** One entry of methodConfig. */
export interface MethodConfig {
  /** From 0, in the file's order. */
  readonly index: number;
  /** Empty: it applies to nothing. */
  readonly names: readonly MethodName[];
  readonly policy: Policy;
  readonly timeout: Millis | null;
  readonly waitForReady: boolean | null;
  /** Bytes of one message; 0 allows only empty ones; null is no limit. */
  readonly maxRequestMessageBytes: number | null;
  readonly maxResponseMessageBytes: number | null;
}

/** A valid gRPC service config, as far as a proxy uses one. */
export interface ServiceConfig {
  readonly methodConfig: readonly MethodConfig[];
  readonly throttling: Throttling | null;
  /** How backends are chosen; null: as --load-balancing says. */
  readonly balancing: BalancingConfig | null;
  /** --max-attempts-limit: the cap on every policy's attempts, at least 1. */
  readonly maxAttemptsLimit: number;
}

export interface ParsedServiceConfig {
  /** All of them, in file order. */
  readonly findings: readonly Finding[];
  /** Null where any finding is an error: one wrong value makes the whole config invalid (A6, Configuration). */
  readonly config: ServiceConfig | null;
}

/** Reads one gRPC service config in proto3 JSON. Never throws. Its rules: docs/check-rules.md. */
export function parseServiceConfig(
  source: string,
  options: { readonly maxAttemptsLimit: number },
): ParsedServiceConfig {
  // RFC 8259 8.1 lets a reader ignore a byte order mark, which some editors write unasked.
  const text = source.replace(/^\uFEFF/, '');
  const report = createReport(text);
  const { root, problems } = parseJson(text);
  for (const { offset, message } of problems) report.add('json-syntax', offset, '', message);
  const config = root === null ? null : readDocument(root, options.maxAttemptsLimit, report);
  const findings = report.findings();
  return { findings, config: findings.some(({ severity }) => severity === 'error') ? null : config };
}

function readDocument(root: JsonNode, maxAttemptsLimit: number, report: Report): ServiceConfig | null {
  reportDuplicateKeys(root, '', report);
  const document = asObject(root, '', report);
  if (document === null) return null;
  const fields = readFields(document, 'document', '', report);
  const entries = fields.get('methodConfig')?.value;
  const throttling = fields.get('retryThrottling')?.value;
  const methodConfig = entries === undefined ? [] : readEntries(entries, maxAttemptsLimit, report);
  const policies = methodConfig.map(({ policy }) => policy);
  return {
    methodConfig,
    throttling: throttling === undefined ? null : readThrottling(throttling, 'retryThrottling', policies, report),
    balancing: readBalancing(fields, report),
    maxAttemptsLimit,
  };
}

/** Anywhere in the document, unknown parts included: which of the two was meant is anybody's guess (CFG-06). */
function reportDuplicateKeys(node: JsonNode, path: string, report: Report): void {
  if (node.type === 'array') {
    node.items.forEach((item, index) => {
      reportDuplicateKeys(item, itemPath(path, index), report);
    });
  }
  if (node.type !== 'object') return;
  const seen = new Set<string>();
  for (const { key, keyOffset, value } of node.members) {
    const at = memberPath(path, key);
    if (seen.has(key)) report.add('duplicate-key', keyOffset, at, 'the same key twice in one object');
    seen.add(key);
    reportDuplicateKeys(value, at, report);
  }
}

function readEntries(node: JsonNode, limit: number, report: Report): readonly MethodConfig[] {
  const items = asArray(node, 'methodConfig', 'an array of entries', report) ?? [];
  const taken: TakenNames = new Map();
  return items.flatMap((item, index) => {
    const path = itemPath('methodConfig', index);
    const object = asObject(item, path, report);
    return object === null ? [] : [readEntry(object, index, path, limit, taken, report)];
  });
}

function readEntry(
  object: JsonObject,
  index: number,
  path: string,
  limit: number,
  taken: TakenNames,
  report: Report,
): MethodConfig {
  const scope: Scope = {
    fields: readFields(object, 'methodConfig', path, report),
    path,
    offset: object.offset,
    report,
  };
  const names = scope.fields.get('name')?.value ?? null;
  if (names === null || (names.type === 'array' && names.items.length === 0)) {
    const message = 'applies to no method: give it names, or [{}] for the default of all methods';
    report.add('entry-without-name', names?.offset ?? object.offset, memberPath(path, 'name'), message);
  }
  return {
    index,
    names: readNames(names, memberPath(path, 'name'), taken, report),
    policy: readPolicy(scope, limit),
    timeout: readTimeout(scope),
    waitForReady: optionalBoolean(scope, 'waitForReady'),
    maxRequestMessageBytes: optionalUint32(scope, 'maxRequestMessageBytes'),
    maxResponseMessageBytes: optionalUint32(scope, 'maxResponseMessageBytes'),
  };
}

/** Both policies are read, so that the errors in both are told, before their meeting is (A6, Configuration). */
function readPolicy(scope: Scope, limit: number): Policy {
  const { fields, path, report } = scope;
  const retry = fields.get('retryPolicy');
  const hedging = fields.get('hedgingPolicy');
  const retryPath = memberPath(path, 'retryPolicy');
  const hedgingPath = memberPath(path, 'hedgingPolicy');
  const retryPolicy = retry === undefined ? null : readRetryPolicy(retry.value, retryPath, limit, report);
  const hedgingPolicy = hedging === undefined ? null : readHedgingPolicy(hedging.value, hedgingPath, limit, report);
  if (retry !== undefined && hedging !== undefined) {
    const [second, at] = retry.keyOffset > hedging.keyOffset ? [retry, retryPath] : [hedging, hedgingPath];
    const message = 'an entry may hold retryPolicy or hedgingPolicy, not both';
    report.add('both-policies', second.keyOffset, at, message);
  }
  return retryPolicy ?? hedgingPolicy ?? { kind: 'none' };
}

/** Zero is legal and ends each call at once, which nobody means (CFG-81). */
function readTimeout(scope: Scope): Millis | null {
  const timeout = optionalDuration(scope, 'timeout');
  const member = scope.fields.get('timeout');
  if (timeout === 0 && member !== undefined) {
    const message = 'every call would end DEADLINE_EXCEEDED at once; leave the field out for no timeout';
    scope.report.add('zero-timeout', member.value.offset, memberPath(scope.path, 'timeout'), message);
  }
  return timeout;
}
