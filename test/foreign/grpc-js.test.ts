// The gRPC client @grpc/grpc-js: the main flows, once with the compiled contract, and once with server reflection only.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createFileRegistry, type DescMethodUnary, type FileRegistry, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { create } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { registry } from "#contract/descriptors.ts";
import { ServerReflectionRequestSchema, ServerReflectionResponseSchema } from "#contract/gen/grpc/reflection/v1/reflection_pb.js";
import { column } from "../story/protocols.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let client: grpc.Client;
let token: string;

before(async () => {
  world = await openWorld();
  token = await world.token();
  client = new grpc.Client(new URL(world.url).host, grpc.credentials.createInsecure());
});
after(async () => {
  client?.close();
  await world?.close();
});

const metadataOf = (entries: Readonly<Record<string, string>> = {}): grpc.Metadata => {
  const metadata = new grpc.Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  for (const [key, value] of Object.entries(entries)) metadata.set(key, value);
  return metadata;
};

interface Called {
  readonly reply: JsonObject;
  readonly error: grpc.ServiceError | undefined;
}

type Call = (name: string, request: JsonObject, metadata?: grpc.Metadata, options?: grpc.CallOptions) => Promise<Called>;

/** Returns a function that calls any method of a descriptor registry. */
const caller =
  (known: FileRegistry | typeof registry, through: () => grpc.Client = () => client): Call =>
  (name, request, metadata = metadataOf(), options = {}) => {
    const [service = "", rpc] = name.split("/");
    const method = known.getService(service)?.methods.find((each) => each.name === rpc) as DescMethodUnary | undefined;
    if (!method) throw new Error(`no method ${name}`);
    return new Promise((resolve) => {
      through().makeUnaryRequest(
        `/${name}`,
        (message: JsonObject) => Buffer.from(toBinary(method.input, fromJson(method.input, message, { registry: known }))),
        (bytes: Buffer) => toJson(method.output, fromBinary(method.output, bytes), { registry: known }) as JsonObject,
        request,
        metadata,
        options,
        (error, reply) => resolve({ reply: reply ?? {}, error: error ?? undefined }),
      );
    });
  };

