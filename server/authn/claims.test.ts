// Claim matching, by tables and against a naive implementation.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json, JsonObject } from "#base/json.ts";
import { claimMismatch, staticKeysMismatch } from "./claims.ts";
import type { Token } from "./token.ts";
import { fc, runs } from "../../test/property.ts";

const accepted: ReadonlySet<string> = new Set(["gantry.example", "https://gantry.example"]);
const tokenOf = (claims: JsonObject): Token => ({
  text: "",
  isForRegistry: false,
  algorithm: "RS256",
  kid: undefined,
  expireTimeMs: 0,
  claims,
  issuer: String(claims.iss),
  subject: String(claims.sub),
  audience: ([claims.aud ?? []].flat() as Json[]).map(String),
});

const base = { issuer: "https://ci.example", subject: "s" };
const good = { iss: "https://ci.example", sub: "s", aud: "gantry.example" };

const table: readonly [string, JsonObject, JsonObject, string | undefined][] = [
  ["literals that are equal fit", base, good, undefined],
  ["a trailing slash is another issuer", base, { ...good, iss: "https://ci.example/" }, "iss"],
  ["case is another issuer", base, { ...good, iss: "https://CI.example" }, "iss"],
  ["http is another issuer", base, { ...good, iss: "http://ci.example" }, "iss"],
  ["attack 17: a prefix is another issuer", base, { ...good, iss: "https://ci.example@evil.example" }, "iss"],
  ["attack 17: a longer host is another issuer", base, { ...good, iss: "https://ci.example.evil.example" }, "iss"],
  ["Google has two spellings", { ...base, issuer: "accounts.google.com" }, { ...good, iss: "https://accounts.google.com" }, undefined],
  ["Google has two spellings, the other way", { ...base, issuer: "https://accounts.google.com" }, { ...good, iss: "accounts.google.com" }, undefined],
  ["Google with a path is somebody else", { ...base, issuer: "accounts.google.com" }, { ...good, iss: "https://accounts.google.com/x" }, "iss"],
  ["an identity without an issuer fits nobody", { subject: "s" }, good, "iss"],
  ["an identity without a subject fits nobody", { issuer: base.issuer }, good, "sub"],
  ["nothing at all fits nobody", {}, good, "iss"],
  ["a literal is no pattern", { ...base, subject: "." }, good, "sub"],
  ["a pattern matches the whole subject", { issuer: base.issuer, subjectPattern: "s" }, { ...good, sub: "ss" }, "sub"],
  ["alternatives are anchored together", { issuer: base.issuer, subjectPattern: "a|s" }, { ...good, sub: "sb" }, "sub"],
  ["a pattern with its own anchors", { issuer: base.issuer, subjectPattern: "^s.*$" }, { ...good, sub: "stu" }, undefined],
  [
    "attack 17: an issuer pattern covers all of it",
    { ...base, issuer: "", issuerPattern: "https://ci\\.example" },
    { ...good, iss: "https://ci.example.evil" },
    "iss",
  ],
  ["a line break does not end a pattern", { issuer: base.issuer, subjectPattern: "(?m)^s$" }, { ...good, sub: "s\nt" }, "sub"],
  ["a pattern that is none fits nobody", { issuer: base.issuer, subjectPattern: "(" }, { ...good, sub: "(" }, "sub"],
  ["literal and pattern, which the contract forbids, must both hold", { ...base, subjectPattern: "t" }, good, "sub"],
  ["no audience demanded: ours", base, { ...good, aud: ["x", "https://gantry.example"] }, undefined],
  ["no audience demanded: not another's", base, { ...good, aud: "x" }, "aud"],
  ["an audience demanded replaces ours", { ...base, audience: "x" }, good, "aud"],
  ["an audience demanded is enough", { ...base, audience: "x" }, { ...good, aud: ["y", "x"] }, undefined],
  ["an audience pattern", { ...base, audiencePattern: "x.*" }, { ...good, aud: ["y", "xyz"] }, undefined],
  ["no audience fits no pattern", { ...base, audiencePattern: ".*" }, { iss: good.iss, sub: "s" }, "aud"],
  ["a claim that is missing", { ...base, claims: { team: "a" } }, good, "team"],
  ["a claim's number", { ...base, claims: { n: "1" } }, { ...good, n: 1 }, undefined],
  ["a claim's truth", { ...base, claims: { n: "true" } }, { ...good, n: true }, undefined],
  ["a null is no value", { ...base, claims: { n: "null" } }, { ...good, n: null }, "n"],
  ["an object is no value", { ...base, claimPatterns: { n: ".*" } }, { ...good, n: {} }, "n"],
  ["an entry of a list", { ...base, claims: { n: "b" } }, { ...good, n: ["a", "b"] }, undefined],
  ["a list in a list is no value", { ...base, claims: { n: "b" } }, { ...good, n: [["b"]] }, "n"],
  ["a list is not its text", { ...base, claims: { n: "a,b" } }, { ...good, n: ["a", "b"] }, "n"],
  ["an empty demand is met by an empty claim only", { ...base, claims: { n: "" } }, { ...good, n: "" }, undefined],
  ["an empty demand is not met by a missing claim", { ...base, claims: { n: "" } }, good, "n"],
  ["both on one claim must hold", { ...base, claims: { n: "ab" }, claimPatterns: { n: "b.*" } }, { ...good, n: "ab" }, "n"],
  ["both on one claim may be met by different entries", { ...base, claims: { n: "a" }, claimPatterns: { n: "b" } }, { ...good, n: ["a", "b"] }, undefined],
  ["attack 30: what a prototype has is no claim", { ...base, claimPatterns: { toString: ".*" } }, good, "toString"],
  ["a demand that is no text holds for nobody", { ...base, claimPatterns: { n: 1 } }, { ...good, n: "1" }, "n"],
];
for (const [title, match, claims, wrong] of table) test(title, () => assert.equal(claimMismatch(match, tokenOf(claims), accepted)?.claim, wrong));

