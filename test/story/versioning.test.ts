// API versions: v2beta1 is an alias of v2, unserved parts of v1 are known, and other requests get an error about path or verb.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as grpc from "@grpc/grpc-js";
import type { JsonObject } from "#base/json.ts";
import { domains, methods } from "#contract/catalog.ts";
import { restRequest } from "../client.ts";
import { openWorld, type World } from "../world.ts";
import { http, items } from "./protocols.ts";

let world: World;
let token: string;

before(async () => {
  world = await openWorld();
  token = await world.token();
});
after(() => world?.close());

const uid = `${"a".repeat(40)}/${"b".repeat(16)}`;

const paths = methods
  .filter((method) => method.version === "v2" && method.http.length > 0)
  .map((method) => {
    const { verb, path } = restRequest(method, {
      uid,
      parent: uid,
      group: uid,
      repoUid: uid,
      digest: "d",
      identityProviderUid: uid,
      artifactId: "x",
      groupUid: uid,
    });
    return { method, verb, path: path.replace(/\/\/|\/$/g, `/${uid}`) };
  });

const withoutId = (body: JsonObject): JsonObject => ({ ...body, details: items(body, "details").filter((detail) => !("requestId" in detail)) });

test("every path under v2beta1 responds like v2", async () => {
  assert.ok(paths.length > 60);
  for (const { verb, path } of paths) {
    const beta = path.replace("/v2/", "/v2beta1/");
    assert.notEqual(beta, path);
    const body = verb === "GET" || verb === "DELETE" ? {} : { body: "{}" };
    const [one, other] = await Promise.all([http(world.url, verb, path, { token, ...body }), http(world.url, verb, beta, { token, ...body })]);
    assert.equal(other.status, one.status, `${verb} ${beta}`);
    const text = JSON.stringify(withoutId(other.body)).replaceAll("v2beta1", "v2");
    assert.equal(text, JSON.stringify(withoutId(one.body)), `${verb} ${beta}`);
  }
});

const unary = (path: string, bytes = Buffer.alloc(0)): Promise<{ code: number; message: string; reply: Buffer | undefined }> => {
  const client = new grpc.Client(new URL(world.url).host, grpc.credentials.createInsecure());
  const metadata = new grpc.Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      path,
      (sent: Buffer) => sent,
      (got: Buffer) => got,
      bytes,
      metadata,
      (error, reply) => {
        client.close();
        resolve({ code: error?.code ?? 0, message: error?.details ?? "", reply });
      },
    );
  });
};

test("every gRPC method in its v2beta1 package responds like v2", async () => {
  for (const { method } of paths) {
    const beta = method.name.replace(".v2.", ".v2beta1.");
    assert.notEqual(beta, method.name);
    const [one, other] = await Promise.all([unary(`/${method.name}`), unary(`/${beta}`)]);
    assert.deepEqual({ ...other, message: other.message.replaceAll("v2beta1", "v2"), reply: other.reply?.length }, { ...one, reply: one.reply?.length }, beta);
  }
  const roles = await unary("/chainguard.platform.iam.v2beta1.RolesService/ListRoles");
  assert.equal(roles.code, 0);
  assert.ok((roles.reply?.length ?? 0) > 1000);
});

test("a page token of v2 is valid under v2beta1", async () => {
  const first = await http(world.url, "GET", "/iam/v2/roles?page_size=2&order_by=name", { token });
  const next = `page_token=${encodeURIComponent(String(first.body.nextPageToken))}`;
  const [one, other] = await Promise.all(
    ["v2", "v2beta1"].map((version) => http(world.url, "GET", `/iam/${version}/roles?page_size=2&order_by=name&${next}`, { token })),
  );
  assert.deepEqual(other?.body.roles, one?.body.roles);
  assert.equal(items(one?.body ?? {}, "roles").length, 2);
});

