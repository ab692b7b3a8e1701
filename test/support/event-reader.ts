import http from 'node:http';
import { alive, Happenings } from './alive.js';

export interface ServerSentEvent {
  /** Empty where it has none. */
  readonly event: string;
  readonly id: string;
  readonly data: unknown;
}

/** A reader of server-sent events that keeps all that it was sent. */
export class EventReader {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** As it came. */
  text = '';
  ended = false;
  private readonly response: http.IncomingMessage;
  private readonly happenings = new Happenings();

  constructor(response: http.IncomingMessage) {
    this.response = response;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    response.setEncoding('utf8');
    response.on('data', (part: string) => {
      this.text += part;
      this.happenings.changed();
    });
    response.on('error', () => {});
    response.on('close', () => {
      this.ended = true;
      this.happenings.changed();
    });
  }

  /** Whole events, in order. */
  get events(): ServerSentEvent[] {
    return this.text
      .split('\n\n')
      .slice(0, -1)
      .flatMap((block) => {
        const fields = new Map(
          block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
        );
        const data = fields.get('data');
        if (data === undefined) return [];
        return [{ event: fields.get('event') ?? '', id: fields.get('id') ?? '', data: JSON.parse(data) as unknown }];
      });
  }

  /** The first event that `wanted` wants. */
  until(what: string, wanted: (event: ServerSentEvent) => boolean): Promise<ServerSentEvent> {
    return this.happenings.until(what, () => {
      const found = this.events.find(wanted);
      if (found === undefined && this.ended) throw new Error(`the stream ended before ${what}`);
      return found;
    });
  }

  /** Resolves when the other side has ended the stream. */
  closed(): Promise<true> {
    return this.happenings.until('the stream to end', () => this.ended || undefined) as Promise<true>;
  }

  /** Reads no further. */
  pause(): void {
    this.response.pause();
  }

  resume(): void {
    this.response.resume();
  }

  /** It came to its end, and was not cut off. */
  get whole(): boolean {
    return this.response.complete;
  }

  close(): void {
    this.response.destroy();
  }
}

/** @param address `HOST:PORT` */
export function readEvents(address: string, headers: http.OutgoingHttpHeaders = {}): Promise<EventReader> {
  const answered = new Promise<EventReader>((resolve, reject) => {
    const request = http.get(`http://${address}/events`, { agent: false, headers }, (response) =>
      resolve(new EventReader(response)),
    );
    request.on('error', reject);
  });
  return alive('an answer to /events', answered);
}
