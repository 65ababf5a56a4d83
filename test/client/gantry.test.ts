// The package's client, `new Gantry(…)`, against a server: its resources, types at run time, and iterators.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listCommandNames } from "#contract/command-names.ts";
import { createClient } from "#contract-client";
import { operations } from "../../client/gen/operations.ts";
import { ApiError, Gantry } from "../../client/package.ts";
import { restRequest } from "../../client/rest-request.ts";
import { type OperationRow, shapeOfRow } from "../../client/table.ts";
import { answerableRequest, folder, openStage } from "../conformance/stage.ts";
import { openScriptedServer, refusal } from "./scripted-server.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());
const place = await folder(stage);
// A token source, since the clock moves.
const gantry = new Gantry({ server: world.url, token: () => world.token() });

const rows: readonly OperationRow[] = Object.values(operations);
const commands = listCommandNames();

test("the client has exactly one operation with a path for every command", () => {
  assert.deepEqual(rows.map(({ name }) => name).sort(), commands.map(({ method }) => method.name).sort());
  assert.ok(rows.length > 150);
});

for (const { method } of commands.filter((command) => stage.answers(command.method))) {
  test(`${method.name}: the package sends the same request as the contract's client`, async () => {
    const request = await answerableRequest(stage, method, place, false);
    const row = rows.find(({ name }) => name === method.name);
    assert.ok(row);
    for (const validateOnly of [false, true])
      assert.deepEqual(restRequest(shapeOfRow(row), request, validateOnly), restRequest(method, request, validateOnly), JSON.stringify(request));
    const facts = shapeOfRow(row);
    assert.deepEqual([facts.writes, facts.open, facts.givesFile], [method.writes, method.open, method.givesFile]);
  });
}

test("a list iterates over the items of all pages, page by page, or ends at a limit", async () => {
  const parent = String((await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "lists" } })).uid);
  const names = ["a", "b", "c", "d", "e"];
  for (const name of names) await gantry.registry.repos.create({ parent, repo: { name } });
  const list = gantry.registry.repos.list({ parent, pageSize: 2, orderBy: "name" });
  const found: string[] = [];
  for await (const repo of list) found.push(repo.name);
  assert.deepEqual(found, names);
  const sizes: number[] = [];
  for await (const page of list.pages()) sizes.push(page.repos.length);
  assert.deepEqual(sizes, [2, 2, 1]);
  assert.deepEqual(
    (await list.toArray({ limit: 3 })).map(({ name }) => name),
    ["a", "b", "c"],
  );
  assert.deepEqual(await list.toArray({ limit: 0 }), []);
  const { data, requestId } = await list.page().withResponse();
  assert.deepEqual([data.repos.length, data.totalCount, data.nextPageToken !== "", requestId !== undefined], [2, "5", true, true]);
  // `parent` combines with other filters.
  assert.deepEqual(await gantry.registry.repos.list({ parent, uidp: { ids: [world.organization] } }).toArray({ limit: 1 }), []);
});

test("a response has every non-optional field: texts, flags, numbers, lists, and those of nested messages", async () => {
  const group = await gantry.iam.groups.create({ parent: world.organization, group: { name: "defaults" } });
  assert.deepEqual([group.description, group.verified], ["", false]);
  const repo = await gantry.registry.repos.create({ parent: group.uid, repo: { name: "app" } });
  assert.deepEqual([repo.bundles, repo.catalogTier, repo.sync_config], [[], "CATALOG_TIER_UNSPECIFIED", undefined]);
  const [listed] = await gantry.registry.repos.list({ parent: group.uid }).toArray({ limit: 1 });
  assert.deepEqual(listed, repo);
  assert.equal(await gantry.registry.repos.delete({ uid: repo.uid }), undefined);
});

test("an update changes the fields of its mask, and only the version with the given ETag", async () => {
  const { uid } = await gantry.iam.groups.create({ parent: world.organization, group: { name: "masked", description: "before" } });
  const { data, etag } = await gantry.iam.groups.get({ uid }).withResponse();
  assert.equal(data.description, "before");
  const changed = await gantry.iam.groups.update({ group: { uid, name: "not sent", description: "after" }, updateMask: ["description"] }, { ifMatch: etag });
  assert.deepEqual([changed.name, changed.description], ["masked", "after"]);
  const stale = gantry.iam.groups.update({ group: { uid, description: "again" }, updateMask: ["description"] }, { ifMatch: etag });
  await assert.rejects(stale, (error) => error instanceof ApiError && error.httpStatus === 412);
  const both = await gantry.iam.groups.update({ group: { uid, name: "both", description: "of two" }, updateMask: ["name", "description"] });
  assert.deepEqual([both.name, both.description], ["both", "of two"]);
  const rehearsed = await gantry.iam.groups.update({ group: { uid, description: "rehearsed" }, updateMask: ["description"] }, { validateOnly: true });
  assert.equal(rehearsed.description, "rehearsed");
  assert.equal((await gantry.iam.groups.get({ uid })).description, "of two");
});

