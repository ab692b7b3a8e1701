import type { Finding, Rule } from '../../../src/config/finding.js';
import { parseServiceConfig, type ServiceConfig } from '../../../src/config/service-config.js';

export const retry = {
  maxAttempts: 4,
  initialBackoff: '0.1s',
  maxBackoff: '1s',
  backoffMultiplier: 2,
  retryableStatusCodes: ['UNAVAILABLE'],
};

/** A document with one entry for all methods and this retryPolicy. `undefined` leaves a field out. */
export function withRetry(overrides: Record<string, unknown>): string {
  return JSON.stringify({ methodConfig: [{ name: [{}], retryPolicy: { ...retry, ...overrides } }] });
}

/** A document with entries of these names, each with a policy. */
export function withNames(...entries: unknown[]): string {
  return JSON.stringify({ methodConfig: entries.map((name) => ({ name, retryPolicy: retry })) });
}

export function parse(
  text: string,
  maxAttemptsLimit = 5,
): { findings: readonly Finding[]; config: ServiceConfig | null } {
  return parseServiceConfig(text, { maxAttemptsLimit });
}

/** `rule path` of every finding, in order. */
export function told(text: string, maxAttemptsLimit = 5): string[] {
  return parse(text, maxAttemptsLimit).findings.map(
    ({ rule, path }: { rule: Rule; path: string }) => `${rule} ${path}`,
  );
}

/** The config, which must be valid. */
export function accepted(text: string, maxAttemptsLimit = 5): ServiceConfig {
  const { config, findings } = parse(text, maxAttemptsLimit);
  if (config === null) throw new Error(`refused: ${findings.map(({ message }) => message).join('; ')}`);
  return config;
}
