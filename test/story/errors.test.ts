// Errors, updates, deletes and the list envelope, compared field by field with the specification; gRPC has the same code, message and details.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { openWorld, type World } from "../world.ts";
import { callBoth, column, http, items, type RestAnswer } from "./protocols.ts";
import { databaseContents } from "./installation.ts";

let world: World;
let token: string;
let organization: string;

before(async () => {
  world = await openWorld();
  token = await world.token();
  organization = world.organization;
});
after(() => world?.close());

const google = (type: string): string => `type.googleapis.com/google.rpc.${type}`;
const reason = (code: string, domain: string): JsonObject => ({ "@type": google("ErrorInfo"), reason: code, domain: `${domain}.example.test` });

/** Returns the body of a validation error with these violations. */
const invalid = (domain: string, ...violations: readonly (readonly [field: string, description: string])[]): JsonObject => ({
  code: 3,
  message: `Invalid argument: ${violations[0]?.join(": ")}`,
  details: [
    reason("INVALID_ARGUMENT", domain),
    { "@type": google("BadRequest"), fieldViolations: violations.map(([field, description]) => ({ field, description })) },
  ],
});

const notFound = (domain: string, resource: string, uid: string): JsonObject => ({
  code: 5,
  message: `${resource} "${uid}" not found`,
  details: [reason("NOT_FOUND", domain), { "@type": google("ResourceInfo"), resourceType: `${domain}.example.test/${resource}`, resourceName: uid }],
});

const answers = (seen: RestAnswer, status: number, body: JsonObject): void => {
  assert.deepEqual({ status: seen.status, body: seen.body }, { status, body });
  assert.equal(seen.headers.get("content-type"), "application/json");
};

const create = async (path: string, body: JsonObject): Promise<JsonObject> => {
  const seen = await http(world.url, "POST", path, { token, body: JSON.stringify(body) });
  assert.equal(seen.status, 200, seen.text);
  return seen.body;
};

const namePattern = 'name must match "^[a-z0-9 ._-]{1,}$"';

test("POST identity with {} returns exactly one violation, on name, with its pattern", async () => {
  const seen = await callBoth(
    world,
    token,
    ["POST", `/iam/v2/identities/${organization}`, {}],
    ["iam.IdentitiesService/CreateIdentity", { parent: organization, identity: {} }],
  );
  answers(seen, 400, invalid("iam", ["name", namePattern]));
});

test("a name with an invalid letter returns the pattern, and nothing is created", async () => {
  const before = await databaseContents(world);
  for (const name of ["Upper", "a/b", "tab\there", "ümlaut", "name\n", "a,b"]) {
    const identity = { name, claimMatch: { issuer: "https://issuer.example.com", subject: "s" } };
    const seen = await callBoth(
      world,
      token,
      ["POST", `/iam/v2/identities/${organization}`, identity],
      ["iam.IdentitiesService/CreateIdentity", { parent: organization, identity }],
    );
    answers(seen, 400, invalid("iam", ["name", namePattern]));
  }
  assert.deepEqual(await databaseContents(world), before);
});

test("an error lists all violations, with the first one in its message", async () => {
  const repo = { name: "A", description: "two\nlines", bundles: ["unheard-of"] };
  const seen = await callBoth(
    world,
    token,
    ["POST", `/registry/v2/repos/${organization}`, repo],
    ["registry.ReposService/CreateRepo", { parent: organization, repo }],
  );
  answers(
    seen,
    400,
    invalid(
      "registry",
      ["name", namePattern],
      ["description", String.raw`description must match "^[\\S ]{0,512}$"`],
      ["bundles[0]", 'bundles[0] must match "^(application|base|byol|ai|ai-gpu|featured|fips|commercial|emeritoss)$"'],
    ),
  );
});

