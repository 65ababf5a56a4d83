// Decodes protobuf bytes within a budget.

import { type DescField, type DescMessage, fromBinary, type MessageShape, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { type Budget, tooDeep, tooManyValues } from "./budget.ts";

interface WireField {
  readonly wireType: WireType;
  /** Numbers of a list may be in one record (protobuf.dev, Encoding: Packed Repeated Fields). */
  readonly packed: boolean;
  readonly message: WireMessage | undefined;
}

/** Fields by number; lazy, because a message may contain itself. */
type WireMessage = () => ReadonlyMap<number, WireField>;

const wireTypeOf = (scalar: ScalarType): WireType => {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    default:
      return WireType.Varint;
  }
};

const scalarField = (scalar: ScalarType, isList = false): WireField => {
  const wireType = wireTypeOf(scalar);
  return { wireType, packed: isList && wireType !== WireType.LengthDelimited, message: undefined };
};

const nested = (message: WireMessage): WireField => ({ wireType: WireType.LengthDelimited, packed: false, message });

const wireField = (field: DescField): WireField => {
  switch (field.fieldKind) {
    case "scalar":
      return scalarField(field.scalar);
    case "enum":
      return scalarField(ScalarType.INT32);
    case "message":
      return nested(wireMessage(field.message));
    case "list":
      if (field.listKind === "message") return nested(wireMessage(field.message));
      return scalarField(field.listKind === "enum" ? ScalarType.INT32 : field.scalar, true);
    case "map": {
      const value = field.mapKind === "message" ? nested(wireMessage(field.message)) : scalarField(field.mapKind === "enum" ? ScalarType.INT32 : field.scalar);
      const entry = new Map([
        [1, scalarField(field.mapKey)],
        [2, value],
      ]);
      return nested(() => entry);
    }
  }
};

const wireMessages = new Map<DescMessage, WireMessage>();

const wireMessage = (descriptor: DescMessage): WireMessage => {
  const known = wireMessages.get(descriptor);
  if (known) return known;
  let fields: ReadonlyMap<number, WireField> | undefined;
  const message: WireMessage = () => (fields ??= new Map(descriptor.fields.map((field) => [field.number, wireField(field)])));
  wireMessages.set(descriptor, message);
  return message;
};

class BudgetExceeded extends Error {}

/** Counts packed numbers. The last one must end with its record, or the decoder reads on into the next. */
const countPacked = (bytes: Uint8Array, wireType: WireType): number => {
  if (wireType !== WireType.Varint) {
    const size = wireType === WireType.Bit64 ? 8 : 4;
    if (bytes.length % size !== 0) throw new Error("a packed list ends within a number");
    return bytes.length / size;
  }
  if ((bytes.at(-1) ?? 0) > 0x7f) throw new Error("a packed list ends within a number");
  let count = 0;
  for (const byte of bytes) if (byte < 0x80) count++;
  return count;
};

/**
 * Counts all records, known and unknown. Throws if there are too many, or if the decoder could read other records: a field of a
 * wrong wire type, or one that does not end with its message.
 */
const countRecords = (bytes: Uint8Array, root: WireMessage, { valuesMax, depthMax }: Budget): void => {
  const reader = new BinaryReader(bytes);
  let values = 0;
  const add = (count: number): void => {
    values += count;
    if (values > valuesMax) throw new BudgetExceeded(tooManyValues(valuesMax));
  };
  const walk = (message: WireMessage, end: number, depth: number): void => {
    if (depth > depthMax) throw new BudgetExceeded(tooDeep(depthMax));
    const fields = message();
    // The content of a group is skipped whatever its field number: proto3 has none.
    let groups = 0;
    while (reader.pos < end) {
      const [number, wireType] = reader.tag();
      add(1);
      if (wireType === WireType.StartGroup) groups++;
      else if (wireType === WireType.EndGroup) groups--;
      else {
        const field = groups === 0 ? fields.get(number) : undefined;
        if (field && wireType !== field.wireType && !(field.packed && wireType === WireType.LengthDelimited))
          throw new Error(`field ${number} has wire type ${wireType}`);
        if (field?.message || (field?.packed && wireType === WireType.LengthDelimited)) {
          const length = reader.uint32();
          const innerEnd = reader.pos + length;
          if (innerEnd > end) throw new Error("a field is longer than its message");
          if (field.message) walk(field.message, innerEnd, depth + 1);
          else add(countPacked(bytes.subarray(reader.pos, innerEnd), field.wireType));
          reader.pos = innerEnd;
        } else reader.skip(wireType, number);
      }
    }
    if (reader.pos !== end || groups !== 0) throw new Error("a field is longer than its message");
  };
  walk(root, bytes.length, 1);
};

/** Returns the message, or why it cannot be read. Skips unknown fields. */
export const decodeWithin = <Desc extends DescMessage>(schema: Desc, bytes: Uint8Array, budget: Budget): MessageShape<Desc> | string => {
  try {
    // A value takes at least one byte, so most messages need no counting.
    if (bytes.length > budget.valuesMax) countRecords(bytes, wireMessage(schema), budget);
    return fromBinary(schema, bytes, { readUnknownFields: false, recursionLimit: budget.depthMax });
  } catch (error) {
    if (error instanceof BudgetExceeded) return error.message;
    return `is not a valid ${schema.typeName}: ${error instanceof Error ? error.message : "it cannot be read"}`;
  }
};
