import descriptor, { type IDescriptorProto, type IFileDescriptorProto } from 'protobufjs/ext/descriptor.js';

const { FileDescriptorProto } = descriptor;

/*
 * proto-loader's descriptors have one file for a package, say of no file which others it needs, name types by less than their
 * full names, call the entries of maps by a name of their own, and end ranges of reserved numbers one too early. Clients that link descriptors, as grpcurl does, refuse such
 * files.
 */

/** These files, once each by their names, with their imports and the full names of types; without reserved numbers, which
 * concern only who edits a .proto file. */
export function completeFiles(encoded: readonly Uint8Array[]): Buffer[] {
  const files = new Map<string, IFileDescriptorProto>();
  for (const bytes of encoded) {
    const file = FileDescriptorProto.decode(bytes) as IFileDescriptorProto;
    const { name = '' } = file;
    if (files.has(name)) continue;
    for (const type of file.messageType ?? []) nameEntries(type);
    files.set(name, file);
  }
  const homes = new Map<string, string>();
  for (const [name, file] of files) for (const type of typesOf(file)) homes.set(type, name);
  return [...files].map(([name, file]) => {
    complete(name, file, homes);
    return Buffer.from(FileDescriptorProto.encode(file).finish());
  });
}

/** The full names, without the first dot, of the messages in these files, those within others included. */
export function messagesOf(encoded: readonly Uint8Array[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const bytes of encoded) {
    const file = FileDescriptorProto.decode(bytes) as IFileDescriptorProto;
    addMessages(scopeOf(file), file.messageType ?? []);
  }
  return names;

  function addMessages(scope: string, types: readonly IDescriptorProto[]): void {
    for (const { name, nestedType = [] } of types) {
      names.add(`${scope}.${name}`.slice(1));
      addMessages(`${scope}.${name}`, nestedType);
    }
  }
}

/** @param homes the file of each type, by its full name with the dot */
function complete(name: string, file: IFileDescriptorProto, homes: ReadonlyMap<string, string>): void {
  const dependencies = new Set<string>();

  /** By the rules of names in .proto files: the innermost scope that has it. One that is nowhere stays as it is. */
  function full(type: string, scope: string): string {
    const found = type.startsWith('.') ? type : nearest(type, scope, homes);
    const home = homes.get(found);
    if (home !== undefined && home !== name) dependencies.add(home);
    return found;
  }

  function completeType(type: IDescriptorProto, outer: string): void {
    const { name: own, field = [], nestedType = [] } = type;
    const scope = `${outer}.${own}`;
    type.reservedRange = [];
    for (const one of field) if (one.typeName) one.typeName = full(one.typeName, scope);
    for (const nested of nestedType) completeType(nested, scope);
  }

  const top = scopeOf(file);
  for (const type of file.messageType ?? []) completeType(type, top);
  for (const { method = [] } of file.service ?? []) {
    for (const one of method) {
      one.inputType = full(one.inputType ?? '', top);
      one.outputType = full(one.outputType ?? '', top);
    }
  }
  file.dependency = [...dependencies];
}

/** The entry of a map `some_names` is `SomeNamesEntry`: a rule of descriptor.proto, by which clients know a map. */
function nameEntries({ field = [], nestedType = [] }: IDescriptorProto): void {
  for (const nested of nestedType) {
    nameEntries(nested);
    const map = nested.options?.mapEntry === true ? field.find(({ typeName }) => typeName === nested.name) : undefined;
    if (map === undefined) continue;
    const words = (map.name ?? '').split('_').filter((word) => word !== '');
    nested.name = `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Entry`;
    map.typeName = nested.name;
  }
}

function nearest(type: string, scope: string, homes: ReadonlyMap<string, string>): string {
  for (let around = scope; ; around = around.slice(0, around.lastIndexOf('.'))) {
    if (homes.has(`${around}.${type}`)) return `${around}.${type}`;
    if (around === '') return type;
  }
}

/** With the dot; empty where there is no package. */
function scopeOf({ package: name = '' }: IFileDescriptorProto): string {
  return name === '' ? '' : `.${name}`;
}

function typesOf(file: IFileDescriptorProto): string[] {
  return typesIn(scopeOf(file), { nestedType: file.messageType ?? [], enumType: file.enumType ?? [] });
}

function typesIn(prefix: string, { nestedType = [], enumType = [] }: IDescriptorProto): string[] {
  return [
    ...enumType.map(({ name }) => `${prefix}.${name}`),
    ...nestedType.flatMap((type) => [`${prefix}.${type.name}`, ...typesIn(`${prefix}.${type.name}`, type)]),
  ];
}