test("rules across fields are checked only if every field is valid", async () => {
  const none = { name: "no relationship" };
  const seen = await callBoth(
    world,
    token,
    ["POST", `/iam/v2/identities/${organization}`, none],
    ["iam.IdentitiesService/CreateIdentity", { parent: organization, identity: none }],
  );
  answers(seen, 400, invalid("iam", ["claimMatch", "exactly one of claimMatch, staticKeys, awsIdentity, servicePrincipal is needed"]));
});

test("a group with a repo cannot be deleted until the repo is deleted", async () => {
  const group = String((await create(`/iam/v2/groups/${organization}`, { name: "team" })).uid);
  const repo = String((await create(`/registry/v2/repos/${group}`, { name: "nginx" })).uid);
  const remove = () => callBoth(world, token, ["DELETE", `/iam/v2/groups/${group}`], ["iam.GroupsService/DeleteGroup", { uid: group }]);
  answers(await remove(), 400, {
    code: 9,
    message: "Precondition failed: cannot delete group with child repos",
    details: [
      reason("FAILED_PRECONDITION", "iam"),
      { "@type": google("PreconditionFailure"), violations: [{ type: "RESOURCE_NOT_EMPTY", description: "cannot delete group with child repos" }] },
    ],
  });
  assert.equal((await http(world.url, "GET", `/iam/v2/groups/${group}`, { token })).body.name, "team");
  assert.equal((await http(world.url, "DELETE", `/registry/v2/repos/${repo}`, { token })).status, 200);
  assert.equal((await http(world.url, "DELETE", `/iam/v2/groups/${group}`, { token })).status, 200);
  answers(await http(world.url, "GET", `/iam/v2/groups/${group}`, { token }), 404, notFound("iam", "Group", group));
});

test("every kind of child blocks the deletion of a group, and the error lists all kinds", async () => {
  const group = String((await create(`/iam/v2/groups/${organization}`, { name: "full" })).uid);
  await create(`/iam/v2/groups/${group}`, { name: "sub" });
  await create(`/registry/v2/repos/${group}`, { name: "nginx" });
  await create(`/iam/v2/identities/${group}`, { name: "bot", claimMatch: { issuer: "https://issuer.example.com", subject: "s" } });
  await create(`/iam/v2/roles/${group}`, { name: "reader", capabilities: ["CAP_REPO_LIST"] });
  const { body } = await http(world.url, "DELETE", `/iam/v2/groups/${group}`, { token });
  const told = items(items(body, "details")[1] ?? {}, "violations");
  assert.deepEqual(new Set(told.map(({ type }) => type)), new Set(["RESOURCE_NOT_EMPTY"]));
  const kinds = ["groups", "identities", "repos", "roles"];
  assert.deepEqual(
    told.map(({ description }) => String(description)).sort(),
    kinds.map((kind) => `cannot delete group with child ${kind}`),
  );
});

