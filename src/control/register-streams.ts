import type { handleBidiStreamingCall, ServerDuplexStream } from '@grpc/grpc-js';
import type { Address } from '../config/address.js';
import { Status, type StatusCode } from '../grpc/status.js';
import type { AlarmHandle, Alarms, Clock, Turn } from '../runtime/ports.js';
import { createRegistry, type RegistryLimits } from './registry.js';
import type { RegisteredBackend, RegistryDecision, RegistryEvent, RegistryMessage, RegistryReply } from './types.js';

/** What the app is told and asked. None may throw. */
export interface RegistryOwner {
  /** A backend is new (`replaces` null), registered again (of a new generation), or changed its options (of the same). */
  readonly onPut: (backend: RegisteredBackend, replaces: number | null) => void;
  /** It is gone: end what it has at once (D19). `why` continues "b1 is lost: …". */
  readonly onLose: (backend: RegisteredBackend, why: string) => void;
  /** It left: let its calls finish (D35). `why` continues "b1 leaves: …". */
  readonly onDrain: (backend: RegisteredBackend, why: string) => void;
  /** A stream was ended with an error: for the log. `peer` is `host:port`, or `unknown` on a unix socket. */
  readonly onRefused: (peer: string, detail: string) => void;
  /** Who else names this backend, in words: `--backend`, `the endpoints file PATH`; null: nobody. */
  readonly reservedBy: (name: string) => string | null;
  /** Our own listener that a call to this address would come back to, in words: `--listen 127.0.0.1:50051`; null: none. */
  readonly ownListener: (endpoint: Address) => string | null;
  readonly draining: () => boolean;
}

export interface RegistryPorts {
  readonly clock: Clock;
  readonly alarms: Alarms;
  readonly turn: Turn;
}

type RegisterStream = ServerDuplexStream<RegistryMessage, RegistryReply>;

/** Registry.Register, bound to the streams of a grpc-js server. */
export interface RegisterStreams {
  readonly handle: handleBidiStreamingCall<RegistryMessage, RegistryReply>;
  /** The app has given this name to another source: its registration ends ALREADY_EXISTS, and nobody is told. */
  expel(name: string, why: string): void;
  /** Ends every stream UNAVAILABLE; nobody is lost. */
  stop(): void;
}

/**
 * @param admit what is wrong with the caller's credentials; null: nothing
 * @param connected whether the connection of this peer, as `getPeer` has it, is still there
 */
export function createRegisterStreams(
  owner: RegistryOwner,
  { clock, alarms, turn }: RegistryPorts,
  admit: (call: RegisterStream) => string | null,
  connected: (peer: string) => boolean,
  limits?: RegistryLimits,
): RegisterStreams {
  const registry = createRegistry(limits);
  const open = new Map<number, RegisterStream>();
  let streams = 0;
  let alarm: AlarmHandle | null = null;

  function tell(event: RegistryEvent): void {
    const { reservedBy, ownListener } = owner;
    const env = { now: clock.now(), draining: owner.draining(), reservedBy, ownListener };
    for (const decision of registry.handle(event, env)) carryOut(decision);
    arm();
  }

  function arm(): void {
    const { wakeAt } = registry;
    // An alarm that rings early finds nothing due and is set again: only a nearer time needs another one.
    if (wakeAt === null || (alarm !== null && alarm.at <= wakeAt)) return;
    if (alarm !== null) alarms.cancel(alarm);
    alarm = alarms.set(wakeAt, () => {
      alarm = null;
      tell({ type: 'woke' });
    });
  }

  function carryOut(decision: RegistryDecision): void {
    switch (decision.type) {
      case 'put':
        owner.onPut(decision.backend, decision.replaces);
        return;
      case 'lose':
        owner.onLose(decision.backend, decision.why);
        return;
      case 'drain':
        owner.onDrain(decision.backend, decision.why);
        return;
      case 'reply': {
        const call = open.get(decision.stream);
        if (call !== undefined) reply(call, decision.reply);
        return;
      }
      case 'end': {
        const call = open.get(decision.stream);
        open.delete(decision.stream);
        if (call !== undefined) end(call, decision.code, decision.details);
        return;
      }
      default:
        decision satisfies never;
    }
  }

  function end(call: RegisterStream, code: StatusCode, details: string): void {
    if (code === Status.OK) {
      call.end();
      return;
    }
    owner.onRefused(call.getPeer(), details);
    call.emit('error', { code, details });
  }

  function handle(call: RegisterStream): void {
    // grpc-js makes a status of it in a listener of its own.
    call.on('error', () => {});
    const refusal = admit(call);
    if (refusal !== null) {
      end(call, Status.UNAUTHENTICATED, refusal);
      call.resume();
      return;
    }
    streams += 1;
    const stream = streams;
    open.set(stream, call);
    const peer = call.getPeer();
    let finished = false;
    const broke = (): void => {
      // grpc-js says so of streams that we have ended, too.
      if (open.delete(stream)) tell({ type: 'broke', stream, by: connected(peer) ? 'reset' : 'connection' });
    };
    call.on('cancelled', () => {
      // A loss is told at once. By what a leave was broken can be asked only when the connection has had its say.
      if (finished) turn.atEnd(broke);
      else broke();
    });
    call.on('data', (message: RegistryMessage) => {
      if (open.has(stream)) tell({ type: 'received', stream, message });
    });
    // node:http2 ends the reading side of a stream that was reset or lost its connection just as that of one that was
    // half-closed, and says `cancelled` a moment later in the same turn. A killed backend must not pass for one that left.
    call.on('end', () => {
      turn.atEnd(() => {
        if (!open.has(stream)) return;
        finished = true;
        tell({ type: 'finished', stream });
      });
    });
    tell({ type: 'opened', stream });
  }

  return {
    handle,
    expel: (name, why) => tell({ type: 'expelled', name, why }),
    stop() {
      tell({ type: 'stopping' });
      if (alarm !== null) alarms.cancel(alarm);
      alarm = null;
    },
  };
}

/** Who does not read what it is told is not listened to until it does. */
function reply(call: RegisterStream, message: RegistryReply): void {
  if (call.write(message)) return;
  call.pause();
  call.once('drain', () => call.resume());
}
