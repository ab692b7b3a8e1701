/** What the environment says of traces (OpenTelemetry, environment variables). */
export interface TraceEnvironment {
  /** Spans are made and sent by OTLP. */
  readonly on: boolean;
  /** Where to, for people: without user, password and query. */
  readonly endpoint: string;
  /** One sentence each, about what has no effect. */
  readonly warnings: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

const defaultEndpoint = 'http://localhost:4318';
const protocol = 'http/protobuf';

/**
 * Whether there are traces. What else the environment says (sampler, batches, headers, resource) is read by OpenTelemetry's
 * own packages, which are loaded only where there are.
 */
export function readTraceEnvironment(env: Environment): TraceEnvironment {
  const endpoint = endpointOf(env);
  if (valueIn(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return { on: false, endpoint, warnings: [] };
  const warnings: string[] = [];
  if (!wanted(env, warnings)) return { on: false, endpoint, warnings };
  const name = 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL';
  const key = valueIn(env, name) === undefined ? 'OTEL_EXPORTER_OTLP_PROTOCOL' : name;
  const asked = valueIn(env, key);
  if (asked !== undefined && asked !== protocol) {
    warnings.push(`${key} is ${shown(asked)}: traces are sent as ${protocol} alone, so there are none`);
    return { on: false, endpoint, warnings };
  }
  return { on: true, endpoint, warnings };
}

/** An exporter is named, or where to send to is. */
function wanted(env: Environment, warnings: string[]): boolean {
  const key = 'OTEL_TRACES_EXPORTER';
  const listed = valueIn(env, key);
  if (listed === undefined) {
    const places = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
    return places.some((place) => valueIn(env, place) !== undefined);
  }
  const names = listed.split(',').map((name) => name.trim());
  const others = names.filter((name) => name !== 'otlp' && name !== 'none' && name !== '');
  const on = names.includes('otlp');
  if (others.length > 0) {
    const effect = on ? 'only otlp has an effect' : 'there are no traces';
    warnings.push(`${key} is ${shown(listed)}: otlp and none are known, ${effect}`);
  }
  return on;
}

function endpointOf(env: Environment): string {
  const own = valueIn(env, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const shared = (valueIn(env, 'OTEL_EXPORTER_OTLP_ENDPOINT') ?? defaultEndpoint).replace(/\/$/, '');
  const text = own ?? `${shared}/v1/traces`;
  if (!URL.canParse(text)) return `${defaultEndpoint}/v1/traces`;
  const { origin, pathname } = new URL(text);
  return `${origin}${pathname}`;
}

/** Empty counts as absent, as OpenTelemetry has it. */
function valueIn(env: Environment, key: string): string | undefined {
  const value = env[key]?.trim();
  return value === '' ? undefined : value;
}

function shown(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}