test("an unknown resource is a 404 with its type and name, for every verb", async () => {
  const uid = `${organization}/00000000000000ff`;
  const cases: readonly (readonly [
    verb: string,
    path: string,
    body: JsonObject | undefined,
    name: string,
    request: JsonObject,
    domain: string,
    resource: string,
  ])[] = [
    ["GET", "/registry/v2/repos", undefined, "registry.ReposService/GetRepo", { uid }, "registry", "Repo"],
    ["PATCH", "/registry/v2/repos", { description: "x" }, "registry.ReposService/UpdateRepo", { repo: { uid, description: "x" } }, "registry", "Repo"],
    ["DELETE", "/registry/v2/repos", undefined, "registry.ReposService/DeleteRepo", { uid }, "registry", "Repo"],
    [
      "POST",
      "/registry/v2/tags",
      { name: "x", digest: `sha256:${"0".repeat(64)}` },
      "registry.TagsService/CreateTag",
      { parent: uid, tag: { name: "x", digest: `sha256:${"0".repeat(64)}` } },
      "registry",
      "Repo",
    ],
    ["GET", "/registry/v2/tags", undefined, "registry.TagsService/GetTag", { uid }, "registry", "Tag"],
    ["DELETE", "/registry/v2/tags", undefined, "registry.TagsService/DeleteTag", { uid }, "registry", "Tag"],
    ["GET", "/iam/v2/groups", undefined, "iam.GroupsService/GetGroup", { uid }, "iam", "Group"],
    ["POST", "/iam/v2/groups", { name: "x" }, "iam.GroupsService/CreateGroup", { parent: uid, group: { name: "x" } }, "iam", "Group"],
    ["DELETE", "/iam/v2/groups", undefined, "iam.GroupsService/DeleteGroup", { uid }, "iam", "Group"],
    ["GET", "/iam/v2/identities", undefined, "iam.IdentitiesService/GetIdentity", { uid }, "iam", "Identity"],
    ["DELETE", "/iam/v2/identities", undefined, "iam.IdentitiesService/DeleteIdentity", { uid }, "iam", "Identity"],
    ["GET", "/iam/v2/roles", undefined, "iam.RolesService/GetRole", { uid }, "iam", "Role"],
    ["GET", "/iam/v2/roleBindings", undefined, "iam.RoleBindingsService/GetRoleBinding", { uid }, "iam", "RoleBinding"],
    ["DELETE", "/iam/v2/roleBindings", undefined, "iam.RoleBindingsService/DeleteRoleBinding", { uid }, "iam", "RoleBinding"],
  ];
  const before = await databaseContents(world);
  for (const [verb, path, body, name, request, domain, resource] of cases) {
    const rest = body ? ([verb, `${path}/${uid}`, body] as const) : ([verb, `${path}/${uid}`] as const);
    answers(await callBoth(world, token, rest, [name, request]), 404, notFound(domain, resource, uid));
  }
  assert.deepEqual(await databaseContents(world), before);
});

test("an existing resource is a 409 with its type and name; an existing tag is moved instead", async () => {
  const group = String((await create(`/iam/v2/groups/${organization}`, { name: "twice" })).uid);
  const repo = await create(`/registry/v2/repos/${group}`, { name: "redis" });
  const again = await callBoth(
    world,
    token,
    ["POST", `/registry/v2/repos/${group}`, { name: "redis" }],
    ["registry.ReposService/CreateRepo", { parent: group, repo: { name: "redis" } }],
  );
  answers(again, 409, {
    code: 6,
    message: 'Repo "redis" already exists',
    details: [reason("ALREADY_EXISTS", "registry"), { "@type": google("ResourceInfo"), resourceType: "registry.example.test/Repo", resourceName: "redis" }],
  });
  const digest = (fill: string): string => `sha256:${fill.repeat(64)}`;
  const first = await create(`/registry/v2/tags/${String(repo.uid)}`, { name: "7", digest: digest("a") });
  const events = (await world.events()).length;
  assert.deepEqual(await create(`/registry/v2/tags/${String(repo.uid)}`, { name: "7", digest: digest("a") }), first);
  assert.equal((await world.events()).length, events);
  const moved = await create(`/registry/v2/tags/${String(repo.uid)}`, { name: "7", digest: digest("b") });
  assert.deepEqual([moved.uid, moved.digest, moved.createTime], [first.uid, digest("b"), first.createTime]);
  assert.ok(String(moved.updateTime) > String(first.updateTime));
});

