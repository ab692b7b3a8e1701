import { type CaseBackend, startCaseBackend } from '../differences/case-backend.js';
import { type Case, type CaseCall, type ClientView, callKey, defaultMethod } from '../differences/case-format.js';
import { type CaseResult, cancellation, configText, send } from '../differences/run-case.js';
import type { Peer } from './peer.js';

/** A call without a deadline that has not ended after so long is cancelled (ms): it would hang. Its status is then 1. */
const longest = 5000;

/** A retry and a hedge, whatever comes of them: times in the cases suppose code that has run before, on a JVM above all. */
const warmUpCases: readonly Case[] = ['retryPolicy', 'hedgingPolicy'].map((kind) => ({
  id: `warm-up-${kind}`,
  rows: [],
  clause: '',
  title: '',
  serviceConfig: {
    methodConfig: [
      {
        name: [{}],
        [kind]:
          kind === 'retryPolicy'
            ? {
                maxAttempts: 3,
                initialBackoff: '0.001s',
                maxBackoff: '0.001s',
                backoffMultiplier: 1,
                retryableStatusCodes: ['UNAVAILABLE'],
              }
            : { maxAttempts: 3, hedgingDelay: '0.005s', nonFatalStatusCodes: ['UNAVAILABLE'] },
      },
    ],
  },
  calls: Array.from({ length: 20 }, () => ({
    attempts: [
      { do: 'trailers-only', code: 14 },
      { do: 'trailers-only', code: 14 },
      { do: 'answer', messages: ['ok'] },
    ],
    expect: {},
  })),
}));

/** So that no case is the first to run a line of the peer's code. */
export async function warmUp(peer: Peer): Promise<void> {
  for (const script of warmUpCases) await runThroughPeer(script, peer);
}

/** Runs a case on a backend and a channel of its own, without a proxy. */
export async function runThroughPeer(script: Case, peer: Peer): Promise<CaseResult> {
  const backend = await startCaseBackend(script);
  const channel = peer.newChannel();
  const target = `127.0.0.1:${backend.port}`;
  try {
    const opened = await peer.ask({ op: 'open', channel, target, serviceConfig: configText(script) }).reply;
    if (opened.configRejected !== undefined) return 'configRejected';
    const views: { client: ClientView; backend: Awaited<ReturnType<CaseBackend['view']>> }[] = [];
    for (const [index, call] of (script.calls ?? []).entries()) {
      const client = await makeCall(peer, channel, script, backend, call, index);
      views.push({ client, backend: await backend.view(index) });
    }
    await peer.ask({ op: 'close', channel }).reply;
    return views;
  } finally {
    await backend.close();
  }
}

async function makeCall(
  peer: Peer,
  channel: string,
  script: Case,
  backend: CaseBackend,
  call: CaseCall,
  index: number,
): Promise<ClientView> {
  const messages = call.messages ?? ['hi'];
  const [first] = messages;
  const unary = messages.length === 1 && typeof first !== 'object';
  const { seq, reply } = peer.ask({
    op: 'call',
    channel,
    method: call.method ?? script.method ?? defaultMethod,
    kind: unary ? 'unary' : 'clientStream',
    message: typeof first === 'number' ? 'x'.repeat(first) : typeof first === 'string' ? first : '',
    metadata: [[callKey, String(index)], ...(call.metadata ?? [])],
    ...(call.deadlineMs === undefined ? {} : { deadlineMs: call.deadlineMs }),
  });
  if (!unary) {
    const sent = send(call, index, backend, {
      message: (bytes) => peer.tell({ op: 'send', call: seq, message: String(bytes) }),
      finish: () => peer.tell({ op: 'finish', call: seq }),
    });
    // What waits for an attempt that never comes is told by the call's end.
    void sent.catch(() => {});
  }
  void cancellation(call, index, backend, () => peer.tell({ op: 'cancel', call: seq })).catch(() => {});
  const hang =
    call.deadlineMs === undefined ? setTimeout(() => peer.tell({ op: 'cancel', call: seq }), longest) : undefined;
  const {
    status,
    message,
    messages: answers,
    headers,
    trailers,
    tookMs,
  } = await reply.finally(() => clearTimeout(hang));
  return {
    status: status ?? -1,
    message,
    messages: answers ?? [],
    headers: headers ?? [],
    trailers: trailers ?? [],
    tookMs: tookMs ?? 0,
  };
}
