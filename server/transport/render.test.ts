import assert from "node:assert/strict";
import { test } from "node:test";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { fromBinary } from "@bufbuild/protobuf";
import { blocked, type Code, codes, denied, Fault, internal, invalid, missing, quotaExceeded, throttled, unauthenticated } from "#base/fault.ts";
import { registry } from "#contract/descriptors.ts";
import { StatusSchema } from "#contract/gen/google/rpc/status_pb.js";
import { errorTrailers } from "./grpc-errors.ts";
import { domainOfPath, errorBody, errorHeaders, httpStatusOf, logFault, oauthError } from "./render.ts";

const context = { domain: "iam", serviceDomain: "example.com", requestId: "r1" };
const info = (reason: string) => ({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "iam.example.com" });

test("an invalid name has exactly the error of the requirement", () => {
  const fault = invalid([{ field: "name", description: 'name must match "^[a-z0-9 ._-]{1,}$"' }]);
  assert.equal(
    errorBody(fault, context),
    '{"code":3,"message":"Invalid argument: name: name must match \\"^[a-z0-9 ._-]{1,}$\\"","details":[' +
      '{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_ARGUMENT","domain":"iam.example.com"},' +
      '{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"name","description":"name must match \\"^[a-z0-9 ._-]{1,}$\\""}]}]}',
  );
  assert.equal(httpStatusOf(fault), 400);
});

test("a blocked deletion has a PreconditionFailure, without an empty subject", () => {
  const body = JSON.parse(errorBody(blocked("RESOURCE_NOT_EMPTY", "", ["group has repos"]), context));
  assert.deepEqual(body, {
    code: 9,
    message: "Precondition failed: group has repos",
    details: [
      info("FAILED_PRECONDITION"),
      { "@type": "type.googleapis.com/google.rpc.PreconditionFailure", violations: [{ type: "RESOURCE_NOT_EMPTY", description: "group has repos" }] },
    ],
  });
});

test("a missing resource is named by type and name", () => {
  const body = JSON.parse(errorBody(missing("iam", "Group", "abc"), context));
  assert.deepEqual(body.details, [
    info("NOT_FOUND"),
    { "@type": "type.googleapis.com/google.rpc.ResourceInfo", resourceType: "iam.example.com/Group", resourceName: "abc" },
  ]);
});

test("a rate limit has RetryInfo, Retry-After and RateLimit; a quota has its name and no retry advice", () => {
  const busy = throttled("too many", { name: "organization-reads", quota: 8, retryMs: 1500 });
  assert.deepEqual(JSON.parse(errorBody(busy, context)).details, [
    { ...info("RATE_LIMIT_EXCEEDED"), metadata: { limit: "organization-reads", quota: "8" } },
    { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1.500s" },
  ]);
  assert.equal(httpStatusOf(busy), 429);
  assert.deepEqual(busy.headers, {
    "retry-after": "2",
    "ratelimit-policy": '"organization-reads";q=8;qu="concurrent-requests"',
    ratelimit: '"organization-reads";r=0;t=2',
  });
  assert.equal(throttled("", { name: "a", quota: 600, windowMs: 60_000, retryMs: 1 }).headers["ratelimit-policy"], '"a";q=600;w=60');
  const full = quotaExceeded("too many repos", "repos", "at most 3");
  assert.deepEqual(JSON.parse(errorBody(full, context)).details, [
    info("QUOTA_EXCEEDED"),
    { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ subject: "repos", description: "at most 3" }] },
  ]);
  assert.deepEqual(full.headers, {});
  const packed = fromBinary(StatusSchema, Buffer.from(String(errorTrailers(busy, context)["grpc-status-details-bin"]), "base64"));
  const [, retry] = packed.details.map((detail) => anyUnpack(detail, registry));
  assert.equal(retry?.$typeName, "google.rpc.RetryInfo");
});

test("a specific reason replaces the code's name and adds its metadata", () => {
  const fault = new Fault("FAILED_PRECONDITION", "no", { details: [{ kind: "reason", reason: "TERMS", metadata: { a: "b" } }] });
  assert.deepEqual(JSON.parse(errorBody(fault, context)).details, [{ ...info("TERMS"), metadata: { a: "b" } }]);
});