test("a page token older than three days restarts the list at its first page, with a header", async () => {
  const group = String((await create(`/iam/v2/groups/${organization}`, { name: "pages" })).uid);
  for (const name of ["a", "b", "c"]) await create(`/registry/v2/repos/${group}`, { name });
  const query = `/registry/v2/repos?uidp.children_of=${group}&page_size=2&order_by=name`;
  const request = { uidp: { childrenOf: group }, pageSize: 2, orderBy: "name" };
  const first = await http(world.url, "GET", query, { token });
  const pageToken = String(first.body.nextPageToken);
  const next = (now: string) =>
    callBoth(world, now, ["GET", `${query}&page_token=${pageToken}`], ["registry.ReposService/ListRepos", { ...request, pageToken }]);
  const started = world.clock.now;
  try {
    world.clock.now = started + limits.pageTokenLifetimeMs;
    const alive = await next(await world.token());
    assert.deepEqual(column(alive.body, "repos", "name"), ["c"]);
    assert.equal(alive.headers.get("gantry-page-restarted"), null);
    world.clock.now = started + limits.pageTokenLifetimeMs + 1;
    const restarted = await next(await world.token());
    assert.equal(restarted.status, 200);
    assert.deepEqual(column(restarted.body, "repos", "name"), ["a", "b"]);
    assert.equal(restarted.headers.get("gantry-page-restarted"), "true");
    const rpc = await world.call("registry.ReposService/ListRepos", { ...request, pageToken }, { token: await world.token(), protocol: "grpc" });
    assert.equal(rpc.headers["gantry-page-restarted"], "true");
  } finally {
    world.clock.now = started;
  }
});

test("a forged page token or one of another query is refused on page_token", async () => {
  const { body } = await http(world.url, "GET", "/iam/v2/roles?page_size=2", { token });
  const good = String(body.nextPageToken);
  const roles = (pageToken: string, orderBy = "") =>
    callBoth(
      world,
      token,
      ["GET", `/iam/v2/roles?page_size=2&page_token=${encodeURIComponent(pageToken)}${orderBy && `&order_by=${orderBy}`}`],
      ["iam.RolesService/ListRoles", { pageSize: 2, pageToken, orderBy }],
    );
  const flipped = `${good.slice(0, -1)}${good.endsWith("A") ? "B" : "A"}`;
  for (const forged of ["x", "AAAA", flipped, good.slice(2), `${good}=`, `${good}AAAA`, "0", "null", Buffer.from('{"offset":2}').toString("base64url")])
    answers(await roles(forged), 400, invalid("iam", ["page_token", "is not a page token of this server"]));
  answers(await roles(good, "name"), 400, invalid("iam", ["page_token", "belongs to another caller or another query; start again without it"]));
  assert.equal((await roles(good)).status, 200);
});

test("PATCH with updateMask changes only the listed fields and ignores the rest of the body", async () => {
  const group = String((await create(`/iam/v2/groups/${organization}`, { name: "patches" })).uid);
  const repo = await create(`/registry/v2/repos/${group}`, { name: "nginx", description: "first" });
  const path = `/registry/v2/repos/${String(repo.uid)}`;
  const patch = async (query: string, body: JsonObject): Promise<JsonObject> => {
    const seen = await http(world.url, "PATCH", `${path}${query}`, { token, body: JSON.stringify(body) });
    assert.equal(seen.status, 200, seen.text);
    assert.deepEqual((await http(world.url, "GET", path, { token })).body, seen.body);
    return seen.body;
  };
  const masked = await patch("?updateMask=description", { description: "second", name: "ignored" });
  assert.deepEqual([masked.name, masked.description], ["nginx", "second"]);
  const spelled = await patch("?update_mask=name,description", { description: "third", name: "httpd" });
  assert.deepEqual([spelled.name, spelled.description], ["httpd", "third"]);
  const cleared = await patch("?updateMask=description", { name: "ignored" });
  assert.deepEqual([cleared.name, "description" in cleared], ["httpd", false]);
  // Without a mask: the fields present in the body, including empty ones.
  assert.deepEqual((await patch("", { description: "fourth" })).name, "httpd");
  assert.ok(!("description" in (await patch("", { description: "" }))));
  await patch("", { description: "fifth" });
  assert.deepEqual((await patch("", {})).description, "fifth");
  // "*": full replacement.
  const replaced = await patch("?updateMask=*", { name: "caddy" });
  const { uid, createTime, updateTime, ...rest } = replaced;
  assert.deepEqual(rest, { name: "caddy" });
  assert.deepEqual([uid, createTime], [repo.uid, repo.createTime]);
  assert.ok(String(updateTime) > String(repo.updateTime));
});

