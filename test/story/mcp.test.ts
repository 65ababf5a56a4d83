// MCP over HTTP with the official clients of both lines: tools, results, and discovery of the sign-in.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { operatorUid } from "#base/operator.ts";
import { usualTools } from "../../server/mcp/discovery.ts";
import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { callHttp } from "../client.ts";
import { connectMcp, type McpClient, mcpLines } from "../mcp-client.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
before(async () => {
  world = await openWorld({ GANTRY_PUBLIC_URL: "http://gantry.example.test", GANTRY_AUDIENCES: "127.0.0.1" });
});
after(() => world?.close());

const connect = async (line: (typeof mcpLines)[number], path = "", headers: Readonly<Record<string, string>> = {}): Promise<McpClient> =>
  connectMcp(line, { url: `${world.url}/mcp${path}`, headers: { authorization: `Bearer ${await world.token()}`, ...headers } });

const namesOf = async (client: McpClient): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name);

const send = async (message: JsonObject, headers: Readonly<Record<string, string>> = {}, token?: string): Promise<{ status: number; body: JsonObject }> => {
  const answer = await callHttp(world.url, "POST", "/mcp", {
    token: token ?? (await world.token()),
    headers: { accept: "application/json, text/event-stream", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
  });
  const raw = /^data: (.*)$/m.exec(answer.raw)?.[1] ?? answer.raw;
  const body: unknown = raw === "" ? {} : JSON.parse(raw);
  return { status: answer.status ?? 0, body: isObject(body as Json) ? (body as JsonObject) : {} };
};

const revision = "2026-07-28";
const envelope = {
  "io.modelcontextprotocol/protocolVersion": revision,
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const stateless = (method: string, params: JsonObject = {}, name?: string): Promise<{ status: number; body: JsonObject }> =>
  send(
    { method, params: { ...params, _meta: envelope } },
    { "mcp-protocol-version": revision, "mcp-method": method, ...(name === undefined ? {} : { "mcp-name": name }) },
  );

for (const line of mcpLines) {
  test(`a client ${line} that names no sets gets a few tools of at most 20 kB, and a search for the others`, async () => {
    const client = await connect(line);
    const { tools, pages } = await client.listTools();
    assert.equal(pages, 1);
    const names = tools.map(({ name }) => name);
    assert.deepEqual(names, names.toSorted());
    assert.ok(tools.every(({ annotations }) => annotations.readOnlyHint === true));
    assert.ok(JSON.stringify(tools).length <= 20_000, String(JSON.stringify(tools).length));
    for (const name of usualTools) assert.ok(names.includes(name), name);

    const { structured, texts } = await client.callTool("search_operations", { query: "list role bindings of an identity" });
    const found = objectList(structured ?? {}, "operations");
    assert.deepEqual(JSON.parse(texts[0] ?? ""), structured);
    assert.deepEqual([text(found[0] ?? {}, "name"), text(found[0] ?? {}, "calledWith")], ["iam_list_role_bindings", "read_operation"]);
    assert.ok("uidp" in part(part(found[0] ?? {}, "inputSchema"), "properties"));
    const read = await client.callTool("read_operation", { operation: "iam_get_group", arguments: { uid: world.organization } });
    assert.equal(text(read.structured ?? {}, "uid"), world.organization);
    const refusal = await client.callTool("read_operation", { operation: "iam_get_group", arguments: { uid: world.organization, nonsense: 1 } });
    assert.ok(refusal.isError && /nonsense/.test(refusal.texts[0] ?? ""));

    const long = await client.callTool("search_operations", { query: "a1 ".repeat(67) });
    assert.ok(long.isError && /query: must have at most 200 characters/.test(long.texts[0] ?? ""));
    await assert.rejects(
      client.callTool("read_operation", { operation: "iam_delete_group", arguments: { uid: world.organization } }),
      /^.*operation "\w+" not found in this selection/,
    );
    await assert.rejects(
      client.callTool("write_operation", { operation: "iam_delete_group", arguments: { uid: world.organization } }),
      /tool "\w+" not found in this selection/,
    );
    await assert.rejects(client.callTool("iam_delete_group", { uid: world.organization }), /tool "\w+" not found in this selection/);
    await client.close();
  });

  test(`a client ${line} that names no sets and requests write tools calls them through one write tool`, async () => {
    const client = await connect(line, "/write");
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.filter(({ annotations }) => annotations.readOnlyHint !== true).map(({ name, annotations }) => [name, annotations.destructiveHint]),
      [["write_operation", true]],
    );
    assert.ok(JSON.stringify(tools).length <= 20_000);
    const found = objectList((await client.callTool("search_operations", { query: "create group" })).structured ?? {}, "operations");
    assert.deepEqual([text(found[0] ?? {}, "name"), text(found[0] ?? {}, "calledWith")], ["iam_create_group", "write_operation"]);
    const asked = { operation: "iam_create_group", arguments: { parent: world.organization, group: { name: `found ${line}` }, validateOnly: true } };
    const crossed = await client.callTool("read_operation", asked);
    assert.ok(crossed.isError && /operation: must be called with write_operation/.test(crossed.texts[0] ?? ""));
    await assert.rejects(client.callTool("iam_create_group", asked.arguments), /tool "\w+" not found in this selection/);
    assert.match((await client.callTool("write_operation", asked)).texts[1] ?? "", /^Nothing was changed/);
    const subscriptions = objectList((await client.callTool("search_operations", { query: "webhook" })).structured ?? {}, "operations");
    assert.ok(
      subscriptions.some((each) => text(each, "name") === "events_list_subscriptions"),
      "a word of other products finds the operation",
    );
    assert.match((await client.callTool("search_operations", { query: "zebra" })).texts[0] ?? "", /no operation has any of these words: zebra/);
    await client.close();
  });

  test(`a client ${line} gets one page of tools in a stable order, of the named sets, with write tools only on request`, async () => {
    const reading = await connect(line, "/advisory,events");
    const { tools, pages } = await reading.listTools();
    assert.equal(pages, 1);
    const names = tools.map(({ name }) => name);
    assert.deepEqual(names, names.toSorted());
    assert.deepEqual(await namesOf(reading), names);
    assert.ok(tools.every(({ annotations }) => annotations.readOnlyHint === true));
    assert.deepEqual([...new Set(names.map((name) => name.split("_")[0]))], ["advisory", "events"]);
    await reading.close();

    const [byPath, byHeader] = [
      await connect(line, "/iam,events/write"),
      await connect(line, "", { "gantry-toolsets": "events, iam", "gantry-write": "true" }),
    ];
    const chosen = await namesOf(byPath);
    assert.deepEqual([...new Set(chosen.map((name) => name.split("_")[0]))], ["events", "iam"]);
    assert.ok(chosen.includes("iam_delete_group"));
    assert.deepEqual(await namesOf(byHeader), chosen);
    for (const client of [byPath, byHeader]) await client.close();
  });

  test(`a client ${line} can try a change, make it and find it, and the event names its caller`, async () => {
    const client = await connect(line, "/iam/write");
    const group = { name: `made ${line}`, description: "by a tool" };
    const tried = await client.callTool("iam_create_group", { parent: world.organization, group, validateOnly: true });
    assert.equal(tried.isError, false);
    assert.match(tried.texts[1] ?? "", /^Nothing was changed/);
    const found = async (): Promise<JsonObject[]> => objectList((await client.callTool("iam_list_groups", { name: group.name })).structured ?? {}, "groups");
    assert.deepEqual(await found(), []);

    const made = await client.callTool("iam_create_group", { parent: world.organization, group });
    assert.deepEqual(JSON.parse(made.texts[0] ?? ""), made.structured);
    const uid = text(made.structured ?? {}, "uid");
    assert.equal(text((await found())[0] ?? {}, "uid"), uid);
    // Absent fields stay unchanged, as over REST.
    const updated = await client.callTool("iam_update_group", { group: { uid, description: "changed" } });
    assert.equal(text(updated.structured ?? {}, "name"), group.name);
    assert.equal(text(updated.structured ?? {}, "description"), "changed");
    assert.deepEqual((await client.callTool("iam_delete_group", { uid })).structured, {});
    const events = (await world.events()).filter(({ subject }) => subject === uid);
    assert.deepEqual(
      events.map(({ type }) => type.split(".").slice(-2)[0]),
      ["created", "updated", "deleted"],
    );
    assert.ok(events.every(({ actor }) => actor === operatorUid));
    await client.close();
  });

  test(`a client ${line} that repeats a call with its idempotency key changes things once`, async () => {
    const client = await connect(line, "/iam/write");
    const key = `key-${line}`.replaceAll(" ", "-");
    const asked = { parent: world.organization, group: { name: `once ${line}` }, idempotencyKey: key };
    const first = await client.callTool("iam_create_group", asked);
    const again = await client.callTool("iam_create_group", asked);
    assert.deepEqual(again.structured, first.structured);
    assert.equal(first.texts.length, 1);
    assert.match(again.texts[1] ?? "", /^Nothing was changed: this is the response/);
    assert.equal((await world.events()).filter(({ subject }) => subject === text(first.structured ?? {}, "uid")).length, 1);

    const other = await client.callTool("iam_create_group", { ...asked, group: { name: "another" } });
    assert.match(other.texts[0] ?? "", /was used for a different request/);
    for (const idempotencyKey of ["", "a key", "k\n", "é", "k".repeat(256), 7]) {
      const { isError, texts } = await client.callTool("iam_create_group", { ...asked, idempotencyKey });
      assert.ok(isError && /idempotencyKey: must be 1 to 255 visible/.test(texts[0] ?? ""), String(idempotencyKey));
    }
    await client.close();
  });

  test(`a client ${line} gets the server's errors field by field, and an error for an unknown tool`, async () => {
    const client = await connect(line, "/iam/write");
    const { isError, texts } = await client.callTool("iam_create_identity", { parent: world.organization, identity: {} });
    assert.equal(isError, true);
    const error = part(JSON.parse(texts[0] ?? "{}") as JsonObject, "error");
    assert.equal(error.status, "INVALID_ARGUMENT");
    const violations = objectList(objectList(error, "details").find((detail) => "fieldViolations" in detail) ?? {}, "fieldViolations");
    assert.deepEqual(
      violations.map(({ field }) => field),
      ["name"],
    );
    const unknown = await client.callTool("iam_get_group", { uid: world.organization, nonsense: 1 });
    assert.match(unknown.texts[0] ?? "", /nonsense/);
    assert.match((await client.callTool("iam_delete_group", { uid: world.organization, validateOnly: "yes" })).texts[0] ?? "", /validateOnly/);
    await assert.rejects(client.callTool("iam_list_nonsense", {}), /tool "\w+" not found in this selection/);
    await client.close();
  });
}

test("an unknown set of tools is refused with the list of known ones", async () => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
  const token = await world.token();
  const refused = await callHttp(world.url, "POST", "/mcp/iam,nonsense", { token, body });
  assert.equal(refused.status, 400);
  assert.match(refused.message, /unknown toolset "nonsense"; must be one of advisory, .*vulnerabilities, all/);
  assert.match((await callHttp(world.url, "POST", "/mcp", { token, body, headers: { "gantry-write": "yes" } })).message, /gantry-write: must be true or false/);
});

