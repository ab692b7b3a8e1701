import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';
import { Happenings } from './alive.js';

/** What is looked at of opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest; field numbers are those of OTLP 1. */
const text = `syntax = "proto3";
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
message KeyValue { string key = 1; AnyValue value = 2; }
message Resource { repeated KeyValue attributes = 1; }
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
message Status { string message = 2; int32 code = 3; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
  repeated Event events = 11; Status status = 15;
}
message ScopeSpans { repeated Span spans = 2; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Request { repeated ResourceSpans resource_spans = 1; }`;
const requestType = protobuf.parse(text).root.lookupType('Request');

type Value = string | number | boolean;
type Attributes = Readonly<Record<string, Value>>;

/** A span as it came, ids as hex, times as nanoseconds since the epoch. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: a root. */
  readonly parentId: string;
  readonly state: string;
  readonly name: string;
  /** 2: server, 3: client. */
  readonly kind: number;
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Attributes;
  readonly events: readonly { readonly name: string; readonly at: bigint; readonly attributes: Attributes }[];
  /** 1: OK, 2: error. */
  readonly status: { readonly code: number; readonly message: string };
  readonly resource: Attributes;
}

interface RawAttribute {
  readonly key: string;
  readonly value?: Readonly<Record<string, Value>>;
}

interface RawSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly RawAttribute[];
  readonly events?: readonly { name: string; timeUnixNano: string; attributes?: readonly RawAttribute[] }[];
  readonly status?: { readonly code?: number; readonly message?: string };
}

interface RawRequest {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly RawAttribute[] };
    readonly scopeSpans?: readonly { readonly spans?: readonly RawSpan[] }[];
  }[];
}

/** Takes traces by OTLP over HTTP, as a collector would. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** Header fields of the requests that came. */
  readonly requests: IncomingMessage['headers'][] = [];
  /** What it answers with. */
  status = 200;
  /** False: it takes requests, and lets those who sent them wait. */
  answers = true;
  private readonly server: Server;
  private readonly happenings = new Happenings();

  constructor(server: Server) {
    this.server = server;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        this.requests.push(request.headers);
        if (this.status === 200 && request.method === 'POST' && request.url === '/v1/traces')
          this.take(Buffer.concat(chunks), request.headers['content-encoding'] === 'gzip');
        if (this.answers) response.writeHead(this.status).end();
        this.happenings.changed();
      });
    });
  }

  get url(): string {
    const { port } = this.server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  /** Resolves when `read` finds something in what has come. */
  until<T>(what: string, read: (spans: readonly ReceivedSpan[]) => T | undefined): Promise<T> {
    return this.happenings.until(what, () => read(this.spans));
  }

  /** The trace whose call has this name, once it has as many attempts. */
  trace(name: string, attempts: number): Promise<{ call: ReceivedSpan; attempts: readonly ReceivedSpan[] }> {
    return this.until(`a trace of ${name} with ${attempts} attempts; there are ${this.names()}`, (spans) => {
      const call = spans.find((span) => span.name === `Sent.${name}`);
      const children = spans
        .filter((span) => call !== undefined && span.parentId === call.spanId && span.traceId === call.traceId)
        .sort((a, b) => Number(a.start - b.start));
      return call !== undefined && children.length === attempts ? { call, attempts: children } : undefined;
    });
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  private names(): string {
    return this.spans.map(({ name }) => name).join(', ');
  }

  private take(body: Buffer, zipped: boolean): void {
    const message = requestType.decode(zipped ? gunzipSync(body) : body);
    const raw = requestType.toObject(message, { longs: String, bytes: String }) as RawRequest;
    for (const { resource, scopeSpans = [] } of raw.resourceSpans ?? [])
      for (const { spans = [] } of scopeSpans)
        for (const span of spans) this.spans.push(spanOf(span, attributesOf(resource?.attributes)));
  }
}

/** On a port of its own, or on `port`. */
export async function startOtlpReceiver(port = 0): Promise<OtlpReceiver> {
  const server = createServer();
  const receiver = new OtlpReceiver(server);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return receiver;
}

function spanOf(raw: RawSpan, resource: Attributes): ReceivedSpan {
  return {
    traceId: hex(raw.traceId),
    spanId: hex(raw.spanId),
    parentId: hex(raw.parentSpanId ?? ''),
    state: raw.traceState ?? '',
    name: raw.name,
    kind: raw.kind,
    start: BigInt(raw.startTimeUnixNano),
    end: BigInt(raw.endTimeUnixNano),
    attributes: attributesOf(raw.attributes),
    events: (raw.events ?? []).map(({ name, timeUnixNano, attributes }) => ({
      name,
      at: BigInt(timeUnixNano),
      attributes: attributesOf(attributes),
    })),
    status: { code: raw.status?.code ?? 0, message: raw.status?.message ?? '' },
    resource,
  };
}

function attributesOf(list: readonly RawAttribute[] = []): Attributes {
  const attributes: Record<string, Value> = {};
  for (const { key, value = {} } of list) {
    const [kind, inner = ''] = Object.entries(value)[0] ?? [];
    attributes[key] = kind === 'intValue' ? Number(inner) : inner;
  }
  return attributes;
}

function hex(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex');
}
