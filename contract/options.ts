// What the contract's options say of a descriptor, read from the bytes that the library keeps of them. Its own getOption makes a message
// type that holds the option and compiles it at each call: measured, half of the time in which the contract becomes facts.

import { create, type DescMessage, type Message, type MessageShape, mergeFromBinary } from "@bufbuild/protobuf";
import type { GenExtension } from "@bufbuild/protobuf/codegenv2";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** A descriptor whose options are of this type. */
interface Described<Options extends Message> {
  readonly proto: { readonly options?: Options | undefined };
}

const optionParts = <Options extends Message>({ proto }: Described<Options>, { number }: GenExtension<Options, unknown>) =>
  proto.options?.$unknown?.filter(({ no }) => no === number) ?? [];

/** True where the option is set, to whatever. */
export const hasOption = <Options extends Message>({ proto }: Described<Options>, { number }: GenExtension<Options, unknown>): boolean =>
  proto.options?.$unknown?.some(({ no }) => no === number) === true;

/** An option that is a message of this schema; undefined where it is not set. */
export const messageOption = <Options extends Message, Schema extends DescMessage>(
  descriptor: Described<Options>,
  option: GenExtension<Options, MessageShape<Schema>>,
  schema: Schema,
): MessageShape<Schema> | undefined => {
  const parts = optionParts(descriptor, option);
  if (parts.length === 0) return undefined;
  const message = create(schema);
  // One that is written field by field may lie there in as many parts.
  for (const { data } of parts) mergeFromBinary(schema, message, new BinaryReader(data).bytes());
  return message;
};

/** An option that is a flag; false where it is not set. */
export const flagOption = <Options extends Message>(descriptor: Described<Options>, option: GenExtension<Options, boolean>): boolean => {
  const part = optionParts(descriptor, option).at(-1);
  return part !== undefined && new BinaryReader(part.data).bool();
};

/** An option that is a text; undefined where it is not set. */
export const textOption = <Options extends Message>(descriptor: Described<Options>, option: GenExtension<Options, string>): string | undefined => {
  const part = optionParts(descriptor, option).at(-1);
  return part && new BinaryReader(part.data).string();
};

/** An option that is a list of numbers of an enum. */
export const numbersOption = <Options extends Message>(descriptor: Described<Options>, option: GenExtension<Options, readonly number[]>): number[] =>
  optionParts(descriptor, option).flatMap(({ data, wireType }) => {
    const reader = new BinaryReader(data);
    if (wireType !== WireType.LengthDelimited) return [reader.int32()];
    const numbers: number[] = [];
    for (const end = reader.uint32() + reader.pos; reader.pos < end; ) numbers.push(reader.int32());
    return numbers;
  });
