import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, toBinary } from "@bufbuild/protobuf";
import type { Json, JsonObject } from "#base/json.ts";
import { methods } from "#contract/catalog.ts";
import { messageDescriptor, registry } from "#contract/descriptors.ts";
import type { FieldFact, MessageFact } from "#contract/facts.ts";
import { prefixBytes } from "./frames.ts";
import { framedReply } from "./wire.ts";
import { fc, runs } from "../../test/property.ts";

const texts = fc.oneof(
  fc.constant(""),
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.string({ minLength: 120, maxLength: 140 }),
  fc.stringMatching(/^ü{60,140}$/),
);
const longs = fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).map(String);

const valueOf = (field: FieldFact, depth: number): fc.Arbitrary<Json> => {
  switch (field.kind) {
    case "bool":
      return fc.boolean();
    case "int32":
      return fc.oneof(fc.integer(), fc.constantFrom(0, 1, -1, 127, 128, 2147483647, -2147483648));
    case "int64":
      return fc.oneof(longs, fc.constantFrom("0", "1", "-1", "9007199254740993", "4294967296"));
    case "double":
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case "bytes":
      return fc.uint8Array({ maxLength: 200 }).map((value) => Buffer.from(value).toString("base64"));
    case "enum":
      return fc.constantFrom(...(field.enum?.numbers.keys() ?? []));
    case "timestamp":
      return fc
        .date({ min: new Date("0001-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59.999Z"), noInvalidDate: true })
        .map((value) => value.toISOString());
    case "duration":
      return fc.constantFrom("0s", "1s", "-1s", "3600s", "1.500s", "-0.000000001s", "0.25s");
    case "mask":
      return fc.constantFrom("", "name", "name,createTime", "claimMatch.issuerPattern");
    case "message":
      return field.message ? messageOf(field.message, depth) : fc.constant({});
    default:
      return texts;
  }
};

const fieldOf = (field: FieldFact, depth: number): fc.Arbitrary<Json> => {
  const value = valueOf(field, depth);
  if (field.shape === "list") return fc.array(value, { maxLength: 3 });
  if (field.shape === "map") return fc.dictionary(field.keyKind === "int64" ? longs : texts, value, { maxKeys: 3, noNullPrototype: true });
  return value;
};

/** Any plain value of the message, with at most one member of each oneof. */
const messageOf = (message: MessageFact, depth = 0): fc.Arbitrary<JsonObject> => {
  if (depth > 3) return fc.constant({});
  const fields = message.fields.filter((field) => field.kind !== "any");
  return fc.record(Object.fromEntries(fields.map((field) => [field.json, fieldOf(field, depth + 1)])), { requiredKeys: [] }).map((object) => {
    const taken = new Set<string>();
    return Object.fromEntries(
      fields.flatMap((field): [string, Json][] => {
        const value = object[field.json];
        if (value === undefined) return [];
        if (field.oneof !== undefined && !field.presence) {
          if (taken.has(field.oneof)) return [];
          taken.add(field.oneof);
        }
        return [[field.json, value]];
      }),
    );
  });
};

for (const message of new Set(methods.map((method) => method.output))) {
  test(`${message.name} is encoded as by protobuf-es`, () => {
    fc.assert(
      fc.property(messageOf(message), (object) => {
        const got = framedReply(message, object);
        const expected = toBinary(messageDescriptor(message), fromJson(messageDescriptor(message), object, { registry }));
        assert.equal(got.readUInt32BE(1), expected.length);
        assert.equal(got.subarray(prefixBytes).toString("hex"), Buffer.from(expected).toString("hex"));
      }),
      { numRuns: runs(40) },
    );
  });
}

test("a response larger than the buffer is complete, and so is the next one", () => {
  const list = methods.find((method) => method.rpc === "ListRepos")?.output;
  assert.ok(list);
  const big: JsonObject = {
    repos: Array.from({ length: 5000 }, (_, index) => ({ uid: `u${index}`, name: "ü".repeat(200), description: "x".repeat(300) })),
    totalCount: "5000",
  };
  const expected = toBinary(messageDescriptor(list), fromJson(messageDescriptor(list), big));
  for (const object of [big, {}, big]) assert.equal(framedReply(list, object).length, object === big ? expected.length + prefixBytes : prefixBytes);
});
