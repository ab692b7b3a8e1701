import { EventEmitter } from 'node:events';
import { getChannelzServiceDefinition } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { createReflection } from '../../../src/control/reflection.js';

/** A stream of grpc-js whose client does not read. */
class Unread extends EventEmitter {
  readonly did: string[] = [];
  readonly answers: unknown[] = [];
  write(answer: unknown): boolean {
    this.did.push('write');
    this.answers.push(answer);
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

function opened(): Unread {
  const [part] = createReflection([getChannelzServiceDefinition()], () => null);
  const handle = part?.implementation['ServerReflectionInfo'] as unknown as (call: Unread) => void;
  const call = new Unread();
  handle(call);
  return call;
}

function answerTo(messageRequest: string, name: string): unknown {
  const call = opened();
  call.emit('data', { host: 'h', messageRequest, [messageRequest]: name });
  return call.answers[0];
}

it.each(['fileContainingSymbol', 'fileByFilename', 'allExtensionNumbersOfType'])(
  'CTL-02: %s of a name that every object has is not there',
  (messageRequest) => {
    for (const name of ['__proto__', 'constructor', 'toString'])
      expect(answerTo(messageRequest, name)).toEqual({
        validHost: 'h',
        originalRequest: { host: 'h', messageRequest, [messageRequest]: name },
        errorResponse: { errorCode: 5, errorMessage: expect.stringMatching(new RegExp(`not found.* ${name}$`)) },
      });
  },
);

it('CTL-02: a message without extensions has none, what is no message is not there', () => {
  for (const baseTypeName of ['grpc.channelz.v1.Channel', 'grpc.channelz.v1.Address.TcpIpAddress']) {
    const answer = answerTo('allExtensionNumbersOfType', baseTypeName);
    expect(answer).toMatchObject({ allExtensionNumbersResponse: { baseTypeName, extensionNumber: [] } });
    expect(answer).not.toHaveProperty('errorResponse');
  }
  for (const name of ['pkg.Other', 'grpc.channelz.v1.Channelz', 'grpc.channelz.v1.ChannelConnectivityState.State', ''])
    expect(answerTo('allExtensionNumbersOfType', name)).toMatchObject({ errorResponse: { errorCode: 5 } });
  expect(answerTo('fileContainingSymbol', 'grpc.channelz.v1.Channel')).not.toHaveProperty('errorResponse');
});

it('CTL-10: a client that does not read its answers is not listened to until it does', () => {
  const call = opened();
  call.emit('data', { messageRequest: 'listServices', listServices: '*' });
  expect(call.did).toEqual(['write', 'pause']);
  call.emit('drain');
  expect(call.did).toEqual(['write', 'pause', 'resume']);
  call.emit('end');
  expect(call.did.at(-1)).toBe('end');
});
