// Every suitable operation is a tool with a correct description, and responds over HTTP and standard input as over REST.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { isObject, type Json, type JsonObject, part } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { methods } from "#contract/catalog.ts";
import { takesIdempotencyKey } from "../../client/operation.ts";
import type { MethodFact } from "#contract/facts.ts";
import { connectMcp, type ListedTool, type McpClient, type McpLine, mcpLines } from "../mcp-client.ts";
import { shortOrLong } from "../length.ts";
import { nonEmpty } from "../samples.ts";
import { isToolOperation } from "../../server/mcp/selection.ts";
import { pagedFieldOf } from "../../server/mcp/result.ts";
import { toolNameOf } from "../../server/mcp/tools.ts";
import { answerableRequest, folder, openStage } from "./stage.ts";

const stage = await openStage();
const { world } = stage;
const opened: McpClient[] = [];
after(async () => {
  for (const client of opened) await client.close();
  await stage.close();
});

const owner = await stage.owner();
const place = await folder(stage);

const overHttp = async (token: string, path: string, line: McpLine = "2026-07-28"): Promise<McpClient> => {
  const client = await connectMcp(line, { url: `${world.url}/mcp/${path}`, headers: { authorization: `Bearer ${token}` } });
  opened.push(client);
  return client;
};

const overStdio = async (token: string, line: McpLine): Promise<McpClient> => {
  const { PATH = "", HOME = "" } = process.env;
  const client = await connectMcp(line, {
    command: process.execPath,
    args: ["cli/main.ts", "mcp", "--toolsets", "all"],
    env: { PATH, HOME, GANTRY_SERVER: world.url, GANTRY_TOKEN: token },
  });
  opened.push(client);
  return client;
};

const http = await overHttp(owner, "all/write");
const { tools } = await http.listTools();
const byName = new Map(tools.map((tool) => [tool.name, tool]));
const operations = nonEmpty(
  methods.filter((method) => isToolOperation(method)),
  "operation that can be a tool",
);

const toolOf = (method: MethodFact): ListedTool => {
  const tool = byName.get(toolNameOf(method));
  assert.ok(tool, `${method.name} is no tool`);
  return tool;
};

const secretOperations: ReadonlySet<string> = new Set([
  "CreateGroupInvite",
  "CreateIdentityProvider",
  "CreateSubscription",
  "GenerateScimToken",
  "RegenerateScimToken",
  "RotateSubscriptionSecret",
  "UpdateIdentityProvider",
]);

test("every operation except binary, credential and personal ones is exactly one tool with a short, unique name", () => {
  assert.equal(tools.length, operations.length);
  assert.equal(byName.size, tools.length);
  for (const { name } of tools) assert.match(name, /^[a-z][a-z0-9_]{1,59}$/);
  for (const method of methods) {
    const isBytes = method.distribution !== undefined || method.givesFile || method.scim !== undefined;
    const isOfCredentials = method.credentials || secretOperations.has(method.rpc);
    assert.equal(byName.has(toolNameOf(method)) && isToolOperation(method), !isBytes && !isOfCredentials && !method.personal, method.name);
  }
});

test("every tool describes its purpose and each argument", () => {
  for (const method of operations) {
    const { description, inputSchema } = toolOf(method);
    assert.match(description, /^[A-Z][^\0]{10,}[.?:)]$/s, method.name);
    for (const [name, argument] of Object.entries(part(inputSchema, "properties")))
      assert.ok(isObject(argument) && typeof argument.description === "string" && argument.description.length > 5, `${method.name}: ${name}`);
  }
});

test("hints are right for each verb", () => {
  for (const method of operations) {
    const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = toolOf(method).annotations;
    const [verb = ""] = /^[A-Z][a-z]+/.exec(method.rpc) ?? [];
    const says = `${method.rpc}: ${JSON.stringify(toolOf(method).annotations)}`;
    assert.equal(readOnlyHint, !method.writes, says);
    if (["Get", "List", "Lookup"].includes(verb)) assert.deepEqual([readOnlyHint, destructiveHint, openWorldHint], [true, false, false], says);
    if (verb === "Create") assert.deepEqual([readOnlyHint, destructiveHint, idempotentHint, openWorldHint], [false, false, false, false], says);
    if (["Update", "Delete", "Revoke", "Set", "Remove"].includes(verb))
      assert.deepEqual([readOnlyHint, destructiveHint, idempotentHint], [false, true, true], says);
    if (["Rotate", "Regenerate"].includes(verb)) assert.deepEqual([readOnlyHint, destructiveHint, idempotentHint], [false, true, false], says);
    const taken = part(toolOf(method).inputSchema, "properties");
    assert.equal("validateOnly" in taken, method.writes, says);
    assert.equal("idempotencyKey" in taken, takesIdempotencyKey(method), says);
  }
});

