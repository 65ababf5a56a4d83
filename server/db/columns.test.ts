// Conversion of rows to named fields.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  columns,
  expression,
  flag,
  json,
  nullableObject,
  nullableText,
  nullableTextList,
  nullableTimeMs,
  number,
  text,
  textList,
  textMap,
  time,
  timeMs,
} from "./columns.ts";

const every = columns({
  identityUid: text,
  sink: nullableText,
  enabled: flag,
  attempts: number,
  data: json,
  groups: textList,
  act: textMap,
  expireTimeMs: nullableTimeMs("expire_time"),
  createTimeMs: timeMs("event.create_time"),
  updateTime: time("update_time"),
  total: expression("count(*)", number),
});

test("a field maps to the column of its name in snake_case, or to its expression", () => {
  assert.equal(columns({ identityUid: text, total: expression("count(*)", number) }).list, "identity_uid, count(*)");
  assert.equal(columns({ identityUid: text, total: expression("count(*)", number) }).listOf("held"), "held.identity_uid, count(*)");
});

test("each column's text becomes its field's value, also after an offset", () => {
  const row = ["uid", "https://sink", "t", "3", '{"a":1}', '["x","y"]', '{"iss":"i"}', "1500", "1000", "2026-11-22T00:00:00.000Z", "7"];
  const fields = {
    identityUid: "uid",
    sink: "https://sink",
    enabled: true,
    attempts: 3,
    data: { a: 1 },
    groups: ["x", "y"],
    act: { iss: "i" },
    expireTimeMs: 1500,
    createTimeMs: 1000,
    updateTime: "2026-11-22T00:00:00.000Z",
    total: 7,
  };
  assert.deepEqual(every.read(row), fields);
  assert.deepEqual(every.read(["version", ...row], 1), fields);
});

test("NULL reads as the empty text, list or flag, and as undefined for a nullable column", () => {
  const empty = every.read([]);
  assert.deepEqual(empty, {
    identityUid: "",
    sink: undefined,
    enabled: false,
    attempts: 0,
    data: null,
    groups: [],
    act: {},
    expireTimeMs: undefined,
    createTimeMs: 0,
    updateTime: "",
    total: 0,
  });
});

test("a nullable object or list reads as undefined for NULL, and a nullable object also for any other value", () => {
  const wanted = columns({ act: nullableObject, scopes: nullableTextList });
  assert.deepEqual(wanted.read(['{"iss":"x"}', '["a"]']), { act: { iss: "x" }, scopes: ["a"] });
  assert.deepEqual(wanted.read([null, null]), { act: undefined, scopes: undefined });
  assert.deepEqual(wanted.read(["[1]", "[]"]), { act: undefined, scopes: [] });
});
