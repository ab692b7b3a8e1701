import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as grpc from '@grpc/grpc-js';
import { alive } from '../support/alive.js';
import { TestService, UnimplementedService, type WithPayload } from './js-protos.js';

const text = 'test status message';
const specialText = '\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n';
const requestSizes = [27182, 8, 1828, 45904];
const responseSizes = [31415, 9, 2653, 58979];
const large = { responseSize: 314159, payload: body(271828) };
/** grpc-js's write flag for a message that is left uncompressed; its enum is not exported. */
const noCompress = 2;
/** The channel option's number for gzip. */
const gzip = 2;

function body(size: number): { readonly body: Buffer } {
  return { body: Buffer.alloc(size) };
}

/** A method of the untyped client that proto-loader makes. */
type Unary = (
  request: object,
  metadata: grpc.Metadata,
  options: grpc.CallOptions,
  done: grpc.requestCallback<object>,
) => grpc.ClientUnaryCall;
type InputStream = (options: grpc.CallOptions, done: grpc.requestCallback<object>) => grpc.ClientWritableStream<object>;
type OutputStream = (request: object) => grpc.ClientReadableStream<WithPayload>;
type Duplex = (metadata: grpc.Metadata, options: grpc.CallOptions) => grpc.ClientDuplexStream<object, WithPayload>;

interface End {
  readonly status: grpc.StatusObject;
  readonly headers: grpc.Metadata | null;
  readonly answer: unknown;
}

/** Calls by their names in the proto, as promises. */
class Calls {
  private readonly client: grpc.Client;

  constructor(client: grpc.Client) {
    this.client = client;
  }

  private method<M extends (...args: never[]) => unknown>(name: string): M {
    const found: unknown = Reflect.get(this.client, name);
    assert.equal(typeof found, 'function', name);
    return (found as M).bind(this.client) as M;
  }

  unary(name: string, request: object, metadata = new grpc.Metadata(), options: grpc.CallOptions = {}): Promise<End> {
    return new Promise((resolve) => {
      let answer: unknown = null;
      const call = this.method<Unary>(name)(request, metadata, options, (_, message) => {
        answer = message;
      });
      whenOver(call, () => answer).then(resolve);
    });
  }

  input(): { readonly call: grpc.ClientWritableStream<object>; readonly end: Promise<End> } {
    let answer: unknown = null;
    const call = this.method<InputStream>('streamingInputCall')({}, (_, message) => {
      answer = message;
    });
    return { call, end: whenOver(call, () => answer) };
  }

  output(request: object): Streamed {
    return streamed(this.method<OutputStream>('streamingOutputCall')(request));
  }

  duplex(metadata = new grpc.Metadata(), options: grpc.CallOptions = {}) {
    const call = this.method<Duplex>('fullDuplexCall')(metadata, options);
    return { call, ...streamed(call) };
  }
}

interface Streamed {
  readonly end: Promise<End>;
  /** The sizes of the answers until now. */
  readonly sizes: readonly number[];
}

function streamed(call: grpc.ClientReadableStream<WithPayload>): Streamed {
  const sizes: number[] = [];
  call.on('data', (message: WithPayload) => sizes.push(message.payload?.body.length ?? 0));
  // A status that is not OK is an error too; `end` tells it.
  call.on('error', () => {});
  return { sizes, end: whenOver(call, () => null) };
}

function whenOver(call: grpc.ClientUnaryCall | grpc.ClientReadableStream<WithPayload>, answer: () => unknown) {
  let headers: grpc.Metadata | null = null;
  call.on('metadata', (metadata: grpc.Metadata) => {
    headers = metadata;
  });
  const over = new Promise<End>((resolve) => {
    // The callback with the answer comes in the same turn.
    call.on('status', (status: grpc.StatusObject) =>
      setImmediate(() => resolve({ status, headers, answer: answer() })),
    );
  });
  return alive('a call to end', over);
}

function ok({ status }: End): void {
  assert.equal(status.code, grpc.status.OK, status.details);
}

function sizeOf({ answer }: End): number {
  return (answer as WithPayload).payload?.body.length ?? 0;
}

function ends({ status }: End, code: grpc.status, details?: string): void {
  assert.equal(status.code, code);
  if (details !== undefined) assert.equal(status.details, details);
}

function asks(size: number, request = 0): object {
  return { responseParameters: [{ size }], payload: body(request) };
}

const echo = new grpc.Metadata();
echo.set('x-grpc-test-echo-initial', 'test_initial_metadata_value');
echo.set('x-grpc-test-echo-trailing-bin', Buffer.from('ababab', 'hex'));

function isEchoed({ headers, status }: End): void {
  assert.deepEqual(headers?.get('x-grpc-test-echo-initial'), ['test_initial_metadata_value']);
  assert.deepEqual(status.metadata.get('x-grpc-test-echo-trailing-bin'), [Buffer.from('ababab', 'hex')]);
}

async function inputOf(calls: Calls, sizes: readonly number[], flags: readonly number[] = []): Promise<End> {
  const { call, end } = calls.input();
  for (const [index, size] of sizes.entries()) call.write({ payload: body(size) }, flags[index] ?? 0);
  call.end();
  return end;
}

