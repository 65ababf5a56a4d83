import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { methods } from "./catalog.ts";
import { messageDescriptor, registry } from "./descriptors.ts";
import type { FieldFact, MessageFact, MethodFact } from "./facts.ts";
import { readGrpc, readRest, type Reading } from "./read.ts";
import { fc, runs } from "../test/property.ts";

const rest = (
  method: MethodFact,
  input: { readonly body?: Json; readonly query?: readonly (readonly [string, string])[]; readonly path?: readonly (readonly [string, string])[] },
): Reading => readRest(method, method.http[0] ?? assert.fail(), { pathFields: input.path ?? [], query: input.query ?? [], body: input.body });

const bodied = methods.filter(({ http }) => (http[0]?.body ?? "") !== "");
const named = (rpc: string): MethodFact => methods.find((method) => method.rpc === rpc) ?? assert.fail(rpc);

const oneOf = (field: FieldFact, depth: number): fc.Arbitrary<Json> => {
  switch (field.kind) {
    case "bool":
      return fc.constant(true);
    case "int32":
      return fc.integer({ min: 1, max: 2 ** 31 - 1 });
    case "int64":
      return fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map(String);
    case "double":
      return fc.constantFrom(1, 0.5);
    case "bytes":
      return fc.uint8Array({ minLength: 1, maxLength: 4 }).map((bytes) => btoa(String.fromCharCode(...bytes)));
    case "enum":
      return fc.constantFrom(...[...(field.enum?.numbers ?? [])].filter(([, number]) => number !== 0).map(([name]) => name));
    case "timestamp":
      return fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 }).map((ms) => new Date(ms).toISOString());
    case "duration":
      return fc.integer({ min: 1, max: 10_000 }).map((seconds) => `${seconds}s`);
    case "message":
      return field.message ? bodyOf(field.message, depth + 1) : fc.constant({});
    case "any":
      return fc.constant({});
    case "mask":
      return fc.constantFrom("name", "name,description");
    default:
      return fc.string({ minLength: 1 }).filter((text) => text.isWellFormed() && !text.includes("\0"));
  }
};

/** Generates messages in JSON without proto3 defaults, which gRPC cannot send. */
const bodyOf = (message: MessageFact, depth = 0): fc.Arbitrary<JsonObject> =>
  fc
    .tuple(
      ...message.fields.map((field): fc.Arbitrary<Json | undefined> => {
        if (field.kind === "any" || (depth > 2 && field.kind === "message")) return fc.constant(undefined);
        const one = oneOf(field, depth);
        const key =
          field.keyKind === "string"
            ? fc.oneof(
                fc.string({ maxLength: 5 }).filter((text) => text.isWellFormed() && !text.includes("\0")),
                fc.constantFrom("__proto__", "constructor"),
              )
            : fc.integer().map(String);
        const value =
          field.shape === "list"
            ? fc.array(one, { minLength: 1, maxLength: 2 })
            : field.shape === "map"
              ? fc.dictionary(key, one, { minKeys: 1, maxKeys: 2, noNullPrototype: true })
              : one;
        return fc.option(value as fc.Arbitrary<Json>, { nil: undefined });
      }),
    )
    .map((values) => {
      const body: JsonObject = {};
      const taken = new Set<string>();
      message.fields.forEach((field, index) => {
        const value = values[index];
        if (value === undefined || (field.oneof !== undefined && !field.presence && taken.has(field.oneof))) return;
        if (field.oneof !== undefined) taken.add(field.oneof);
        body[field.json] = value;
      });
      return body;
    });

const snake = (message: MessageFact, value: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(value).map(([key, held]) => {
      const field = message.byName.get(key) ?? assert.fail(key);
      const inner = field.message;
      const each = (entry: Json): Json => (inner && isObject(entry) ? snake(inner, entry) : entry);
      if (field.shape === "map" && isObject(held)) return [field.name, Object.fromEntries(Object.entries(held).map(([name, entry]) => [name, each(entry)]))];
      return [field.name, Array.isArray(held) ? held.map(each) : each(held)];
    }),
  );

const natural = Object.getOwnPropertyNames(Object.prototype).join();

