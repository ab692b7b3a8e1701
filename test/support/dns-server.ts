import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach } from 'vitest';
import { Happenings } from './alive.js';

/** What a name has: addresses of both families, an error, or no answer at all. */
export type DnsReply = readonly string[] | 'NXDOMAIN' | 'SERVFAIL' | 'REFUSED' | 'silence';

const codes = { NXDOMAIN: 3, SERVFAIL: 2, REFUSED: 5 } as const;
const types = { 1: 'A', 28: 'AAAA' } as const;

/** Questions for one name and family, in order of arrival. */
export interface DnsQuestion {
  readonly name: string;
  readonly type: 'A' | 'AAAA' | 'other';
}

/** A DNS server on a port of its own (RFC 1035, UDP), which answers what the test says. */
export class DnsServer {
  readonly asked: DnsQuestion[] = [];
  private readonly socket: Socket;
  private readonly replies = new Map<string, DnsReply>();
  private readonly happenings = new Happenings();

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('message', (message, from) => this.answer(message, from));
  }

  /** `127.0.0.1:PORT`. */
  get authority(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  /** What there is under a name from now on; of one family alone where it is said. Names that nothing was said of do not exist. */
  set(name: string, reply: DnsReply, type?: 'A' | 'AAAA'): void {
    for (const each of type === undefined ? (['A', 'AAAA'] as const) : [type]) {
      this.replies.set(`${each} ${name}`, reply);
    }
  }

  /** How often a name has been asked for, by its A record. */
  count(name: string): number {
    return this.asked.filter((question) => question.name === name && question.type === 'A').length;
  }

  /** Resolves when a name has been asked for so often. */
  async wasAsked(name: string, times: number): Promise<void> {
    await this.happenings.until(`question ${times} for ${name}`, () => this.count(name) >= times || undefined);
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.socket.close(() => resolve()));
  }

  private answer(message: Buffer, { port, address }: RemoteInfo): void {
    const labels: string[] = [];
    let at = 12;
    for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
      labels.push(message.toString('latin1', at + 1, at + 1 + length));
      at += length + 1;
    }
    const code = message.readUInt16BE(at + 1);
    const type = code === 1 || code === 28 ? types[code] : 'other';
    const name = labels.join('.').toLowerCase();
    const question = message.subarray(12, at + 5);
    this.asked.push({ name, type });
    this.happenings.changed();
    const reply = this.replies.get(`${type} ${name}`) ?? 'NXDOMAIN';
    if (reply === 'silence') return;
    const records = typeof reply === 'string' ? [] : reply.filter((text) => text.includes(':') === (type === 'AAAA'));
    const head = Buffer.alloc(12);
    message.copy(head, 0, 0, 2);
    // A response, recursion desired and available.
    head.writeUInt16BE(0x8180 | (typeof reply === 'string' ? codes[reply] : 0), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    const answers = records.map((text) => {
      const data = bytesOf(text);
      const record = Buffer.alloc(12);
      record.writeUInt16BE(0xc00c, 0); // the name of the question
      record.writeUInt16BE(code, 2);
      record.writeUInt16BE(1, 4);
      record.writeUInt16BE(data.length, 10); // after a TTL of 0
      return Buffer.concat([record, data]);
    });
    this.socket.send(Buffer.concat([head, question, ...answers]), port, address);
  }
}

/** @param text IPv4, or IPv6 with at most one `::` */
function bytesOf(text: string): Buffer {
  if (!text.includes(':')) return Buffer.from(text.split('.').map(Number));
  const [head = [], tail = []] = text.split('::').map((half) => half.split(':').filter((group) => group !== ''));
  const groups = [...head, ...new Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
  return Buffer.concat(groups.map((group) => Buffer.from(group.padStart(4, '0'), 'hex')));
}

const running: DnsServer[] = [];

/** Runs until the end of the test. */
export async function startDns(): Promise<DnsServer> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const server = new DnsServer(socket);
  running.push(server);
  return server;
}

afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
});