test("a list has pages of at most 25 entries and 20 kB, with total and token, and no gaps between pages", async () => {
  const parent = text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "many" } }), "uid");
  const made: string[] = [];
  for (let index = 0; index < 60; index++) {
    const description = index < 30 ? "" : "é".repeat(512);
    made.push(
      text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name: `group ${String(index).padStart(2, "0")}`, description } }), "uid"),
    );
  }
  const client = await connect("2026-07-28");
  const seen: string[] = [];
  const sizes: number[] = [];
  for (let pageToken: string | undefined; ; ) {
    const asked = { uidp: { childrenOf: parent }, orderBy: "name", pageSize: 200, ...(pageToken === undefined ? {} : { pageToken }) };
    const { structured = {}, texts } = await client.callTool("iam_list_groups", asked);
    const page = objectList(structured, "groups").map(({ uid }) => String(uid));
    assert.ok(Buffer.byteLength(texts[0] ?? "") <= limits.mcpResultBytesMax);
    assert.equal(structured.totalCount, "60");
    seen.push(...page);
    sizes.push(page.length);
    pageToken = typeof structured.nextPageToken === "string" ? structured.nextPageToken : undefined;
    if (pageToken === undefined) break;
  }
  await client.close();
  assert.deepEqual(seen, made);
  assert.equal(sizes[0], limits.mcpItemsMax);
  assert.ok(sizes.every((size) => size >= 1 && size <= limits.mcpItemsMax) && sizes.some((size) => size < limits.mcpItemsMax && size > 5), String(sizes));
});