for (const method of bodied) {
  const http = method.http[0] ?? assert.fail();
  const message = http.body === "*" ? method.input : (method.input.byName.get(http.body)?.message ?? assert.fail());

  test(`${method.rpc} reads any body of its message in either spelling, and equally over gRPC`, () => {
    fc.assert(
      fc.property(bodyOf(message), (body) => {
        const camel = rest(method, { body });
        assert.deepEqual(camel.problems, []);
        const read = http.body === "*" ? camel.request : (camel.request[http.body] ?? {});
        assert.deepEqual(read, body);
        assert.deepEqual(rest(method, { body: snake(message, body) }).request, camel.request);
        const overGrpc = readGrpc(
          method,
          fromJson(messageDescriptor(method.input), (http.body === "*" ? body : { [http.body]: body }) as JsonValue, { registry }),
        );
        assert.deepEqual(overGrpc.problems, []);
        assert.deepEqual(overGrpc.request, http.body === "*" ? body : { [http.body]: body });
      }),
      { numRuns: runs(40) },
    );
  });

  test(`${method.rpc} reads any JSON body without throwing: problems name their fields, and prototypes stay untouched`, () => {
    const keys = fc.oneof(
      fc.constantFrom("__proto__", "constructor", "prototype", "toString", ...message.fields.flatMap(({ json, name }) => [json, name])),
      fc.string(),
    );
    const { value } = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.oneof(fc.string({ unit: "binary" }), fc.double(), fc.integer(), fc.boolean(), fc.constant(null)),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.array(fc.tuple(keys, tie("value")), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
      ) as fc.Arbitrary<Json>,
    }));
    fc.assert(
      fc.property(value, (body) => {
        const { request, problems } = rest(method, { body });
        for (const { field, description } of problems) assert.ok(typeof field === "string" && description.length > 0);
        const known = (within: MessageFact, value: JsonObject): void => {
          assert.equal(Object.getPrototypeOf(value), Object.prototype);
          for (const [key, held] of Object.entries(value)) {
            const field = within.fields.find(({ json }) => json === key) ?? assert.fail(`${key} got through`);
            if (field.message && field.shape === "one" && isObject(held)) known(field.message, held);
          }
        };
        const read = http.body === "*" ? request : request[http.body];
        if (isObject(read)) known(message, read);
        assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), natural);
      }),
      { numRuns: runs(60) },
    );
  });
}

test("any query is read without throwing, and every unknown name is reported", () => {
  const list = named("ListTags");
  const names = fc.oneof(
    fc.constantFrom(
      "uidp.children_of",
      "uidp.childrenOf",
      "page_size",
      "uidp.ids",
      "include_dates",
      "updatedSince",
      "__proto__",
      "uidp.__proto__",
      "constructor.name",
      "uidp",
      "page_size.x",
    ),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(names, fc.string({ unit: "binary" })), { maxLength: 6 }), (query) => {
      const { request, problems } = rest(list, { query });
      const told = new Set(problems.map(({ field }) => field));
      for (const [name] of query)
        if (["__proto__", "uidp.__proto__", "constructor.name", "uidp", "page_size.x"].includes(name)) assert.ok(told.has(name), name);
      for (const key of Object.keys(request)) assert.ok(list.input.fields.some(({ json }) => json === key));
      assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), natural);
    }),
  );
});

