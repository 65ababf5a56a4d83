// Errors from responses of the server, of proxies, and of servers without this API.

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { codes } from "#base/codes.ts";
import { type ApiError, errorOfHttp, type HttpRefusal, serverReasons } from "./error.ts";

const root = join(import.meta.dirname, "..");
const nowMs = Date.parse("2026-01-31T08:00:00Z");
const from = (refusal: Partial<HttpRefusal>): ApiError => errorOfHttp({ status: 400, headers: {}, body: undefined, nowMs, ...refusal });

test("an error of the server keeps its code, reason, all violations, retry delay and request ID", () => {
  const violations = [
    { field: "name", description: "is required" },
    { field: "claimMatch.issuer", description: "must be an address" },
  ];
  const error = from({
    headers: { "x-request-id": "abc", "retry-after": "7" },
    body: {
      code: 8,
      message: "not now",
      details: [
        { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "RATE_LIMIT_EXCEEDED", domain: "iam.example", metadata: { limit: "requests" } },
        { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: violations },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1.500s" },
      ],
    },
  });
  assert.deepEqual(
    [error.code, error.reason, error.message, error.requestId, error.retryDelayMs],
    ["RESOURCE_EXHAUSTED", "RATE_LIMIT_EXCEEDED", "not now", "abc", 1500],
  );
  assert.ok(error.is("RATE_LIMIT_EXCEEDED") && error instanceof Error);
  assert.deepEqual(error.violations, violations);
  assert.deepEqual({ ...error.metadata }, { limit: "requests" });
  assert.deepEqual(
    error.detailsOf("google.rpc.BadRequest").map(({ fieldViolations }) => fieldViolations),
    [violations],
  );
  assert.deepEqual(error.detailsOf("google.rpc.QuotaFailure"), []);
});

test("without ErrorInfo the reason is the code's name; unknown numbers become UNKNOWN", () => {
  for (const [name, code] of Object.entries(codes)) assert.equal(from({ body: { code, message: "m" } }).reason, name);
  for (const code of [0, 17, -1, 1.5]) assert.equal(from({ body: { code, message: "m" } }).code, "UNKNOWN");
});

test("a response from another server is reported as such, with the code of its HTTP status", () => {
  const expected: readonly (readonly [number, string, string])[] = [
    [502, "UNAVAILABLE", "NOT_GANTRY"],
    [503, "UNAVAILABLE", "NOT_GANTRY"],
    [504, "UNAVAILABLE", "NOT_GANTRY"],
    [401, "UNAUTHENTICATED", "NOT_GANTRY"],
    [404, "NOT_FOUND", "NOT_GANTRY"],
    [200, "UNKNOWN", "NOT_GANTRY"],
    [302, "UNKNOWN", "REDIRECTED"],
    [0, "UNKNOWN", "REDIRECTED"],
  ];
  for (const [status, code, reason] of expected) {
    for (const body of [undefined, "text", [], { error: "invalid_request" }, { code: "3", message: "m" }]) {
      const error = from({ status, body });
      assert.deepEqual([error.code, error.reason, error.httpStatus], [code, reason, status]);
    }
  }
});

test("Retry-After is seconds or a date; anything else is ignored", () => {
  const told = (value: string): number | undefined => from({ headers: { "retry-after": value } }).retryDelayMs;
  assert.equal(told("3"), 3000);
  assert.equal(told("Sat, 31 Jan 2026 08:00:05 GMT"), 5000);
  assert.equal(told("Sat, 31 Jan 2026 07:00:00 GMT"), 0);
  for (const wrong of ["soon", "-1", "1e9999", ""]) assert.equal(told(wrong), undefined, wrong);
});

test("the reasons documented for programs are exactly those of the server", () => {
  const found = globSync("{server,base}/**/*.ts", { cwd: root })
    .filter((path) => !path.endsWith(".test.ts"))
    .flatMap((path) => [...readFileSync(join(root, path), "utf8").matchAll(/\breason: "([A-Z][A-Z_]+)"/g)].map(([, reason]) => reason));
  // Problems of image layers have reasons of their own.
  const problems = readFileSync(join(root, "server/registry/contents/problem.ts"), "utf8");
  assert.deepEqual([...new Set(found)].filter((reason) => !problems.includes(`| "${reason}"`)).sort(), [...serverReasons].sort());
});
