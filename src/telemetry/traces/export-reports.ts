import type { SpanExporter } from '@opentelemetry/sdk-trace-base';
import { legible } from '../../grpc/legible.js';
import { createBurst } from '../burst.js';

type Tell = (level: 'info' | 'warn', fields: Readonly<Record<string, unknown>>, message: string) => void;

/** Between two lines about spans that could not be sent (ms). */
const quiet = 60_000;
/** In that time, of OpenTelemetry's own: a start may have several things to say of the environment. */
const mostWords = 10;

/** Tells what becomes of spans that are sent: so many lines a minute, with what was held back counted. */
export class ExportReports {
  private readonly tell: Tell;
  private readonly now: () => number;
  private failing = false;
  /** A line has said that it fails. */
  private told = false;
  private lost = 0;
  private lossDue = Number.NEGATIVE_INFINITY;
  private readonly words = createBurst(mostWords, quiet);

  /** @param now ms */
  constructor(tell: Tell, now: () => number) {
    this.tell = tell;
    this.now = now;
  }

  sent(): void {
    if (!this.failing) return;
    const now = this.now();
    // After a failure that was not told: with the first that is sent when a line is due.
    if (!this.told && now < this.lossDue) return;
    if (!this.told) this.lossDue = now + quiet;
    this.failing = false;
    this.told = false;
    this.tellLost('traces are sent again', 'info');
  }

  failed(spans: number, error: unknown): void {
    this.lost += spans;
    this.failing = true;
    const now = this.now();
    if (now < this.lossDue) return;
    this.lossDue = now + quiet;
    this.told = true;
    this.tellLost(`traces could not be sent: ${reasonOf(error)}`, 'warn');
  }

  /** Nothing is sent any more: what is still untold is told now. */
  ended(): void {
    if (this.lost > 0) this.tellLost('traces could not all be sent', 'warn');
  }

  /** OpenTelemetry has something to say of itself. */
  word(text: string): void {
    const untold = this.words.take(this.now());
    if (untold === null) return;
    this.tell(
      'warn',
      { event: 'traces', untold: untold === 0 ? undefined : untold },
      `traces: ${legible(plain(text))}`,
    );
  }

  private tellLost(message: string, level: 'info' | 'warn'): void {
    const { lost } = this;
    this.lost = 0;
    this.tell(level, { event: 'traces', spans_lost: lost === 0 ? undefined : lost }, message);
  }
}

/** An exporter whose failures are told by `reports`, and by nobody else. */
export function reported(inner: SpanExporter, reports: ExportReports): SpanExporter {
  return {
    export(spans, done) {
      inner.export(spans, (result) => {
        if (result.error === undefined && result.code === 0) reports.sent();
        else reports.failed(spans.length, result.error);
        done({ code: 0 });
      });
    },
    shutdown: () => inner.shutdown(),
    forceFlush: async () => inner.forceFlush?.(),
  };
}

/** What the error of an export says, in a few words. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no reason was given';
  const code = 'code' in error && (typeof error.code === 'string' || typeof error.code === 'number') ? error.code : '';
  const status = typeof code === 'number' ? `HTTP ${code} ` : '';
  // What tried several addresses has no words of its own.
  return legible(`${status}${error.message}` || String(code) || error.name);
}

/** OpenTelemetry tells errors as JSON with a stack, of which people want the words. */
function plain(text: string): string {
  if (!text.startsWith('{')) return text;
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && 'message' in parsed) return String(parsed.message);
  } catch {
    // Not JSON, then.
  }
  return text;
}