test("gRPC updates behave the same with a mask, without one, and with *", async () => {
  const group = String((await create(`/iam/v2/groups/${organization}`, { name: "rpc patches" })).uid);
  const { uid } = await create(`/registry/v2/repos/${group}`, { name: "nginx", description: "first" });
  const update = async (repo: JsonObject, updateMask?: string): Promise<JsonObject> => {
    const reply = await world.ok(
      "registry.ReposService/UpdateRepo",
      { repo: { uid: String(uid), ...repo }, ...(updateMask === undefined ? {} : { updateMask }) },
      { protocol: "grpc" },
    );
    return { name: reply.name ?? null, description: reply.description ?? null };
  };
  assert.deepEqual(await update({ name: "ignored", description: "second" }, "description"), { name: "nginx", description: "second" });
  assert.deepEqual(await update({ description: "third" }), { name: "nginx", description: "third" });
  assert.deepEqual(await update({}, "description"), { name: "nginx", description: null });
  assert.deepEqual(await update({ name: "caddy" }, "*"), { name: "caddy", description: null });
});

test("an unknown or output-only mask path is refused by name", async () => {
  const { uid } = await create(`/registry/v2/repos/${organization}`, { name: "masks" });
  const before = await databaseContents(world);
  const patch = (mask: string) =>
    callBoth(
      world,
      token,
      ["PATCH", `/registry/v2/repos/${String(uid)}?updateMask=${mask}`, { description: "x" }],
      ["registry.ReposService/UpdateRepo", { repo: { uid: String(uid), description: "x" }, updateMask: mask }],
    );
  answers(await patch("colour"), 400, invalid("registry", ["update_mask", '"colour" is not a field of Repo']));
  answers(await patch("createTime"), 400, invalid("registry", ["update_mask", '"createTime" is set by the server and cannot be changed']));
  assert.equal((await patch("description,colour")).status, 400);
  assert.equal((await http(world.url, "PATCH", `/registry/v2/repos/${String(uid)}?updateMask=*,name`, { token, body: '{"name":"x"}' })).status, 400);
  assert.deepEqual(await databaseContents(world), before);
});

test("an update without changes writes neither row nor event", async () => {
  const { uid } = await create(`/registry/v2/repos/${organization}`, { name: "still", description: "water" });
  const before = await databaseContents(world);
  const seen = await http(world.url, "PATCH", `/registry/v2/repos/${String(uid)}`, { token, body: '{"description":"water"}' });
  assert.equal(seen.status, 200);
  assert.deepEqual(await databaseContents(world), before);
});

test("PATCH returns the resource regardless of If-None-Match; only reads return 304", async () => {
  const { uid } = await create(`/registry/v2/repos/${organization}`, { name: "matched" });
  const path = `/registry/v2/repos/${String(uid)}`;
  const headers = { "if-none-match": "*" };
  const patched = await http(world.url, "PATCH", path, { token, headers, body: '{"description":"changed"}' });
  assert.deepEqual([patched.status, patched.body.description], [200, "changed"]);
  const unchanged = await http(world.url, "GET", path, { token, headers });
  assert.deepEqual([unchanged.status, unchanged.text], [304, ""]);
});

test("DELETE returns 200 with an empty body and no content type, and gRPC returns Empty", async () => {
  const { uid } = await create(`/registry/v2/repos/${organization}`, { name: "short" });
  const { uid: other } = await create(`/registry/v2/repos/${organization}`, { name: "shorter" });
  const seen = await http(world.url, "DELETE", `/registry/v2/repos/${String(uid)}`, { token });
  assert.deepEqual({ status: seen.status, text: seen.text, type: seen.headers.get("content-type") }, { status: 200, text: "", type: null });
  assert.deepEqual(await world.ok("registry.ReposService/DeleteRepo", { uid: String(other) }, { protocol: "grpc" }), {});
});