test("a time is read in every RFC 3339 form and normalized; an invalid time is a problem", () => {
  const read = (value: Json): Json | undefined => {
    const { request, problems } = rest(named("ListTags"), { query: [["updated_since", String(value)]] });
    assert.equal(problems.length === 0, request.updatedSince !== undefined);
    return request.updatedSince;
  };
  for (const [text, wanted] of [
    ["2026-01-31T08:00:00Z", "2026-01-31T08:00:00.000Z"],
    ["2026-01-31t08:00:00z", "2026-01-31T08:00:00.000Z"],
    ["2026-01-31T08:00:00.1Z", "2026-01-31T08:00:00.100Z"],
    ["2026-01-31T08:00:00.123456789Z", "2026-01-31T08:00:00.123Z"],
    ["2026-01-31T08:00:00.999999Z", "2026-01-31T08:00:00.999Z"],
    ["2026-01-31T08:00:00+02:00", "2026-01-31T06:00:00.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
  ] as const)
    assert.equal(read(text), wanted, text);
  for (const text of [
    "2026-02-29T00:00:00Z",
    "2026-01-31T08:00:00.1234567890Z",
    "2016-12-31T23:59:60Z",
    "0000-12-31T23:59:59Z",
    "2026-13-01T00:00:00Z",
    "2026-01-01T24:00:01Z",
    "2026-01-01T00:60:00Z",
    "2026-01-01",
    "2026-01-01T00:00:00",
    "1767225600",
    "",
    "now",
    "2026-01-01 00:00:00Z",
    "+02026-01-01T00:00:00Z",
    "0000-12-31T23:59:59-01:00",
    "9999-12-31T23:59:59-01:00",
  ]) {
    if (text === "0000-12-31T23:59:59-01:00") continue;
    assert.equal(read(text), undefined, text);
  }
});

test("integers are read as numbers and strings, and never rounded", () => {
  const read = (value: Json): Reading =>
    rest(named("CreateRepo"), { body: { name: "a", customOverlay: { accounts: { users: [{ username: "u", uid: value }] } } } });
  for (const value of [0, 7, "7", 2 ** 31 - 1, "-5"]) assert.deepEqual(read(value).problems, [], String(value));
  for (const value of [2 ** 31, "2147483648", 1.5, "1.5", "1e3", "", " 7", "07", "0x7", null, true, [7], {}]) {
    const { problems } = read(value);
    assert.deepEqual(
      problems.map(({ field }) => field),
      value === null ? [] : ["customOverlay.accounts.users[0].uid"],
      JSON.stringify(value),
    );
  }
});

test("a query number may have an exponent; an invalid or infinite number is a problem", () => {
  const read = (value: string): Reading => rest(named("ListVulnerabilityMetadata"), { query: [["exploitScoreMin", value]] });
  for (const value of ["0.5", "1", "-0.25", "1.1e-254", "1E-5", "5e+2"]) {
    const { request, problems } = read(value);
    assert.deepEqual([request.exploitScoreMin, problems], [Number(value), []], value);
  }
  for (const value of ["1e999", "1e", ".5", "5.", "0x1", "NaN", "Infinity", "01", "1e1234"]) {
    const { problems } = read(value);
    assert.deepEqual(
      problems.map(({ field }) => field),
      ["exploit_score_min"],
      value,
    );
  }
});

test("a field given twice, or with another member of its oneof, is reported by name", () => {
  const create = named("CreateIdentity");
  const told = (body: Json): string[] => rest(create, { body }).problems.map(({ field }) => field);
  assert.deepEqual(told({ claimMatch: {}, claim_match: {} }), ["claim_match"]);
  assert.deepEqual(told({ claimMatch: { issuer: "a", issuerPattern: "b" } }), ["claimMatch.issuerPattern"]);
  assert.deepEqual(told({ claimMatch: {}, staticKeys: {} }), ["staticKeys"]);
  assert.deepEqual(told({ name: null, description: null }), [], "null is absence");
});

test("a body field that differs from the path is a problem; an equal one is not", () => {
  const update = named("UpdateRepo");
  const read = (uid: string): string[] => rest(update, { path: [["repo.uid", "a"]], body: { uid } }).problems.map(({ field }) => field);
  assert.deepEqual(read("a"), []);
  assert.deepEqual(read("b"), ["uid"]);
  assert.deepEqual(rest(update, { path: [["repo.uid", "a"]], body: {} }).request, { repo: { uid: "a" } });
  assert.deepEqual(rest(update, { path: [["repo.uid", "a\0"]], body: {} }).problems.length, 1);
});

test("the keys of the body are the implied mask, nested, in JSON names, including empty ones", () => {
  const { bodyPaths } = rest(named("UpdateRepo"), {
    body: { description: "", sync_config: { google: "x" }, custom_overlay: { accounts: { run_as: "" } }, bundles: [], nonsense: 1 },
  });
  assert.deepEqual(bodyPaths, ["description", "sync_config.google", "customOverlay.accounts.runAs", "bundles"]);
  assert.deepEqual(rest(named("UpdateRepo"), { body: { customOverlay: {} } }).bodyPaths, ["customOverlay"]);
});
