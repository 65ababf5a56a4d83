// The gRPC command line client buf curl, with the server's reflection and with the contract's files.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fromBinary, toJson } from "@bufbuild/protobuf";
import type { JsonObject } from "#base/json.ts";
import { methods, version1 } from "#contract/catalog.ts";
import { registry } from "#contract/descriptors.ts";
import { items } from "../story/protocols.ts";
import { openWorld, type World } from "../world.ts";

const root = join(import.meta.dirname, "..", "..");
let world: World;
let token: string;

before(async () => {
  world = await openWorld();
  token = await world.token();
});
after(() => world?.close());

interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const curl = (path: string, data: JsonObject | undefined, ...more: string[]): Promise<Said> =>
  new Promise((resolve) => {
    const args = ["curl", "--protocol", "grpc", "--http2-prior-knowledge", ...(data ? ["-d", JSON.stringify(data)] : []), ...more, `${world.url}${path}`];
    execFile(join(root, "node_modules", ".bin", "buf"), args, { cwd: root }, (error, out, err) => resolve({ code: Number(error?.code ?? 0), out, err }));
  });

const bearer = (): string[] => ["-H", `Authorization: Bearer ${token}`];

test("reflection lists every service of the contract and its beta package, health and reflection", async () => {
  const { code, out } = await curl("", undefined, "--list-services");
  assert.equal(code, 0);
  const services = [
    ...new Set([...methods, ...version1].flatMap(({ service }) => [service, service.replace(/^(chainguard\.platform\.[a-z]+)\.v2\./, "$1.v2beta1.")])),
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
  ];
  assert.deepEqual(out.trim().split("\n").sort(), services.sort());
});

for (const [how, schema] of [
  ["reflection", []],
  ["the contract's files", ["--schema", "."]],
] as const) {
  test(`Ping needs no token, with ${how}`, async () => {
    const { code, out } = await curl("/chainguard.platform.ping.v2.PingService/Ping", undefined, ...schema);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(out), { response: "pong" });
  });

  test(`ListRoles with the header authorization finds viewer, with ${how}`, async () => {
    const { code, out } = await curl("/chainguard.platform.iam.v2.RolesService/ListRoles", { name: "viewer" }, ...schema, ...bearer());
    assert.equal(code, 0);
    const body = JSON.parse(out) as JsonObject;
    assert.equal(body.totalCount, "1");
    assert.equal(items(body, "roles")[0]?.name, "viewer");
  });

  test(`an error shows its code, its text and its typed details, with ${how}`, async () => {
    const { code, err } = await curl(
      "/chainguard.platform.iam.v2.IdentitiesService/CreateIdentity",
      { parent: world.organization, identity: {} },
      ...schema,
      ...bearer(),
    );
    assert.notEqual(code, 0);
    const error = JSON.parse(err) as JsonObject;
    assert.equal(error.code, "invalid_argument");
    assert.equal(error.message, 'Invalid argument: name: name must match "^[a-z0-9 ._-]{1,}$"');
    const details = items(error, "details").map(({ type, value }) => {
      const known = registry.getMessage(String(type));
      return known ? toJson(known, fromBinary(known, Buffer.from(String(value), "base64"))) : type;
    });
    assert.deepEqual(details, [
      { reason: "INVALID_ARGUMENT", domain: "iam.example.test" },
      { fieldViolations: [{ field: "name", description: 'name must match "^[a-z0-9 ._-]{1,}$"' }] },
    ]);
  });
}

test("reflection describes the beta packages so that their services can be called", async () => {
  const ping = await curl("/chainguard.platform.ping.v2beta1.PingService/Ping", undefined);
  assert.deepEqual([ping.code, JSON.parse(ping.out)], [0, { response: "pong" }]);
  const roles = await curl("/chainguard.platform.iam.v2beta1.RolesService/ListRoles", { name: "viewer", uidp: {} }, ...bearer());
  assert.equal(roles.code, 0, roles.err);
  assert.equal(items(JSON.parse(roles.out) as JsonObject, "roles")[0]?.name, "viewer");
  const made = await curl(
    "/chainguard.platform.iam.v2beta1.GroupsService/CreateGroup",
    { parent: world.organization, group: { name: "made by its beta name" } },
    ...bearer(),
  );
  assert.equal(made.code, 0, made.err);
  // A service without a version 2 uses messages of the beta package.
  const overlay = { name: "tools", config: { contents: { packages: ["curl"] } } };
  const kept = await curl("/chainguard.platform.registry.v2beta1.OverlaysService/CreateOverlay", { parent: world.organization, overlay }, ...bearer());
  assert.equal(kept.code, 0, kept.err);
  assert.deepEqual((JSON.parse(kept.out) as JsonObject).config, overlay.config);
});

test("a request without a token fails with a clear error", async () => {
  const { code, err } = await curl("/chainguard.platform.iam.v2.RolesService/ListRoles", undefined);
  assert.notEqual(code, 0);
  assert.equal((JSON.parse(err) as JsonObject).code, "unauthenticated");
});