/** @param plain on a channel that does not compress: a unary call has no flag of its own */
const onCalls: Readonly<Record<string, (calls: Calls, plain: Calls) => Promise<void>>> = {
  async empty_unary(calls) {
    ok(await calls.unary('emptyCall', {}));
  },
  async large_unary(calls) {
    const end = await calls.unary('unaryCall', large);
    ok(end);
    assert.equal(sizeOf(end), 314159);
  },
  async client_compressed_unary_noprobe(calls, plain) {
    for (const [on, value] of [
      [calls, true],
      [plain, false],
    ] as const) {
      const end = await on.unary('unaryCall', { ...large, expectCompressed: { value } });
      ok(end);
      assert.equal(sizeOf(end), 314159);
    }
  },
  async client_compressed_streaming_noprobe(calls) {
    const end = await inputOf(calls, [27182, 45904], [0, noCompress]);
    ok(end);
    assert.deepEqual(end.answer, { aggregatedPayloadSize: 73086 });
  },
  async server_compressed_unary(calls) {
    for (const value of [true, false]) {
      const end = await calls.unary('unaryCall', { ...large, responseCompressed: { value } });
      ok(end);
      assert.equal(sizeOf(end), 314159);
    }
  },
  async client_streaming(calls) {
    const end = await inputOf(calls, requestSizes);
    ok(end);
    assert.deepEqual(end.answer, { aggregatedPayloadSize: 74922 });
  },
  async server_streaming(calls) {
    const { end, sizes } = calls.output({ responseParameters: responseSizes.map((size) => ({ size })) });
    ok(await end);
    assert.deepEqual(sizes, responseSizes);
  },
  async server_compressed_streaming(calls) {
    const responseParameters = [
      { size: 31415, compressed: { value: true } },
      { size: 92653, compressed: { value: false } },
    ];
    const { end, sizes } = calls.output({ responseParameters });
    ok(await end);
    assert.deepEqual(sizes, [31415, 92653]);
  },
  async ping_pong(calls) {
    const { call, end, sizes } = calls.duplex();
    for (const [index, request] of requestSizes.entries()) {
      call.write(asks(responseSizes[index] ?? 0, request));
      await alive('a pong', once(call, 'data'));
    }
    call.end();
    ok(await end);
    assert.deepEqual(sizes, responseSizes);
  },
  async empty_stream(calls) {
    const { call, end, sizes } = calls.duplex();
    call.end();
    ok(await end);
    assert.deepEqual(sizes, []);
  },
  async custom_metadata(calls) {
    const unary = await calls.unary('unaryCall', large, echo);
    ok(unary);
    isEchoed(unary);
    const { call, end, sizes } = calls.duplex(echo);
    call.write(asks(314159, 271828));
    call.end();
    ok(await end);
    isEchoed(await end);
    assert.deepEqual(sizes, [314159]);
  },
  async status_code_and_message(calls) {
    const responseStatus = { code: 2, message: text };
    ends(await calls.unary('unaryCall', { responseStatus }), 2, text);
    const { call, end } = calls.duplex();
    call.write({ responseStatus });
    call.end();
    ends(await end, 2, text);
  },
  async special_status_message(calls) {
    ends(await calls.unary('unaryCall', { responseStatus: { code: 2, message: specialText } }), 2, specialText);
  },
  async unimplemented_method(calls) {
    ends(await calls.unary('unimplementedCall', {}), grpc.status.UNIMPLEMENTED);
  },
  async cancel_after_begin(calls) {
    const { call, end } = calls.input();
    call.cancel();
    ends(await end, grpc.status.CANCELLED);
  },
  async cancel_after_first_response(calls) {
    const { call, end, sizes } = calls.duplex();
    call.write(asks(31415, 27182));
    await alive('the first answer', once(call, 'data'));
    call.cancel();
    ends(await end, grpc.status.CANCELLED);
    assert.deepEqual(sizes, [31415]);
  },
  async timeout_on_sleeping_server(calls) {
    const { call, end } = calls.duplex(new grpc.Metadata(), { deadline: Date.now() + 1 });
    call.write({ payload: body(27182) });
    ends(await end, grpc.status.DEADLINE_EXCEEDED);
  },
};

/** Runs a case on channels of its own; rejects with what went wrong. */
export async function runJsCase(name: string, port: number): Promise<void> {
  const clients: grpc.Client[] = [];
  const connect = (Service: grpc.ServiceClientConstructor, options: grpc.ClientOptions = {}): Calls => {
    const own = { 'grpc.use_local_subchannel_pool': 1, ...options };
    const client = new Service(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), own);
    clients.push(client);
    return new Calls(client);
  };
  try {
    if (name === 'unimplemented_service') {
      ends(await connect(UnimplementedService).unary('unimplementedCall', {}), grpc.status.UNIMPLEMENTED);
      return;
    }
    const run = onCalls[name];
    if (run === undefined) throw new Error(`no case ${name}`);
    const compressed = name.startsWith('client_compressed') ? { 'grpc.default_compression_algorithm': gzip } : {};
    await run(connect(TestService, compressed), connect(TestService));
  } finally {
    for (const client of clients) client.close();
  }
}
