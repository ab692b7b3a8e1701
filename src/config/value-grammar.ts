import type { Millis } from '../grpc/millis.js';
import { Status, type StatusCode } from '../grpc/status.js';
import { type Fields, showNode } from './fields.js';
import type { JsonMember, JsonNode, JsonObject } from './json-tree.js';
import { didYouMean } from './nearest.js';
import { parseProtoDuration } from './proto-duration.js';
import { itemPath, memberPath, type Report } from './report.js';

/** proto3 JSON would take "3"; here a number is a number (CFG-32). */
const uint32Max = 4_294_967_295;

/** An object being read: its fields, its path, where it begins (the place of what is missing), and the ear for findings. */
export interface Scope {
  readonly fields: Fields;
  readonly path: string;
  readonly offset: number;
  readonly report: Report;
}

/** The field's member; where it is missing, that is reported. */
function required(scope: Scope, key: string, expected: string): JsonMember | null {
  const member = scope.fields.get(key);
  if (member !== undefined) return member;
  scope.report.add('required', scope.offset, memberPath(scope.path, key), `missing; must be ${expected}`);
  return null;
}

function wrongType(scope: Scope, node: JsonNode, path: string, expected: string): null {
  scope.report.add('wrong-type', node.offset, path, `must be ${expected}; got ${showNode(node)}`);
  return null;
}

/** The node as an object; anything else is reported. */
export function asObject(node: JsonNode, path: string, report: Report): JsonObject | null {
  if (node.type === 'object') return node;
  report.add('wrong-type', node.offset, path, `must be an object; got ${showNode(node)}`);
  return null;
}

/** The node's items; anything but an array is reported. */
export function asArray(node: JsonNode, path: string, expected: string, report: Report): readonly JsonNode[] | null {
  if (node.type === 'array') return node.items;
  report.add('wrong-type', node.offset, path, `must be ${expected}; got ${showNode(node)}`);
  return null;
}

/** A required integer of `min` to `max`. */
export function requiredInteger(scope: Scope, key: string, min: number, max: number = uint32Max): number | null {
  const member = required(scope, key, integerText(min, max));
  return member === null ? null : integer(scope, key, member.value, min, max);
}

/** An optional integer of 0 to 2^32 − 1 (UInt32Value); null where absent or wrong. */
export function optionalUint32(scope: Scope, key: string): number | null {
  const member = scope.fields.get(key);
  return member === undefined ? null : integer(scope, key, member.value, 0, uint32Max);
}

function integerText(min: number, max: number): string {
  return max === uint32Max ? `an integer of ${min} or more` : `an integer from ${min} to ${max}`;
}

function integer(scope: Scope, key: string, node: JsonNode, min: number, max: number): number | null {
  const path = memberPath(scope.path, key);
  const expected = integerText(min, max);
  if (node.type !== 'number') return wrongType(scope, node, path, `${expected}, without quotes`);
  if (Number.isInteger(node.value) && node.value >= min && node.value <= max) return node.value;
  const permitted = node.value > max ? `an integer from ${min} to ${max}` : expected;
  scope.report.add('out-of-range', node.offset, path, `must be ${permitted}; got ${showNode(node)}`);
  return null;
}

/** A required number over zero, as its node: callers that count exactly need its text. */
export function requiredPositiveNumber(
  scope: Scope,
  key: string,
): { value: number; text: string; offset: number } | null {
  const expected = 'a number over 0';
  const member = required(scope, key, expected);
  if (member === null) return null;
  const { value: node } = member;
  const path = memberPath(scope.path, key);
  if (node.type !== 'number') return wrongType(scope, node, path, `${expected}, without quotes`);
  if (node.value > 0 && Number.isFinite(node.value)) return node;
  const permitted = node.value > 0 ? `${expected}, at most 1.7e308` : expected;
  scope.report.add('out-of-range', node.offset, path, `must be ${permitted}; got ${showNode(node)}`);
  return null;
}