const keys = { issuer: "https://ci.example", subject: "s", audiences: [] as string[] };
test("static keys require the exact issuer and subject, and a listed audience or this server's", () => {
  assert.equal(staticKeysMismatch(keys, tokenOf(good), accepted), undefined);
  assert.equal(staticKeysMismatch(keys, tokenOf({ ...good, iss: "https://ci.example/" }), accepted)?.claim, "iss");
  assert.equal(staticKeysMismatch(keys, tokenOf({ ...good, sub: "S" }), accepted)?.claim, "sub");
  assert.equal(staticKeysMismatch(keys, tokenOf({ ...good, aud: "x" }), accepted)?.claim, "aud");
  assert.equal(staticKeysMismatch({ ...keys, audiences: ["x"] }, tokenOf(good), accepted)?.claim, "aud");
  assert.equal(staticKeysMismatch({ ...keys, audiences: ["x"] }, tokenOf({ ...good, aud: ["x"] }), accepted), undefined);
});

// A naive implementation of the rules. JavaScript's regular expressions replace RE2 where both agree.
const slow = (match: JsonObject, claims: JsonObject): string | undefined => {
  const whole = (pattern: string, value: string): boolean => new RegExp(`^(?:${pattern})$`).test(value);
  const values = (value: Json | undefined): string[] =>
    Array.isArray(value) ? value.map(String) : value === undefined || value === null ? [] : [String(value)];
  const held = (literal: Json | undefined, pattern: Json | undefined, all: string[]): boolean =>
    literal ? all.includes(String(literal)) : pattern ? all.some((value) => whole(String(pattern), value)) : false;
  if (!held(match.issuer, match.issuerPattern, values(claims.iss))) return "iss";
  if (!held(match.subject, match.subjectPattern, values(claims.sub))) return "sub";
  const free = !match.audience && !match.audiencePattern;
  const audience = values(claims.aud);
  if (free ? !audience.some((one) => accepted.has(one)) : !held(match.audience, match.audiencePattern, audience)) return "aud";
  for (const [name, literal] of Object.entries((match.claims ?? {}) as JsonObject)) if (!values(claims[name]).includes(String(literal))) return name;
  for (const [name, pattern] of Object.entries((match.claimPatterns ?? {}) as JsonObject))
    if (!values(claims[name]).some((value) => whole(String(pattern), value))) return name;
  return undefined;
};

