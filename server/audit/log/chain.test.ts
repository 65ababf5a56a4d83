import assert from "node:assert/strict";
import { test } from "node:test";
import { type Entry, hashEntry } from "./chain.ts";

const entry: Entry = {
  uid: "a",
  sequence: 7,
  createTime: "2026-11-20T00:00:00.000Z",
  sealTime: "2026-11-20T00:00:01.000Z",
  callerUid: "b",
  act: { iss: "c", sub: "d" },
  operation: "e",
  subject: "f",
  type: "g",
  code: "OK",
  count: 1,
  bindingUids: ["h", "i"],
  remoteAddress: "192.0.2.1",
  userAgent: "j",
  requestId: "k",
  eventId: "l",
  resourceUids: ["m", "n"],
};
const hash = hashEntry("before", entry);

const others: { readonly [Name in keyof Entry]: readonly Entry[Name][] } = {
  uid: ["", "A"],
  sequence: [8, -7],
  createTime: ["2026-11-20T00:00:00.001Z"],
  sealTime: ["2026-11-20T00:00:01.001Z"],
  callerUid: [""],
  act: [{}, { iss: "c" }, { iss: "d", sub: "c" }, { iss: "c", sub: "d", aud: "" }, { 'iss","c': "", sub: "d" }],
  operation: [""],
  subject: [""],
  type: [""],
  code: ["PERMISSION_DENIED"],
  count: [2],
  bindingUids: [[], ["h"], ["i", "h"], ["hi"], ["h,i"], ["h", "i", ""]],
  remoteAddress: ["192.0.2.2"],
  userAgent: [""],
  requestId: [""],
  eventId: [""],
  resourceUids: [[], ["m"], ["n", "m"], ["mn"], ["m,n"], ["m", "n", ""]],
};

for (const name of Object.keys(others) as (keyof Entry)[]) {
  test(`the hash depends on ${name}`, () => {
    for (const value of others[name]) assert.notEqual(hashEntry("before", { ...entry, [name]: value }), hash, JSON.stringify(value));
  });
}

test("the hash depends on the previous one, and is 64 hexadecimal digits", () => {
  assert.match(hash, /^[0-9a-f]{64}$/);
  for (const before of ["", "Before", "before\n"]) assert.notEqual(hashEntry(before, entry), hash);
});

test("the hash changes if a UID moves from one list to another", () => {
  assert.notEqual(hashEntry("before", { ...entry, bindingUids: ["h", "i", "m"], resourceUids: ["n"] }), hash);
});

test("the hash does not depend on the order of keys in act", () => {
  assert.equal(hashEntry("before", { ...entry, act: { sub: "d", iss: "c" } }), hash);
});

test("the hash distinguishes the boundary between two fields", () => {
  assert.notEqual(hashEntry("", { ...entry, operation: "ab", subject: "c" }), hashEntry("", { ...entry, operation: "a", subject: "bc" }));
  assert.notEqual(hashEntry("", { ...entry, operation: 'a","b' }), hashEntry("", { ...entry, operation: "a", subject: "b" }));
});