/** A required duration over zero. */
export function requiredPositiveDuration(scope: Scope, key: string): Millis | null {
  const member = required(scope, key, 'a duration over 0, like "0.25s"');
  if (member === null) return null;
  const value = duration(scope, key, member.value);
  if (value === null || value > 0) return value;
  const path = memberPath(scope.path, key);
  scope.report.add('out-of-range', member.value.offset, path, `must be over 0; got ${showNode(member.value)}`);
  return null;
}

/** An optional duration of zero or more; null where absent or wrong. */
export function optionalDuration(scope: Scope, key: string): Millis | null {
  const member = scope.fields.get(key);
  if (member === undefined) return null;
  const value = duration(scope, key, member.value);
  if (value === null || value >= 0) return value;
  const path = memberPath(scope.path, key);
  scope.report.add('out-of-range', member.value.offset, path, `must be 0 or more; got ${showNode(member.value)}`);
  return null;
}

function duration(scope: Scope, key: string, node: JsonNode): Millis | null {
  const path = memberPath(scope.path, key);
  if (node.type !== 'string') {
    const expected = node.type === 'number' ? `a duration in quotes, like "${showNode(node)}s"` : 'a duration';
    return wrongType(scope, node, path, expected);
  }
  const parsed = parseProtoDuration(node.value);
  if (parsed.ok) return parsed.value;
  scope.report.add('bad-duration', node.offset, path, `${showNode(node)} ${parsed.problem}`);
  return null;
}

/** An optional boolean; null where absent or wrong. */
export function optionalBoolean(scope: Scope, key: string): boolean | null {
  const member = scope.fields.get(key);
  if (member === undefined) return null;
  const { value: node } = member;
  if (node.type === 'boolean') return node.value;
  return wrongType(scope, node, memberPath(scope.path, key), 'true or false, without quotes');
}

/** An optional list of status codes other than OK; null where absent or anything in it is wrong. */
export function statusCodes(scope: Scope, key: string): ReadonlySet<StatusCode> | null {
  const member = scope.fields.get(key);
  if (member === undefined) return null;
  const path = memberPath(scope.path, key);
  const items = asArray(member.value, path, 'an array of status codes', scope.report);
  if (items === null) return null;
  const codes = items.map(statusCode);
  codes.forEach((code, index) => {
    const { offset } = items[index] ?? member.value;
    if (typeof code === 'string') scope.report.add('bad-status-code', offset, itemPath(path, index), code);
  });
  const known = codes.filter((code) => typeof code === 'number');
  return known.length === codes.length ? new Set(known) : null;
}

/** A required list of at least one status code other than OK. */
export function requiredStatusCodes(scope: Scope, key: string): ReadonlySet<StatusCode> | null {
  const member = required(scope, key, 'an array of status codes, like ["UNAVAILABLE"]');
  if (member === null) return null;
  const codes = statusCodes(scope, key);
  if (member.value.type === 'array' && member.value.items.length === 0) {
    const path = memberPath(scope.path, key);
    scope.report.add('empty-list', member.value.offset, path, 'must name at least one status code');
    return null;
  }
  return codes;
}

const codesByName: ReadonlyMap<string, StatusCode> = new Map(Object.entries(Status));
const highestCode = Math.max(...codesByName.values());

/** The code, or what is wrong with it. Numbers, and names in any case (A6, Configuration). */
function statusCode(node: JsonNode): StatusCode | string {
  let code: StatusCode | undefined;
  // ASCII only: toUpperCase folds letters such as "ı" into it.
  if (node.type === 'string' && /^\w+$/.test(node.value)) code = codesByName.get(node.value.toUpperCase());
  else if (node.type === 'number' && Number.isInteger(node.value) && node.value >= 0 && node.value <= highestCode) {
    code = node.value;
  }
  if (code === Status.OK) return `${showNode(node)} is success: it cannot be listed as a failure`;
  if (code !== undefined) return code;
  if (node.type === 'string' && /^\d+$/.test(node.value)) {
    return `${showNode(node)} is not a status code; a number goes without quotes`;
  }
  const hint = node.type === 'string' ? didYouMean(node.value, codesByName.keys()) : '';
  return `${showNode(node)} is not a status code: a name like "UNAVAILABLE", or 1 to ${highestCode}${hint}`;
}