test("a tool's schema accepts every request that the server accepts", async () => {
  const validator = new AjvJsonSchemaValidator();
  for (const method of operations.filter(stage.answers)) {
    const isValid = validator.getValidator(toolOf(method).inputSchema);
    for (const whole of shortOrLong([true], [true, false])) {
      const request = await stage.request(method, { place, whole });
      const { valid, errorMessage } = isValid(request);
      assert.ok(valid, `${method.rpc}: ${errorMessage ?? ""} ${JSON.stringify(request)}`);
    }
  }
});

const reads = nonEmpty(
  operations.filter((method) => !method.writes && stage.answers(method)),
  "operation that reads",
);

/** Replaces sealed tokens, which differ each time, and cuts a page of long entries to as many as the tool returns. */
const settled = (method: MethodFact, reply: JsonObject, most = Number.POSITIVE_INFINITY): Json => {
  const listed = pagedFieldOf(method);
  return JSON.parse(
    JSON.stringify(reply, (key, value: Json) =>
      key === "nextPageToken" ? "a token" : key === listed && Array.isArray(value) && value.length > most ? value.slice(0, most) : value,
    ),
  ) as Json;
};

/** Created once, since both transports send the same requests. */
const asked = new Map<MethodFact, JsonObject>();
for (const method of reads) asked.set(method, await answerableRequest(stage, method, place, true));

for (const line of mcpLines) {
  test(`every read tool returns over HTTP and standard input what REST returns: ${line}`, async () => {
    const [ofHttp, ofStdio] = [await overHttp(owner, "all", line), await overStdio(owner, line)];
    // With the list, official clients check results against the tool's output schema.
    const listed = await ofStdio.listTools();
    assert.deepEqual([listed.pages, listed.tools], [1, (await ofHttp.listTools()).tools]);
    let whole = 0;
    for (const [method, request] of asked) {
      const sized: JsonObject = method.input.byName.has("page_size") ? { ...request, pageSize: limits.mcpItemsMax } : request;
      const rest = await stage.call("rest", method, sized, { token: owner });
      for (const client of [ofHttp, ofStdio]) {
        const { isError, structured = {}, texts } = await client.callTool(toolNameOf(method), request);
        assert.equal(isError, rest.code !== 0, `${method.rpc}: ${texts.join()} ${rest.message}`);
        if (isError) {
          assert.match(texts[0] ?? "", new RegExp(`"code":${rest.code},`), method.rpc);
          continue;
        }
        assert.deepEqual(JSON.parse(texts[0] ?? ""), structured, method.rpc);
        // A second text reports that the result was cut.
        if (texts.length > 1) continue;
        const entries = structured[pagedFieldOf(method) ?? ""];
        const most = Array.isArray(entries) && entries.length > 0 ? entries.length : undefined;
        assert.deepEqual(settled(method, structured), settled(method, rest.reply, most), method.rpc);
        whole++;
      }
    }
    assert.ok(whole > reads.length, `${whole} of ${2 * reads.length} answers were whole`);
  });
}

test("a caller without the permission is refused by every tool that needs one", async () => {
  const stranger = await overHttp((await stage.stranger(world.organization)).token, "all/write");
  const scoped = nonEmpty(
    operations.filter((method) => stage.answers(method) && method.scope !== undefined && method.capabilities.length > 0),
    "operation that needs a right at a place",
  );
  for (const method of scoped) {
    const request = await stage.request(method, { place, uid: place });
    const { isError, texts } = await stranger.callTool(toolNameOf(method), request);
    assert.equal(isError, true, method.rpc);
    assert.match(texts[0] ?? "", /"status":"(?:PERMISSION_DENIED|NOT_FOUND)"/, `${method.rpc}: ${texts[0]}`);
  }
});