test("the stateless revision has discovery, result types, cache lifetimes and scopes, and error codes", async () => {
  const discovered = await stateless("server/discover");
  assert.deepEqual(part(discovered.body, "result").supportedVersions, [revision]);
  for (const method of ["server/discover", "tools/list"]) {
    const { resultType, ttlMs, cacheScope } = part((await stateless(method)).body, "result");
    assert.deepEqual([resultType, ttlMs, cacheScope], ["complete", limits.mcpListLifetimeMs, "private"]);
  }
  const refused = async (asked: Promise<{ status: number; body: JsonObject }>): Promise<(Json | undefined)[]> => {
    const { status, body } = await asked;
    return [status, part(body, "error").code];
  };
  assert.deepEqual(await refused(stateless("nothing/here")), [404, -32_601]);
  assert.deepEqual(await refused(stateless("subscriptions/listen", { notifications: {} })), [404, -32_601]);
  const later = { ...envelope, "io.modelcontextprotocol/protocolVersion": "2027-01-01" };
  const laterHeaders = { "mcp-protocol-version": "2027-01-01", "mcp-method": "tools/list" };
  assert.deepEqual(await refused(send({ method: "tools/list", params: { _meta: later } }, laterHeaders)), [400, -32_022]);
  for (const verb of ["GET", "DELETE"]) assert.equal((await callHttp(world.url, verb, "/mcp", { token: await world.token() })).status, 405);
});

