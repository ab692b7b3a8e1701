import { createRegistry, defaultRegistryLimits, type RegistryLimits } from '../../../src/control/registry.js';
import type {
  RegistrationFields,
  RegistryDecision,
  RegistryEvent,
  RegistryMessage,
} from '../../../src/control/types.js';

/** A registration in order. */
export const b1: RegistrationFields = {
  name: 'b1',
  target: '10.0.0.7:50051',
  weight: 0,
  priority: 0,
  maxCalls: 0,
  heartbeats: false,
};

/** A registry, stepped by hand; what it decides comes as one line each. */
export class ScriptedRegistry {
  now = 1_000_000;
  draining = false;
  readonly reserved = new Map<string, string>();
  readonly listeners = new Set<number>();
  private readonly registry;

  constructor(limits: Partial<RegistryLimits> = {}) {
    this.registry = createRegistry({ ...defaultRegistryLimits, ...limits });
  }

  handle(event: RegistryEvent): readonly RegistryDecision[] {
    return this.registry.handle(event, {
      now: this.now,
      draining: this.draining,
      reservedBy: (name) => this.reserved.get(name) ?? null,
      ownListener: (at) => (at.kind === 'tcp' && this.listeners.has(at.port) ? `--listen 10.0.0.7:${at.port}` : null),
    });
  }
  /** Milliseconds until it is to be woken; null: it is not. */
  get wakeIn(): number | null {
    const { wakeAt } = this.registry;
    return wakeAt === null ? null : wakeAt - this.now;
  }
  get size(): number {
    return this.registry.size;
  }
  open(stream: number): string[] {
    return this.handle({ type: 'opened', stream }).map(line);
  }
  send(stream: number, message: RegistryMessage): string[] {
    return this.handle({ type: 'received', stream, message }).map(line);
  }
  /** Opens a stream and registers on it. */
  register(stream: number, fields: Partial<RegistrationFields> = {}): string[] {
    return [...this.open(stream), ...this.send(stream, { kind: 'registration', fields: { ...b1, ...fields } })];
  }
  finish(stream: number): string[] {
    return this.handle({ type: 'finished', stream }).map(line);
  }
  /** @param by [reset] */
  break(stream: number, by: 'reset' | 'connection' = 'reset'): string[] {
    return this.handle({ type: 'broke', stream, by }).map(line);
  }
  /** Time passes, and it is woken. */
  wake(ms: number): string[] {
    this.now += ms;
    return this.handle({ type: 'woke' }).map(line);
  }
}

function line(decision: RegistryDecision): string {
  switch (decision.type) {
    case 'put': {
      const { name, generation } = decision.backend;
      return `put ${name} ${generation} ${decision.replaces === null ? 'new' : `over ${decision.replaces}`}`;
    }
    case 'lose':
    case 'drain':
      return `${decision.type} ${decision.backend.name} ${decision.backend.generation}: ${decision.why}`;
    case 'reply': {
      const { reply } = decision;
      const more =
        reply.kind === 'rejected' ? `: ${reply.reason}` : reply.kind === 'registered' ? ` ${reply.generation}` : '';
      return `${decision.stream} ${reply.kind}${more}`;
    }
    case 'end':
      return `${decision.stream} ends ${decision.code} ${decision.details}`;
    default:
      return decision satisfies never;
  }
}