/** Returns all files of the contract, fetched by reflection for each service. */
const reflected = (version: "v1" | "v1alpha"): Promise<FileRegistry> =>
  new Promise((resolve, reject) => {
    const files = new Map<string, FileDescriptorProto>();
    const call = client.makeBidiStreamRequest(
      `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      (request: JsonObject) => Buffer.from(toBinary(ServerReflectionRequestSchema, fromJson(ServerReflectionRequestSchema, request))),
      (bytes: Buffer) => fromBinary(ServerReflectionResponseSchema, bytes),
    );
    let awaited = 1;
    call.on("data", ({ messageResponse: { case: kind, value } }: ReturnType<typeof fromBinary<typeof ServerReflectionResponseSchema>>) => {
      awaited--;
      if (kind === "listServicesResponse") {
        for (const { name } of value.service) {
          awaited++;
          call.write({ fileContainingSymbol: name });
        }
      } else if (kind === "fileDescriptorResponse") {
        for (const bytes of value.fileDescriptorProto) {
          const file = fromBinary(FileDescriptorProtoSchema, bytes);
          files.set(file.name, file);
        }
      } else call.emit("error", new Error(`reflection answers ${kind}`));
      if (awaited === 0) call.end();
    });
    call.on("error", reject);
    call.on("end", () => resolve(createFileRegistry(create(FileDescriptorSetSchema, { file: sorted(files) }))));
    call.write({ listServices: "" });
  });

/** Sorts files after their imports. */
const sorted = (files: ReadonlyMap<string, FileDescriptorProto>): FileDescriptorProto[] => {
  const done = new Set<FileDescriptorProto>();
  const add = (name: string): void => {
    const file = files.get(name);
    if (!file || done.has(file)) return;
    file.dependency.forEach(add);
    done.add(file);
  };
  for (const name of files.keys()) add(name);
  return [...done];
};

/** Returns the typed details of an error as JSON. */
const detailsOf = (error: grpc.ServiceError | undefined): JsonObject[] => {
  const schema = registry.getMessage("google.rpc.Status");
  const [packed] = error?.metadata.get("grpc-status-details-bin") ?? [];
  if (!schema || !(packed instanceof Buffer)) return [];
  const { details } = toJson(schema, fromBinary(schema, packed), { registry }) as { details?: Json[] };
  return (details ?? []).filter(isObject);
};

let flowsRun = 0;

const flows = async (call: Call): Promise<void> => {
  const ok = async (name: string, request: JsonObject): Promise<JsonObject> => {
    const { reply, error } = await call(`chainguard.platform.${name}`, request);
    assert.equal(error, undefined, name);
    return reply;
  };
  assert.deepEqual((await call("chainguard.platform.ping.v2.PingService/Ping", {}, new grpc.Metadata())).reply, { response: "pong" });
  const group = String((await ok("iam.v2.GroupsService/CreateGroup", { parent: world.organization, group: { name: `grpc ${++flowsRun}` } })).uid);
  const { roles } = await ok("iam.v2.RolesService/ListRoles", { name: "viewer" });
  const role = String((roles as JsonObject[])[0]?.uid);
  const identity = String(
    (
      await ok("iam.v2.IdentitiesService/CreateIdentity", {
        parent: group,
        identity: { name: "bot", claimMatch: { issuer: "https://issuer.example.com", subject: "s" } },
      })
    ).uid,
  );
  const binding = await ok("iam.v2.RoleBindingsService/CreateRoleBinding", { parent: group, roleBinding: { identityUid: identity, roleUid: role } });
  assert.equal((binding.role as JsonObject).name, "viewer");
  for (const name of ["c", "a", "b"]) await ok("registry.v2.ReposService/CreateRepo", { parent: group, repo: { name, description: name } });
  const names: string[] = [];
  let pageToken = "";
  do {
    const page = await ok("registry.v2.ReposService/ListRepos", { uidp: { childrenOf: group }, pageSize: 2, orderBy: "name desc", pageToken });
    assert.equal(page.totalCount, "3");
    names.push(...column(page, "repos", "name"));
    pageToken = String(page.nextPageToken ?? "");
  } while (pageToken !== "");
  assert.deepEqual(names, ["c", "b", "a"]);
  const { repos } = await ok("registry.v2.ReposService/ListRepos", { uidp: { childrenOf: group }, name: "a" });
  const uid = String((repos as JsonObject[])[0]?.uid);
  const updated = await ok("registry.v2.ReposService/UpdateRepo", { repo: { uid, name: "ignored", description: "" }, updateMask: "description" });
  assert.deepEqual([updated.name, updated.description], ["a", undefined]);
  await ok("registry.v2.TagsService/CreateTag", { parent: uid, tag: { name: "1", digest: `sha256:${"a".repeat(64)}` } });
  const blocked = await call("chainguard.platform.iam.v2.GroupsService/DeleteGroup", { uid: group });
  assert.equal(blocked.error?.code, grpc.status.FAILED_PRECONDITION);
  assert.deepEqual(
    detailsOf(blocked.error).map((detail) => detail["@type"]),
    ["type.googleapis.com/google.rpc.ErrorInfo", "type.googleapis.com/google.rpc.PreconditionFailure"],
  );
  assert.deepEqual(await ok("registry.v2.ReposService/DeleteRepo", { uid }), {});
  const gone = await call("chainguard.platform.registry.v2.ReposService/GetRepo", { uid });
  assert.equal(gone.error?.code, grpc.status.NOT_FOUND);
  assert.equal(detailsOf(gone.error)[1]?.resourceName, uid);
};

test("the main flows work with the compiled contract", async () => {
  await flows(caller(registry));
});

for (const version of ["v1", "v1alpha"] as const)
  test(`the main flows work with only reflection ${version}`, async () => {
    await flows(caller(await reflected(version)));
  });

test("without a token every method except public ones is UNAUTHENTICATED", async () => {
  const { error } = await caller(registry)("chainguard.platform.iam.v2.RolesService/ListRoles", {}, new grpc.Metadata());
  assert.equal(error?.code, grpc.status.UNAUTHENTICATED);
  assert.equal(detailsOf(error)[0]?.reason, "UNAUTHENTICATED");
});

test("messages that the client compresses with gzip are read", async () => {
  const packing = new grpc.Client(new URL(world.url).host, grpc.credentials.createInsecure(), { "grpc.default_compression_algorithm": 2 });
  const description = "again and ".repeat(50).trim();
  const { reply, error } = await caller(registry, () => packing)("chainguard.platform.registry.v2.ReposService/CreateRepo", {
    parent: world.organization,
    repo: { name: "packed", description },
  });
  packing.close();
  assert.equal(error, undefined);
  assert.equal(reply.description, description);
});

test("an expired deadline is DEADLINE_EXCEEDED, and a cancelled call leaves the connection usable", async () => {
  const call = caller(registry);
  const late = await call("chainguard.platform.iam.v2.RolesService/ListRoles", {}, metadataOf(), { deadline: Date.now() - 1 });
  assert.equal(late.error?.code, grpc.status.DEADLINE_EXCEEDED);
  const given = await new Promise<grpc.ServiceError | null>((resolve) => {
    const unary = client.makeUnaryRequest(
      "/chainguard.platform.iam.v2.RolesService/ListRoles",
      (sent: Buffer) => sent,
      (got: Buffer) => got,
      Buffer.alloc(0),
      metadataOf(),
      resolve,
    );
    unary.cancel();
  });
  assert.equal(given?.code, grpc.status.CANCELLED);
  assert.equal((await call("chainguard.platform.iam.v2.RolesService/ListRoles", {})).error, undefined);
});

test("a message over 4 MiB is refused as too large, and one below it is read", async () => {
  const call = caller(registry);
  const { error } = await call("chainguard.platform.registry.v2.ReposService/CreateRepo", {
    parent: world.organization,
    repo: { name: "x".repeat(5 * 1024 * 1024) },
  });
  assert.equal(error?.code, grpc.status.RESOURCE_EXHAUSTED);
  const long = await call("chainguard.platform.registry.v2.ReposService/CreateRepo", {
    parent: world.organization,
    repo: { name: "x".repeat(3 * 1024 * 1024) },
  });
  assert.equal(long.error?.code, grpc.status.INVALID_ARGUMENT);
});

test("the health service reports SERVING for the server and for each service", async () => {
  const ask = (service: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      // HealthCheckRequest{service=1}, HealthCheckResponse{status=1}; 1 is SERVING.
      const bytes = service === "" ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, service.length]), Buffer.from(service)]);
      client.makeUnaryRequest(
        "/grpc.health.v1.Health/Check",
        (sent: Buffer) => sent,
        (got: Buffer) => got,
        bytes,
        (error, reply) => (error ? reject(error) : resolve(reply?.[1])),
      );
    });
  assert.equal(await ask(""), 1);
  assert.equal(await ask("chainguard.platform.registry.v2.ReposService"), 1);
  await assert.rejects(ask("no.such.Service"), { code: grpc.status.NOT_FOUND });
});
