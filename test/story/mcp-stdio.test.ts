// `gantry mcp`: standard output contains protocol messages only, and the credential is that of every command.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text as readAll } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { connectMcp, type McpClient, type McpLine, mcpLines } from "../mcp-client.ts";
import { freePort } from "../free-port.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world?.close());

const { PATH = "", HOME = "" } = process.env;

const connect = async (line: McpLine, args: readonly string[], env: Readonly<Record<string, string>>): Promise<McpClient> =>
  connectMcp(line, { command: process.execPath, args: ["cli/main.ts", "mcp", ...args], env: { PATH, HOME, ...env } });

for (const line of mcpLines) {
  test(`a client ${line} starts it, sees the selected tools, and calls them with the user's token`, async () => {
    const env = { GANTRY_SERVER: world.url, GANTRY_TOKEN: await world.token() };
    const client = await connect(line, ["--toolsets", "iam", "--write"], env);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    assert.ok(names.every((name) => name.startsWith("iam_")) && names.includes("iam_create_group"));
    const group = { name: `by ${line}`, description: "over standard input" };
    const asked = { parent: world.organization, group, idempotencyKey: `key-${names.length}-${line.length}` };
    const made = await client.callTool("iam_create_group", asked);
    assert.match((await client.callTool("iam_create_group", asked)).texts[1] ?? "", /^Nothing was changed: this is the response/);
    assert.equal(made.structured?.name, group.name);
    const updated = await client.callTool("iam_update_group", { group: { uid: made.structured?.uid ?? "", description: "changed" } });
    assert.deepEqual([updated.structured?.name, updated.structured?.description], [group.name, "changed"]);
    const refused = await client.callTool("iam_create_group", { parent: world.organization, group: { name: "" }, nonsense: 1 });
    assert.match(refused.texts[0] ?? "", /"status":"INVALID_ARGUMENT".*nonsense/);
    const named = await client.callTool("iam_create_group", { parent: world.organization, group: { name: "" } });
    assert.match(named.texts[0] ?? "", /"fieldViolations":\[\{"field":"name"/);
    await client.close();
  });
}

test("a refused token and an unreachable server are reported in the call's result", async () => {
  const refused = await connect("2026-07-28", [], { GANTRY_SERVER: world.url, GANTRY_TOKEN: "garbage" });
  assert.match((await refused.callTool("iam_list_groups", {})).texts[0] ?? "", /"status":"UNAUTHENTICATED".*GANTRY_TOKEN/);
  await refused.close();
});

/** Runs the command with these lines as its whole standard input. */
const run = async (
  args: readonly string[],
  lines: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ out: string; err: string; status: number | null }> => {
  const child = spawn(process.execPath, ["cli/main.ts", "mcp", ...args], { env: { PATH, HOME, ...env } });
  const ended = once(child, "close");
  const [out, err] = [readAll(child.stdout), readAll(child.stderr)];
  child.stdin.write(lines.map((each) => `${each}\n`).join(""));
  // Reads the response before closing standard input.
  if (lines.length > 0) await once(child.stdout, "readable");
  child.stdin.end();
  await ended;
  return { out: await out, err: await err, status: child.exitCode };
};

test("standard output contains protocol messages only, and the end of standard input ends the command", async () => {
  const env = { GANTRY_SERVER: `http://127.0.0.1:${await freePort()}`, GANTRY_TOKEN: "garbage" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const { out, status } = await run([], ["not a message", JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })], env);
  for (const each of out.trim().split("\n")) {
    const message = JSON.parse(each) as Json;
    assert.equal(isObject(message) && (message as JsonObject).jsonrpc, "2.0");
  }
  assert.equal(status, 0);
  const wrong = await run(["--toolsets", "nonsense"], [], env);
  assert.deepEqual([wrong.out, wrong.status === 0], ["", false]);
  assert.match(wrong.err, /unknown toolset "nonsense"; must be one of advisory/);
});
