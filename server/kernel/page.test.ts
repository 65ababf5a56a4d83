import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "#base/fault.ts";
import type { Json, JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { vaultOf } from "#db";
import { type Position, queryOf, readPageToken, writePageToken } from "./page.ts";
import { pageSizeOf } from "./paging.ts";
import { fc } from "../../test/property.ts";

const seal = vaultOf(new Uint8Array(32).fill(7));
const nowMs = Date.UTC(2026, 10, 20);

const position: fc.Arbitrary<Position> = fc.record(
  { key: fc.array(fc.string({ unit: "binary" }).filter((text) => text.isWellFormed())), total: fc.nat() },
  { noNullPrototype: true },
);

const refusedOn = (read: () => unknown): void => {
  assert.throws(read, (thrown: unknown) => {
    assert.ok(thrown instanceof Fault && thrown.code === "INVALID_ARGUMENT");
    assert.deepEqual(
      thrown.details.flatMap((detail) => (detail.kind === "fields" ? detail.violations.map(({ field }) => field) : [])),
      ["page_token"],
    );
    return true;
  });
};

test("a page token returns the position sealed in it for three days, then expires", () => {
  fc.assert(
    fc.property(position, fc.integer({ min: 0, max: limits.pageTokenLifetimeMs }), (at, age) => {
      const query = queryOf("caller", "method", {});
      const token = writePageToken(seal, query, at, nowMs);
      assert.match(token, /^[A-Za-z0-9_-]+$/);
      assert.deepEqual(readPageToken(seal, query, token, nowMs + age), at);
      assert.equal(readPageToken(seal, query, token, nowMs + limits.pageTokenLifetimeMs + 1 + age), "expired");
    }),
  );
});

test("a page token with any character changed, removed or added is rejected", () => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/ ";
  fc.assert(
    fc.property(position, fc.nat(), fc.constantFrom(...alphabet), fc.constantFrom("replace", "insert", "remove"), (at, place, character, how) => {
      const token = writePageToken(seal, "query", at, nowMs);
      const index = place % token.length;
      const forged = token.slice(0, index) + (how === "remove" ? "" : character) + token.slice(how === "insert" ? index : index + 1);
      if (forged !== token) refusedOn(() => readPageToken(seal, "query", forged, nowMs));
    }),
  );
  fc.assert(fc.property(fc.string(), (text) => refusedOn(() => readPageToken(seal, "query", text, nowMs))));
});

test("a page token with any bit flipped is rejected", () => {
  const token = writePageToken(seal, "query", { key: ["v", "u"], total: 3 }, nowMs);
  const bytes = Buffer.from(token, "base64url");
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    refusedOn(() => readPageToken(seal, "query", changed.toString("base64url"), nowMs));
  }
});

test("a page token of another key or another purpose is rejected", () => {
  const token = writePageToken(vaultOf(new Uint8Array(32).fill(8)), "query", { key: ["v", "u"], total: 3 }, nowMs);
  refusedOn(() => readPageToken(seal, "query", token, nowMs));
  refusedOn(() => readPageToken(seal, "query", seal.seal("client secret", JSON.stringify(["query", nowMs, ["v", "u"], 3]), []), nowMs));
});

const request = fc.dictionary(
  fc.constantFrom("uidp", "name", "orderBy", "relationshipType"),
  fc.oneof(fc.string(), fc.boolean(), fc.dictionary(fc.constantFrom("childrenOf", "ids", "inRoot"), fc.oneof(fc.string(), fc.array(fc.string())))),
) as fc.Arbitrary<JsonObject>;

/** The same value with its keys reversed. */
const turned = (value: Json): Json =>
  Array.isArray(value)
    ? value.map(turned)
    : typeof value === "object" && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .reverse()
            .map(([key, entry]) => [key, turned(entry)]),
        )
      : value;

test("a page token is bound to caller, operation and query; page size, skip, the token itself and key order do not matter", () => {
  fc.assert(
    fc.property(request, request, fc.string(), fc.string(), (one, other, caller, another) => {
      const query = queryOf(caller, "m", one);
      assert.equal(queryOf(caller, "m", { ...(turned(one) as JsonObject), pageSize: 7, skip: 3, pageToken: "x" }), query);
      assert.equal(queryOf(another, "m", one) === query, another === caller);
      assert.notEqual(queryOf(caller, "n", one), query);
      assert.equal(queryOf(caller, "m", other) === query, JSON.stringify(sorted(one)) === JSON.stringify(sorted(other)));
    }),
  );
  const token = writePageToken(seal, queryOf("a", "m", {}), { key: ["v", "u"], total: 3 }, nowMs);
  for (const query of [queryOf("b", "m", {}), queryOf("a", "n", {}), queryOf("a", "m", { name: "x" })]) {
    refusedOn(() => readPageToken(seal, query, token, nowMs));
    // An expired token of another caller is rejected too: it does not restart a list.
    refusedOn(() => readPageToken(seal, query, token, nowMs + 2 * limits.pageTokenLifetimeMs));
  }
});

const sorted = (value: Json): Json =>
  Array.isArray(value)
    ? value.map(sorted)
    : typeof value === "object" && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .sort(([one], [other]) => (one < other ? -1 : 1))
            .map(([key, entry]) => [key, sorted(entry)]),
        )
      : value;

test("adjacent texts of a query are not confused with each other", () => {
  assert.notEqual(queryOf("ab", "c", {}), queryOf("a", "bc", {}));
  assert.notEqual(queryOf("a", "m", { name: 'x","orderBy":"y' }), queryOf("a", "m", { name: "x", orderBy: "y" }));
});

test("attack 13: a page has at most 200 rows, whatever page size is requested", () => {
  assert.deepEqual(
    [0, 1, 200, 201, 2_147_483_647].map((pageSize) => pageSizeOf({ pageSize })),
    [50, 1, 200, 200, 200],
  );
});