test("claim matching equals a naive implementation, over random identities and tokens", () => {
  const word = fc.constantFrom("a", "b", "ab", "aab", "gantry.example");
  const pattern = fc.constantFrom("a", "a|b", "a*b", ".*", "[ab]+", "^a.$", "(a|b)(b)?", "gantry\\..*");
  const value = fc.oneof(word, fc.array(word, { maxLength: 3 }), fc.boolean(), fc.integer({ min: 0, max: 2 }));
  const name = fc.constantFrom("n", "m");
  const either = (literal: string): fc.Arbitrary<JsonObject> =>
    fc.oneof(
      word.map((one) => ({ [literal]: one })),
      pattern.map((one) => ({ [`${literal}Pattern`]: one })),
    );
  const match = fc
    .tuple(
      either("issuer"),
      either("subject"),
      fc.oneof(fc.constant({}), either("audience")),
      fc.record({ claims: fc.dictionary(name, fc.oneof(word, fc.constantFrom("true", "1")), { maxKeys: 2 }) }),
      fc.record({ claimPatterns: fc.dictionary(name, pattern, { maxKeys: 2 }) }),
    )
    .map((parts): JsonObject => Object.assign({}, ...parts) as JsonObject);
  const claims = fc.record(
    { iss: word, sub: word, aud: fc.oneof(word, fc.array(word, { maxLength: 3 })), n: value, m: value },
    { requiredKeys: ["iss", "sub", "aud"] },
  ) as fc.Arbitrary<JsonObject>;
  let fits = 0;
  fc.assert(
    fc.property(match, claims, (demanded, said) => {
      const answer = claimMismatch(demanded, tokenOf(said), accepted)?.claim;
      if (answer === undefined) fits++;
      assert.equal(answer, slow(demanded, said));
    }),
    { numRuns: runs(5_000) },
  );
  assert.ok(fits > 20, "the property looked at matches too");
});

test("attack 37: matching a token has a budget: two hundred groups fit, a hundred thousand characters do not", () => {
  const match = { ...base, claimPatterns: { groups: "[0-9a-f]{8}-last(?:-[a-z]{0,8})?" } };
  const group = (index: number): string => `${String(index).padStart(8, "0")}-0000-0000-0000-000000000000`;
  const others = Array.from({ length: 199 }, (_, index) => group(index));
  assert.equal(claimMismatch(match, tokenOf({ ...good, groups: [...others, "00000000-last"] }), accepted), undefined);
  const many = Array.from({ length: 2_500 }, (_, index) => group(index));
  assert.equal(claimMismatch(match, tokenOf({ ...good, groups: [...many, "00000000-last"] }), accepted)?.claim, "groups");
  // All patterns of an identity share the budget.
  const dear = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`c${index}`, `(?:.?){${100 + index}}`]));
  const claims = Object.fromEntries(Object.keys(dear).map((name) => [name, "a".repeat(100)]));
  assert.equal(claimMismatch({ ...base, claimPatterns: { c0: dear.c0 ?? "" } }, tokenOf({ ...good, ...claims }), accepted), undefined);
  assert.match(claimMismatch({ ...base, claimPatterns: dear }, tokenOf({ ...good, ...claims }), accepted)?.claim ?? "", /^c\d+$/);
});
