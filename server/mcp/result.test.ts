import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { methodByName } from "#contract/catalog.ts";
import { boundMessage, fittingEntries, seenText, withPageSize } from "./result.ts";

const bytesOf = (message: JsonObject): number => Buffer.byteLength(JSON.stringify(message));

const listGroups = methodByName("chainguard.platform.iam.v2.GroupsService/ListGroups");
const getGroup = methodByName("chainguard.platform.iam.v2.GroupsService/GetGroup");

test("invisible characters are escaped, and letters, line breaks and joiners stay", () => {
  for (const [text, seen] of [
    ["plain\ttext\r\nof two lines", "plain\ttext\r\nof two lines"],
    ["a\u001b[31mb", "a\\u001b[31mb"],
    ["a\u009bb", "a\\u009bb"],
    ["a\u202eb", "a\\u202eb"],
    ["a\u{e0041}b", "a\\ue0041b"],
    ["a\u{e0100}b", "a\\ue0100b"],
    ["a\u00adb\ufeff", "a\\u00adb\\ufeff"],
    ["a\ud800b", "a\\ud800b"],
    ["می‌خواهم 👩‍💻 ❤️ é", "می‌خواهم 👩‍💻 ❤️ é"],
    ["क्‍ष 1️⃣ ❤️‍🔥 👩🏽‍🚀 🏳️‍🌈 ☁︎ श्री‌", "क्‍ष 1️⃣ ❤️‍🔥 👩🏽‍🚀 🏳️‍🌈 ☁︎ श्री‌"],
    // Selectors and joiners without effect, which can hide data.
    ["a\ufe06\ufe04", "a\\ufe06\\ufe04"],
    ["a\ufe0f1\ufe0f", "a\\ufe0f1\\ufe0f"],
    ["❤\ufe0f\ufe0e\ufe0f", "❤\ufe0f\\ufe0e\\ufe0f"],
    ["a\u200c\u200db", "a\\u200c\\u200db"],
    ["م\u200c\u200d\u200c", "م\u200c\\u200d\\u200c"],
    ["👩\u200d\u200d👩", "👩\\u200d\\u200d👩"],
    ["\u200d", "\\u200d"],
    ["a\ufe0f\u200d👩", "a\\ufe0f\\u200d👩"],
    // Fillers are letters and signs by category.
    ["\u3164\u115f\u1160\uffa0\u2800\u034f\u17b4\u180b\u2065", "\\u3164\\u115f\\u1160\\uffa0\\u2800\\u034f\\u17b4\\u180b\\u2065"],
  ] as const)
    assert.equal(seenText(text), seen);
});

test("a response of any size is cut to fit, keeps its shape, and lists the omissions", () => {
  const long = "x".repeat(100_000);
  const hostile: readonly JsonObject[] = [
    { name: "short", count: 1, list: [1, 2, 3] },
    { text: long },
    { list: Array.from({ length: 10_000 }, (_, index) => ({ index, text: "y".repeat(100) })) },
    { map: Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key ${index}`, "value"])) },
    { deep: { deep: { deep: { texts: Array.from({ length: 1_000 }, () => long) } } } },
    Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`field ${index}`, long])),
    { quotes: '"\\'.repeat(50_000), unseen: "\u202e".repeat(50_000) },
  ];
  for (const [index, message] of hostile.entries()) {
    const { message: bounded, leftOut } = boundMessage(message);
    assert.ok(bytesOf(bounded) <= limits.mcpResultBytesMax, Object.keys(message).slice(0, 3).join());
    assert.equal(leftOut.length > 0, index > 0);
    assert.ok(leftOut.length <= limits.mcpNotesMax && leftOut.every((sentence) => sentence.length <= 300));
    for (const key of Object.keys(bounded)) assert.equal(Array.isArray(bounded[key]), Array.isArray(message[key]));
  }
  assert.deepEqual(boundMessage({ name: "short", count: 1 }), { message: { name: "short", count: 1 }, leftOut: [] });
});

test("a page has at most as many entries as a result may have, and fewer if they are long", () => {
  assert.ok(listGroups && getGroup);
  const most = limits.mcpItemsMax;
  for (const [given, size] of [
    [{}, most],
    [{ pageSize: 0 }, most],
    [{ pageSize: 200 }, most],
    [{ page_size: 200 }, most],
    [{ pageSize: 3 }, 3],
    [{ pageSize: -1 }, -1],
    [{ pageSize: "x" }, "x"],
  ] as const)
    assert.deepEqual(withPageSize(listGroups, given), { pageSize: size });
  assert.deepEqual(withPageSize(getGroup, { uid: "x" }), { uid: "x" });
  const pageOf = (count: number, length: number): JsonObject => ({
    groups: Array.from({ length: count }, () => ({ name: "n".repeat(length) })),
    totalCount: "100",
  });
  assert.equal(fittingEntries(listGroups, pageOf(25, 100)), undefined);
  assert.equal(fittingEntries(listGroups, pageOf(1, 100_000)), undefined);
  assert.equal(fittingEntries(listGroups, pageOf(2, 100_000)), 1);
  const fitting = fittingEntries(listGroups, pageOf(25, 1_000)) ?? 0;
  assert.ok(fitting > 15 && bytesOf(pageOf(fitting, 1_000)) <= limits.mcpResultBytesMax && bytesOf(pageOf(fitting + 1, 1_000)) > limits.mcpResultBytesMax);
  assert.equal(fittingEntries(getGroup, pageOf(25, 1_000)), undefined);
});
