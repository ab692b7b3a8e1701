import { DiagLogLevel, diag } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Tracing } from '../../proxy/tracing.js';
import { createCallTraces } from './call-traces.js';
import { ExportReports, reported } from './export-reports.js';

export interface TracingOptions {
  readonly version: string;
  /** Clock milliseconds. */
  readonly now: () => number;
  /** What makes milliseconds since the epoch of the clock's, now. */
  readonly wallOffset: () => number;
  readonly tell: (level: 'info' | 'warn', fields: Readonly<Record<string, unknown>>, message: string) => void;
}

export interface RunningTracing extends Tracing {
  /** Sends what waits, as far as it can be in `withinMs`, and ends. Never rejects. */
  stop(withinMs: number): Promise<void>;
}

/**
 * Spans by OTLP over HTTP. OpenTelemetry's packages read what the environment says of sampler, limits, batches, exporter and
 * resource. What waits to be sent is bounded (OTEL_BSP_MAX_QUEUE_SIZE, 2048 spans); what is over it is dropped.
 */
export function startTracing({ version, now, wallOffset, tell }: TracingOptions): RunningTracing {
  const reports = new ExportReports(tell, now);
  const word = (text: string): void => reports.word(text);
  const silent = (): void => {};
  // Before the rest is built: each reads the environment, and says so where it cannot use it.
  diag.setLogger(
    { error: word, warn: word, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'hedgerow', 'service.version': version }))
    .merge(detectResources({ detectors: [envDetector] }));
  const exporter = reported(new OTLPTraceExporter(), reports);
  const provider = new BasicTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(exporter)] });
  const tracing = createCallTraces(provider.getTracer('hedgerow', version), wallOffset);
  return {
    begin: (request, startedAt) => tracing.begin(request, startedAt),
    async stop(withinMs) {
      const bound = new AbortController();
      const late = new Promise<'late'>((resolve) => {
        const timer = setTimeout(resolve, withinMs, 'late');
        bound.signal.addEventListener('abort', () => clearTimeout(timer));
      });
      const outcome = await Promise.race([
        provider.shutdown().then(
          () => 'sent' as const,
          (error: unknown) => {
            reports.failed(0, error);
            return 'failed' as const;
          },
        ),
        late,
      ]);
      bound.abort();
      reports.ended();
      if (outcome === 'late') tell('warn', { event: 'traces' }, `traces: not all could be sent within ${withinMs} ms`);
    },
  };
}