test("errors are distinguished by their code, and name the invalid fields", async () => {
  const missing = await gantry.iam.groups.get({ uid: "0".repeat(40) }).catch((thrown: unknown) => thrown);
  assert.ok(missing instanceof ApiError && missing.code === "NOT_FOUND" && missing.is("NOT_FOUND"));
  const invalid = await gantry.iam.groups.get({ uid: "none" }).catch((thrown: unknown) => thrown);
  assert.ok(invalid instanceof ApiError && invalid.code === "INVALID_ARGUMENT");
  assert.deepEqual(
    invalid.violations.map(({ field }) => field),
    ["uid"],
  );
  await assert.rejects(gantry.iam.groups.get({ uid: "none" }).withResponse(), ApiError);
  const anonymous = new Gantry({ server: world.url });
  await assert.rejects(anonymous.iam.groups.list().toArray({ limit: 1 }), { code: "UNAUTHENTICATED" });
});

test("a failure causes one rejection, whether the data or the response is awaited", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    await gantry.iam.groups
      .get({ uid: "none" })
      .withResponse()
      .catch(() => {});
    await gantry.iam.groups.get({ uid: "none" }).catch(() => {});
    await new Promise((resolve) => void setImmediate(resolve));
    assert.deepEqual(unhandled, []);
  } finally {
    process.off("unhandledRejection", note);
  }
});

test("a write that fails in transit is retried with one idempotency key, the caller's if given", async () => {
  const server = await openScriptedServer();
  try {
    const busy = refusal(503, 14);
    const retried: string[] = [];
    const client = new Gantry({ server: server.url, token: "t", wait: async () => {}, onRetry: ({ code }) => void retried.push(code) });
    server.play(busy, "cut", { status: 200, body: '{"uid":"x"}' });
    const group = await client.iam.groups.create({ parent: "", group: { name: "a" } });
    assert.deepEqual([group.uid, group.name, retried], ["x", "", ["UNAVAILABLE", "UNAVAILABLE"]]);
    const keys = server.received.map(({ headers }) => headers["idempotency-key"]);
    assert.equal(new Set(keys).size, 1);
    assert.match(String(keys[0]), /^[0-9a-f]{32}$/);
    assert.deepEqual(
      server.received.map(({ verb, target, body }) => [verb, target, body]),
      Array.from({ length: 3 }, () => ["POST", "/iam/v2/groups/", '{"name":"a"}']),
    );
    server.play({ status: 200, body: "{}" });
    await client.iam.groups.create({ parent: "", group: { name: "a" } }, { idempotencyKey: "mine" });
    assert.equal(server.received[0]?.headers["idempotency-key"], "mine");
  } finally {
    await server.close();
  }
});

test("a request ends with the reason of its signal", async () => {
  const reason = new Error("no longer needed");
  await assert.rejects(gantry.iam.groups.get({ uid: world.organization }, { signal: AbortSignal.abort(reason) }), reason);
  await assert.rejects(gantry.iam.groups.list({}, { signal: AbortSignal.abort(reason) }).toArray({ limit: 1 }), reason);
});

/** Resolves when the event is in the list. */
const makeRepo = async (parent: string, name: string): Promise<void> => {
  await world.ok("registry.ReposService/CreateRepo", { parent, repo: { name } });
  await world.server.delivery.finish();
};

test("events are iterated in order, from a position or from now on, and the iteration ends with its signal", async () => {
  const group = String((await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "watched" } })).uid);
  const make = (name: string): Promise<void> => makeRepo(group, name);
  await make("before");
  const ended = new AbortController();
  const waits: number[] = [];
  // The next event happens while the iterator waits for it.
  const wait = async (ms: number): Promise<void> => {
    if (waits.push(ms) === 1) await make("meanwhile");
    else ended.abort(new Error("enough"));
  };
  const watcher = new Gantry({ server: world.url, token: () => world.token(), wait });
  const namesFrom = async (after: string | undefined): Promise<string[]> => {
    const names: string[] = [];
    waits.length = 0;
    try {
      for await (const { type, body, actor, position } of watcher.watchEvents({
        group,
        after,
        types: ["dev.chainguard.api.platform.registry.repo.created.v1"],
        signal: ended.signal,
      })) {
        assert.ok(type.endsWith("repo.created.v1") && Number(position) > 0 && Object.keys(actor).length > 0);
        names.push(String(body.name));
      }
    } catch (thrown) {
      assert.equal(thrown, ended.signal.reason);
    }
    return names;
  };
  assert.deepEqual(await namesFrom("0"), ["before", "meanwhile"]);
});

test("without a position, only new events are iterated", async () => {
  const group = String((await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "new events" } })).uid);
  await makeRepo(group, "before");
  let made = 0;
  const wait = (): Promise<void> => makeRepo(group, `new-${made++}`);
  const watcher = new Gantry({ server: world.url, token: () => world.token(), wait });
  for await (const { body } of watcher.watchEvents({ group, types: ["dev.chainguard.api.platform.registry.repo.created.v1"] })) {
    assert.equal(body.name, "new-0");
    break;
  }
});

test("the package's client and the contract's client return the same response except for defaults", async () => {
  const plain = await createClient({ server: world.url, token: () => world.token() }).call("chainguard.platform.iam.v2.GroupsService/GetGroup", {
    uid: world.organization,
  });
  const typed: object = await gantry.iam.groups.get({ uid: world.organization });
  assert.deepEqual(Object.fromEntries(Object.entries(typed).filter(([key]) => key in plain)), plain);
});