test("every code has an HTTP error status, which a fault can override", () => {
  for (const code of Object.keys(codes) as Code[]) {
    const status = httpStatusOf(new Fault(code, ""));
    assert.ok(status >= 400 && status < 600, code);
  }
  assert.equal(httpStatusOf(new Fault("ABORTED", "", { httpStatus: 412 })), 412);
});

test("401 always has one challenge", () => {
  assert.deepEqual(errorHeaders(unauthenticated("no")), ["www-authenticate", "Bearer"]);
  assert.deepEqual(errorHeaders(new Fault("UNAUTHENTICATED", "no")), ["www-authenticate", "Bearer"]);
});

test("the cause of an internal error is logged with the request ID and never returned", () => {
  const fault = internal(new Error("password=hunter2"));
  const lines: unknown[] = [];
  logFault((event, facts) => lines.push({ event, ...facts }), fault, context, "GET /x");
  assert.match(JSON.stringify(lines.map((line) => String((line as { cause: Error }).cause.message))), /hunter2/);
  const shown =
    errorBody(fault, context) +
    JSON.stringify(errorTrailers(fault, context)) +
    Buffer.from(String(errorTrailers(fault, context)["grpc-status-details-bin"]), "base64").toString("latin1");
  assert.doesNotMatch(shown, /hunter2|stack|Error:/);
  assert.match(errorBody(fault, context), /"requestId":"r1"/);
});

test("gRPC errors have the same details as REST", () => {
  const fault = new Fault("INVALID_ARGUMENT", "Ungültig: 100% \n", {
    details: [
      { kind: "fields", violations: [{ field: "a", description: "b" }] },
      { kind: "resource", domain: "iam", resource: "Group", name: "g" },
    ],
  });
  const trailers = errorTrailers(fault, context);
  assert.equal(trailers["grpc-status"], 3);
  assert.equal(trailers["grpc-message"], "Ung%C3%BCltig: 100%25 %0A");
  const bin = String(trailers["grpc-status-details-bin"]);
  assert.doesNotMatch(bin, /=/);
  const status = fromBinary(StatusSchema, Buffer.from(bin, "base64"));
  assert.equal(status.message, "Ungültig: 100% \n");
  assert.deepEqual(
    status.details.map((detail) => anyUnpack(detail, registry)?.$typeName),
    ["google.rpc.ErrorInfo", "google.rpc.BadRequest", "google.rpc.ResourceInfo"],
  );
});

test("trailers fit every client, whatever the details", () => {
  const violations = Array.from({ length: 10_000 }, (_, index) => ({ field: `field${index}`, description: "unknown field" }));
  const long = new Fault("INVALID_ARGUMENT", "ü".repeat(100_000), {
    details: [
      { kind: "fields", violations },
      { kind: "precondition", violations: [{ type: "x".repeat(9000), subject: "", description: "" }] },
    ],
  });
  const size = Object.entries(errorTrailers(long, context)).reduce((sum, [name, value]) => sum + name.length + String(value).length + 32, 0);
  assert.ok(size < 8 * 1024, String(size));
  const status = fromBinary(StatusSchema, Buffer.from(String(errorTrailers(long, context)["grpc-status-details-bin"]), "base64"));
  assert.equal(status.details[0] && anyUnpack(status.details[0], registry)?.$typeName, "google.rpc.ErrorInfo");
});

test("an unknown path belongs to the domain of its first segment, or to the platform", () => {
  assert.equal(domainOfPath("/registry/v2/nothing"), "registry");
  assert.equal(domainOfPath("/iam"), "iam");
  assert.equal(domainOfPath("/nothing/iam"), "platform");
  assert.equal(domainOfPath(""), "platform");
});

test("errors of the token endpoint follow RFC 6749 and RFC 8693", () => {
  assert.deepEqual(oauthError(unauthenticated("expired")), { status: 400, body: '{"error":"invalid_request","error_description":"expired"}' });
  assert.equal(oauthError(denied("no")).status, 400);
  assert.deepEqual(
    JSON.parse(oauthError(new Fault("INVALID_ARGUMENT", "aud", { details: [{ kind: "reason", reason: "invalid_target" }] })).body).error,
    "invalid_target",
  );
  assert.deepEqual(oauthError(internal("x")), { status: 500, body: '{"error":"server_error","error_description":"internal error"}' });
  assert.equal(oauthError(new Fault("UNIMPLEMENTED", "grant")).status, 400);
});