test("the list envelope always has the plural field, totalCount and skipped, and nextPageToken only if there is a next page", async () => {
  const group = String((await create(`/iam/v2/groups/${organization}`, { name: "envelope" })).uid);
  const list = (query: string) => http(world.url, "GET", `/registry/v2/repos?uidp.children_of=${group}${query}`, { token });
  assert.deepEqual((await list("")).body, { repos: [], totalCount: "0", skipped: 0 });
  for (const name of ["a", "b", "c"]) await create(`/registry/v2/repos/${group}`, { name });
  assert.deepEqual(Object.keys((await list("")).body), ["repos", "totalCount", "skipped"]);
  assert.deepEqual(Object.keys((await list("&page_size=3")).body), ["repos", "totalCount", "skipped"]);
  const part = await list("&page_size=2&skip=0");
  assert.deepEqual(Object.keys(part.body), ["repos", "nextPageToken", "totalCount", "skipped"]);
  assert.strictEqual(part.body.totalCount, "3");
  assert.strictEqual((await list("&page_size=2&skip=1")).body.skipped, 1);
});

test("page_size defaults to 50 if absent or 0, is capped at 200, refused if negative, and accepted in camelCase", async () => {
  const { length } = items((await http(world.url, "GET", "/iam/v2/roles?page_size=200", { token })).body, "roles");
  assert.ok(length > 25);
  const names: string[] = [];
  for (let index = 0; index < 201; index++) names.push(`role ${index}`);
  const group = String((await create(`/iam/v2/groups/${organization}`, { name: "sizes" })).uid);
  await Promise.all(names.map((name) => create(`/iam/v2/roles/${group}`, { name, capabilities: ["CAP_REPO_LIST"] })));
  const size = async (query: string): Promise<number> =>
    items((await http(world.url, "GET", `/iam/v2/roles?uidp.childrenOf=${group}${query}`, { token })).body, "roles").length;
  for (const [query, count] of [
    ["", 50],
    ["&page_size=0", 50],
    ["&pageSize=7", 7],
    ["&page_size=200", 200],
    ["&page_size=201", 200],
    ["&page_size=2147483647", 200],
  ] as const)
    assert.equal(await size(query), count, query);
  for (const wrong of ["-1", "-2147483648"])
    answers(
      await callBoth(world, token, ["GET", `/iam/v2/roles?page_size=${wrong}`], ["iam.RolesService/ListRoles", { pageSize: Number(wrong) }]),
      400,
      invalid("iam", ["page_size", "must not be negative"]),
    );
  for (const wrong of ["2147483648", "1.5", "1e2", "ten", "", "0x10", " 5", "NaN"])
    answers(
      await http(world.url, "GET", `/iam/v2/roles?page_size=${encodeURIComponent(wrong)}`, { token }),
      400,
      invalid("iam", ["page_size", "must be a whole number of 32 bits"]),
    );
});

test("an unknown order_by field returns the allowed ones, and a third word is refused", async () => {
  const order = (orderBy: string) =>
    callBoth(world, token, ["GET", `/iam/v2/roles?order_by=${encodeURIComponent(orderBy)}`], ["iam.RolesService/ListRoles", { orderBy }]);
  answers(await order("colour"), 400, invalid("iam", ["order_by", 'cannot order by "colour"; must be one of uid, name, create_time, update_time']));
  answers(await order("name up"), 400, invalid("iam", ["order_by", 'must be one field, optionally followed by "asc" or "desc"']));
  for (const allowed of ["name", "name asc", "name desc", "created_at desc", "create_time", "createTime", "updated_at", "updateTime desc", "uid"])
    assert.equal((await order(allowed)).status, 200, allowed);
});

