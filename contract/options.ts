// Reads the contract's options from the bytes in descriptors. The library's getOption compiles a message type on each call, which
// took half of the time to compute facts (measured).

import { create, type DescMessage, type Message, type MessageShape, mergeFromBinary } from "@bufbuild/protobuf";
import type { GenExtension } from "@bufbuild/protobuf/codegenv2";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

interface Described<Options extends Message> {
  readonly proto: { readonly options?: Options | undefined };
}

const optionParts = <Options extends Message>({ proto }: Described<Options>, { number }: GenExtension<Options, unknown>) =>
  proto.options?.$unknown?.filter(({ no }) => no === number) ?? [];

/** Returns whether the option is set. */
export const hasOption = <Options extends Message>({ proto }: Described<Options>, { number }: GenExtension<Options, unknown>): boolean =>
  proto.options?.$unknown?.some(({ no }) => no === number) === true;

export const messageOption = <Options extends Message, Schema extends DescMessage>(
  descriptor: Described<Options>,
  option: GenExtension<Options, MessageShape<Schema>>,
  schema: Schema,
): MessageShape<Schema> | undefined => {
  const parts = optionParts(descriptor, option);
  if (parts.length === 0) return undefined;
  const message = create(schema);
  // An option may be split into several parts.
  for (const { data } of parts) mergeFromBinary(schema, message, new BinaryReader(data).bytes());
  return message;
};

/** Returns a flag; false if it is not set. */
export const flagOption = <Options extends Message>(descriptor: Described<Options>, option: GenExtension<Options, boolean>): boolean => {
  const part = optionParts(descriptor, option).at(-1);
  return part !== undefined && new BinaryReader(part.data).bool();
};

export const textOption = <Options extends Message>(descriptor: Described<Options>, option: GenExtension<Options, string>): string | undefined => {
  const part = optionParts(descriptor, option).at(-1);
  return part && new BinaryReader(part.data).string();
};

/** Returns a list of enum numbers. */
export const numbersOption = <Options extends Message>(descriptor: Described<Options>, option: GenExtension<Options, readonly number[]>): number[] =>
  optionParts(descriptor, option).flatMap(({ data, wireType }) => {
    const reader = new BinaryReader(data);
    if (wireType !== WireType.LengthDelimited) return [reader.int32()];
    const numbers: number[] = [];
    for (const end = reader.uint32() + reader.pos; reader.pos < end; ) numbers.push(reader.int32());
    return numbers;
  });