test("unserved v1 paths and gRPC methods are known in every domain and return UNIMPLEMENTED", async () => {
  for (const domain of domains) {
    const path = `/${domain}/v1/anything`;
    const { status, body } = await http(world.url, "GET", path, { token });
    assert.equal(status, 501, path);
    assert.deepEqual(body, {
      code: 12,
      message: `version 1 of the API (${path}) is not implemented`,
      details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "UNIMPLEMENTED", domain: `${domain}.example.test` }],
    });
  }
  assert.equal((await unary("/chainguard.platform.registry.Charts/FindChart")).code, 12);
  assert.equal((await unary("/chainguard.platform.iam.v1.Groups/List")).code, 12);
});

test("an unknown path is a 404 and an unknown gRPC method UNIMPLEMENTED, with an error body", async () => {
  for (const path of [
    "/iam",
    "/iam/v2",
    "/iam/v2/",
    "/iam/v3/roles",
    "/iam/v2beta2/roles",
    "/v2beta1/iam/roles",
    "/IAM/v2/roles",
    "/iam/v2/Roles",
    "/iam/v2/role",
    "/registry/v2/repos:frobnicate",
    "//iam/v2/roles",
    "/iam//v2/roles",
  ]) {
    const { status, body, headers } = await http(world.url, "GET", path, { token });
    assert.ok(status === 404 || (status === 400 && path.includes(":")), `${path}: ${status}`);
    assert.equal(headers.get("content-type"), "application/json");
    assert.equal(items(body, "details")[0]?.["@type"], "type.googleapis.com/google.rpc.ErrorInfo", path);
  }
  for (const path of ["/chainguard.platform.iam.v2.GroupsService/Frobnicate", "/chainguard.platform.iam.v3.GroupsService/ListGroups", "/x/y", "/x"])
    assert.equal((await unary(path)).code, 12, path);
});

test("a wrong verb is a 405 with the allowed ones, and code 12", async () => {
  const cases: readonly (readonly [verb: string, path: string, allow: string])[] = [
    ["PUT", "/registry/v2/repos", "DELETE, GET, HEAD, PATCH, POST"],
    ["PUT", `/registry/v2/repos/${uid}`, "DELETE, GET, HEAD, PATCH, POST"],
    ["DELETE", `/registry/v2/repos/${uid}/readme`, "GET, HEAD, PATCH"],
    ["POST", "/ping/v2/ping", "GET, HEAD"],
    ["DELETE", "/iam/v2/identities:lookupIdentity", "GET, HEAD"],
    ["GET", "/iam/v2/roleBindings:batchCreate", "POST"],
    ["DELETE", "/sts/exchange", "GET, HEAD, POST"],
    ["POST", "/healthz", "GET, HEAD"],
    ["POST", "/", "GET, HEAD"],
    ["POST", "/docs", "GET, HEAD"],
    ["GET", "/oauth/token", "POST"],
    ["PATCH", "/.well-known/openid-configuration", "GET, HEAD"],
  ];
  for (const [verb, path, allow] of cases) {
    const { status, headers, body } = await http(world.url, verb, path, { token });
    assert.deepEqual({ status, allow: headers.get("allow"), code: body.code }, { status: 405, allow, code: 12 }, `${verb} ${path}`);
    assert.equal(items(body, "details")[0]?.reason, "UNIMPLEMENTED");
  }
});

test("HEAD responds like GET without a body", async () => {
  const get = await http(world.url, "GET", "/iam/v2/roles?page_size=1&order_by=name", { token });
  const head = await http(world.url, "HEAD", "/iam/v2/roles?page_size=1&order_by=name", { token });
  assert.deepEqual({ status: head.status, text: head.text }, { status: get.status, text: "" });
});

test("every operation of the contract has a handler", () => {
  assert.deepEqual(
    methods.filter(({ name }) => !world.server.application.kernel.answers.has(name)).map(({ name }) => name),
    [],
  );
});

test("v2 sends no deprecation or sunset headers under any name", async () => {
  for (const path of ["/iam/v2/roles", "/iam/v2beta1/roles", "/iam/v1/roles"]) {
    const { headers } = await http(world.url, "GET", path, { token });
    assert.equal(headers.get("deprecation"), null);
    assert.equal(headers.get("sunset"), null);
  }
});