for (const older of ["2025-06-18", "2025-11-25"])
  test(`a client that begins with initialize is served in ${older}, without a session`, async () => {
    const params = { protocolVersion: older, capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } };
    const { status, body } = await send({ method: "initialize", params });
    assert.deepEqual([status, part(body, "result").protocolVersion], [200, older]);
    const headers = { "mcp-protocol-version": older };
    assert.equal((await send({ method: "tools/list", params: {} }, headers)).status, 200);
    const called = await send({ method: "tools/call", params: { name: "iam_get_group", arguments: { uid: world.organization } } }, headers);
    assert.equal(part(part(called.body, "result"), "structuredContent").uid, world.organization);
  });

test("a request without a token gets metadata for the sign-in, with the requested address as resource", async () => {
  const own = "http://gantry.example.test";
  for (const [path, at] of [
    ["/mcp", "/mcp"],
    ["/mcp/iam/write", "/mcp/iam/write"],
  ] as const) {
    const refused = await callHttp(world.url, "POST", path, { body: "{}" });
    assert.equal(refused.status, 401);
    const metadata = `/.well-known/oauth-protected-resource${at}`;
    assert.equal(refused.headers["www-authenticate"], `Bearer resource_metadata="${own}${metadata}"`);
    const { resource, authorization_servers: servers } = (await callHttp(world.url, "GET", metadata)).reply;
    assert.deepEqual([resource, servers], [`${own}${at}`, [own]]);
  }
  assert.equal((await callHttp(world.url, "GET", "/.well-known/oauth-protected-resource")).reply.resource, `${own}/mcp`);
});

test("a restricted token gets an error that names the missing scope; an identity without the permission gets a tool error", async () => {
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "iam_create_group", arguments: { parent: world.organization, group: { name: "x" } } },
  });
  const narrow = await world.token(undefined, { capabilities: ["groups.list"] });
  const headers = { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25" };
  const refused = await callHttp(world.url, "POST", "/mcp/iam/write", { token: narrow, headers, body });
  assert.equal(refused.status, 403);
  assert.match(refused.headers["www-authenticate"] ?? "", /^Bearer error="insufficient_scope", scope="groups\.create", resource_metadata="http/);
  const identity = { name: "nobody", claimMatch: { issuer: "https://issuer.example.com", subject: "nobody" } };
  const uid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity }), "uid");
  const denied = await callHttp(world.url, "POST", "/mcp/iam/write", { token: await world.token(uid), headers, body });
  assert.equal(denied.status, 200);
  assert.match(denied.raw, /"isError":true.*PERMISSION_DENIED|PERMISSION_DENIED.*"isError":true/);
});