test("an unknown query parameter or body field is refused by name", async () => {
  answers(await http(world.url, "GET", "/iam/v2/roles?colour=red", { token }), 400, invalid("iam", ["colour", "unknown query parameter"]));
  const body = JSON.stringify({ name: "a", colour: "red", claimMatch: { issuer: "https://a.example", subject: "s", colour: "blue" } });
  answers(
    await http(world.url, "POST", `/iam/v2/identities/${organization}`, { token, body }),
    400,
    invalid("iam", ["colour", "unknown field"], ["claimMatch.colour", "unknown field"]),
  );
});

test("timestamps have three decimals, and resources have all booleans, UIDs and times in camelCase", async () => {
  const group = await create(`/iam/v2/groups/${organization}`, { name: "shape" });
  const repo = await create(`/registry/v2/repos/${String(group.uid)}`, { name: "nginx" });
  const tag = await create(`/registry/v2/tags/${String(repo.uid)}`, { name: "1", digest: `sha256:${"0".repeat(64)}` });
  assert.deepEqual(Object.keys(group), ["uid", "name", "verified", "createTime", "updateTime", "status"]);
  assert.deepEqual(Object.keys(repo), ["uid", "name", "createTime", "updateTime"]);
  assert.deepEqual(Object.keys(tag).sort(), ["createTime", "deprecated", "digest", "name", "uid", "updateTime"]);
  assert.strictEqual(tag.deprecated, false);
  for (const { createTime, updateTime } of [group, repo, tag])
    for (const time of [createTime, updateTime]) assert.match(String(time), /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
  const started = world.clock.now;
  try {
    world.clock.now = Math.ceil(started / 1000) * 1000;
    const whole = await create(`/registry/v2/repos/${String(group.uid)}`, { name: "whole" });
    assert.equal(whole.createTime, `${new Date(world.clock.now).toISOString().slice(0, 19)}.000Z`);
    assert.deepEqual((await http(world.url, "GET", `/registry/v2/repos/${String(whole.uid)}`, { token })).body, whole);
  } finally {
    world.clock.now = started;
  }
});

test("a permission error is the same for existing and unknown resources, and names the permission only if the caller sees the group", async () => {
  const group = String((await create(`/iam/v2/groups/${organization}`, { name: "secret" })).uid);
  const repo = String((await create(`/registry/v2/repos/${group}`, { name: "nginx" })).uid);
  const { uid: bot } = await create(`/iam/v2/identities/${group}`, { name: "bot", claimMatch: { issuer: "https://issuer.example.com", subject: "s" } });
  const { uid: pull } = items((await http(world.url, "GET", "/iam/v2/roles?name=registry.pull", { token })).body, "roles")[0] ?? {};
  await create(`/iam/v2/roleBindings/${group}`, { identityUid: String(bot), roleUid: String(pull) });
  const narrow = await world.token(String(bot));
  const denied = await callBoth(world, narrow, ["DELETE", `/registry/v2/repos/${repo}`], ["registry.ReposService/DeleteRepo", { uid: repo }]);
  answers(denied, 403, { code: 7, message: `Permission denied: repo.delete is required at ${repo}`, details: [reason("PERMISSION_DENIED", "registry")] });
  const elsewhere = [`${organization}/0123456789abcdef`, organization, "f".repeat(40)];
  for (const uid of elsewhere)
    answers(await callBoth(world, narrow, ["GET", `/registry/v2/repos/${uid}`], ["registry.ReposService/GetRepo", { uid }]), 403, {
      code: 7,
      message: "Permission denied",
      details: [reason("PERMISSION_DENIED", "registry")],
    });
});

test("permissions are checked before the request is validated", async () => {
  const { uid: bot } = await create(`/iam/v2/identities/${organization}`, {
    name: "nobody",
    claimMatch: { issuer: "https://issuer.example.com", subject: "n" },
  });
  const nobody = await world.token(String(bot));
  for (const body of ["{", "{}", '{"colour":1}', "[]", '{"name":"fine"}'])
    assert.equal((await http(world.url, "POST", `/registry/v2/repos/${organization}`, { token: nobody, body })).status, 403, body);
});
