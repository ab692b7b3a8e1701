import { EventEmitter } from 'node:events';
import { getChannelzServiceDefinition } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { createReflection } from '../../../src/control/reflection.js';

/** A stream of grpc-js whose client does not read. */
class Unread extends EventEmitter {
  readonly did: string[] = [];
  write(): boolean {
    this.did.push('write');
    return false;
  }
  pause(): void {
    this.did.push('pause');
  }
  resume(): void {
    this.did.push('resume');
  }
  end(): void {
    this.did.push('end');
  }
}

it('CTL-10: a client that does not read its answers is not listened to until it does', () => {
  const [part] = createReflection([getChannelzServiceDefinition()], () => null);
  const handle = part?.implementation['ServerReflectionInfo'] as unknown as (call: Unread) => void;
  const call = new Unread();
  handle(call);
  call.emit('data', { messageRequest: 'listServices', listServices: '*' });
  expect(call.did).toEqual(['write', 'pause']);
  call.emit('drain');
  expect(call.did).toEqual(['write', 'pause', 'resume']);
  call.emit('end');
  expect(call.did.at(-1)).toBe('end');
});
