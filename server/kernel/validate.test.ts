import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault, type Violation } from "#base/fault.ts";
import type { Json, JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { ownOrigin } from "#base/origin.ts";
import { callOf } from "#contract/call.ts";
import { methods } from "#contract/catalog.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";
import { nonEmpty } from "../../test/samples.ts";
import { resourceField } from "./field-behavior.ts";
import { readMask } from "./mask.ts";
import { validate } from "./validate.ts";

const mistakes = 5_000;
const wrong = "no uid, and\u0001 no name";

const violationsOf = (method: MethodFact, request: JsonObject, problems: readonly Violation[] = []): readonly Violation[] => {
  try {
    validate({ ...callOf(method, request, { requestId: "r", origin: () => ownOrigin }), problems: [...problems] });
  } catch (thrown) {
    assert.ok(thrown instanceof Fault && thrown.code === "INVALID_ARGUMENT", String(thrown));
    const [detail] = thrown.details;
    return detail?.kind === "fields" ? detail.violations : [];
  }
  return [];
};

/** A list of invalid entries, and the number of entries that were read. */
const watched = (entry: Json): { list: Json[]; looks: () => number } => {
  let looks = 0;
  const list = new Proxy<Json[]>(Array(mistakes).fill(entry), {
    get(target, key, receiver) {
      if (typeof key === "string" && /^\d+$/.test(key)) looks++;
      return Reflect.get(target, key, receiver);
    },
  });
  return { list, looks: () => looks };
};

const isRefused = (field: FieldFact): boolean => field.kind === "string" && (field.uid || (field.pattern ?? "") !== "");

/** Lists of a message that can have invalid entries. */
const listsOf = (message: MessageFact): readonly (readonly [FieldFact, Json])[] =>
  message.fields.flatMap((field): (readonly [FieldFact, Json])[] => {
    if (field.shape !== "list" || field.outputOnly) return [];
    if (isRefused(field)) return [[field, wrong]];
    const inner = field.message?.fields.find((each) => each.shape === "one" && !each.outputOnly && isRefused(each));
    return inner ? [[field, { [inner.json]: wrong }]] : [];
  });

const spots = methods.flatMap((method) => {
  const resource = resourceField(method);
  return [
    ...listsOf(method.input).map(([field, entry]) => ({ method, field, entry, within: undefined as string | undefined })),
    // A list of messages is first read once to drop output-only fields, before validation.
    ...(resource?.message ? listsOf(resource.message) : [])
      .filter(([field]) => field.kind === "string")
      .map(([field, entry]) => ({ method, field, entry, within: resource?.json })),
  ];
});

for (const { method, field, entry, within } of nonEmpty(spots, "list whose entries can be mistakes")) {
  test(`${method.name.split(".").at(-1)}: of ${mistakes} invalid entries in ${field.name}, only as many are read as are reported`, () => {
    const { list, looks } = watched(entry);
    const value = { [field.json]: list };
    const found = violationsOf(method, within === undefined ? value : { [within]: value, updateMask: "*" });
    assert.equal(found.length, limits.violationsMax);
    assert.ok(looks() > 0 && looks() <= limits.violationsMax, `${looks()}`);
    // In order, from the first.
    const indexes = found.flatMap(({ field: at }) => /\[(\d+)\]/.exec(at)?.[1] ?? []);
    assert.deepEqual(
      [...new Set(indexes)],
      Array.from({ length: looks() }, (_, index) => String(index)),
    );
  });
}

test("a mask of thousands of unknown names reports only the maximum number of violations", () => {
  const update = methods.find(({ name }) => name.endsWith("ReposService/UpdateRepo")) ?? assert.fail();
  const message = resourceField(update)?.message ?? assert.fail();
  const text = Array.from({ length: mistakes }, (_, index) => `k${index}`).join(",");
  const { violations } = readMask(message, text, undefined, {});
  assert.equal(violations.length, limits.violationsMax);
  assert.match(violations[0]?.description ?? "", /"k0"/);
});

test("unreadable fields are reported first and only once; if they fill the response, nothing else is validated", () => {
  const { method: list, field } = spots.find(({ field: each, within }) => each.kind === "string" && within === undefined) ?? assert.fail();
  const { name, json } = field;
  const unread = [{ field: `${name}[1]`, description: "must be a string" }];
  const found = violationsOf(list, { [json]: [wrong, wrong, wrong] }, unread).filter(({ field: at }) => at.startsWith(name));
  assert.deepEqual(
    found.map(({ field: at }) => at),
    [`${name}[1]`, `${name}[0]`, `${name}[2]`],
  );
  const { list: unseen, looks } = watched(wrong);
  const many = Array.from({ length: limits.violationsMax }, (_, index) => ({ field: `k${index}`, description: "unknown field" }));
  assert.deepEqual(violationsOf(list, { [json]: unseen }, many), many);
  assert.equal(looks(), 0);
});
