import { getChannelzServiceDefinition } from '@grpc/grpc-js';
import descriptor, { type IDescriptorProto, type IFileDescriptorProto } from 'protobufjs/ext/descriptor.js';
import { describe, expect, it } from 'vitest';
import { completeFiles } from '../../../src/control/descriptors.js';

const { FileDescriptorProto } = descriptor;

function decode(bytes: Uint8Array): IFileDescriptorProto {
  return FileDescriptorProto.decode(bytes) as IFileDescriptorProto;
}

function encode(file: IFileDescriptorProto): Uint8Array {
  return FileDescriptorProto.encode(FileDescriptorProto.fromObject(file)).finish();
}

function fieldTypes({ field = [], nestedType = [] }: IDescriptorProto): string[] {
  return [...field.flatMap(({ typeName }) => (typeName ? [typeName] : [])), ...nestedType.flatMap(fieldTypes)];
}

/** As proto-loader gives it to grpc-js. */
const { requestType } = getChannelzServiceDefinition().GetSocket as unknown as {
  readonly requestType: { readonly fileDescriptorProtos: readonly Uint8Array[] };
};

describe('descriptors for clients that link them', () => {
  it('CTL-01: files name those that they need, and types by their full names', () => {
    const before = requestType.fileDescriptorProtos.map(decode);
    const files = completeFiles(requestType.fileDescriptorProtos).map(decode);
    expect(before.flatMap(({ dependency = [] }) => dependency)).toEqual([]);
    expect(files.map(({ name, dependency }) => [name, dependency])).toEqual([
      ['grpc_channelz_v1.proto', ['google_protobuf.proto']],
      ['google_protobuf.proto', []],
    ]);
    const types = files.flatMap(({ messageType = [] }) => messageType.flatMap(fieldTypes));
    expect(types).toContain('.google.protobuf.Timestamp');
    expect(types).toContain('.grpc.channelz.v1.Address.TcpIpAddress');
    expect(types.filter((type) => !type.startsWith('.'))).toEqual([]);
    const ranges = (file: IFileDescriptorProto | undefined): unknown[] =>
      (file?.messageType ?? []).flatMap(({ reservedRange = [] }) => reservedRange);
    expect(ranges(before[0])).toContainEqual({ start: 3, end: 3 });
    expect(ranges(files[0])).toEqual([]);
    // Nothing else is changed.
    expect(files[0]?.service?.[0]?.method).toEqual(before[0]?.service?.[0]?.method);
    expect(files[0]?.messageType?.map(({ name }) => name)).toEqual(before[0]?.messageType?.map(({ name }) => name));
  });

  it('CTL-01: the entries of maps have the names that make them maps', () => {
    const encoded = encode({
      name: 'a.proto',
      package: 'p',
      messageType: [
        {
          name: 'A',
          field: [{ name: 'some_names', number: 1, label: 3, type: 11, typeName: 'Some_names' }],
          nestedType: [
            { name: 'Some_names', field: [{ name: 'key', number: 1, type: 9 }], options: { mapEntry: true } },
            { name: 'Other', field: [{ name: 'key', number: 1, type: 9 }] },
          ],
        },
      ],
    });
    const [type] = completeFiles([encoded]).map(decode)[0]?.messageType ?? [];
    expect(type?.field).toMatchObject([{ name: 'some_names', typeName: '.p.A.SomeNamesEntry' }]);
    expect(type?.nestedType?.map(({ name }) => name)).toEqual(['SomeNamesEntry', 'Other']);
  });

  it('CTL-01: a file that comes twice is told once; a file without a package, and nested enums, are found', () => {
    const bare = encode({
      name: 'bare.proto',
      messageType: [{ name: 'A', enumType: [{ name: 'E', value: [{ name: 'Z', number: 0 }] }] }],
    });
    const using = encode({
      name: 'using.proto',
      package: 'p',
      messageType: [
        {
          name: 'B',
          field: [
            { name: 'e', number: 1, typeName: 'A.E' },
            { name: 'x', number: 2, typeName: 'Unknown' },
          ],
        },
      ],
      service: [{ name: 'S', method: [{ name: 'M', inputType: 'A', outputType: '.p.B' }] }],
    });
    const files = completeFiles([bare, using, bare]).map(decode);
    expect(files.map(({ name, dependency }) => [name, dependency])).toEqual([
      ['bare.proto', []],
      ['using.proto', ['bare.proto']],
    ]);
    expect(files[1]?.messageType?.flatMap(fieldTypes)).toEqual(['.A.E', 'Unknown']);
    expect(files[1]?.service?.[0]?.method).toMatchObject([{ inputType: '.A', outputType: '.p.B' }]);
  });
});
