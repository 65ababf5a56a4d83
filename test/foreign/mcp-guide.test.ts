// docs/guides/mcp.md as written: each client configuration works with the official SDK's client, and the command for a manual test runs.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { isObject, type Json, type JsonObject, text, texts } from "#base/json.ts";
import { connectMcp, type McpPlace } from "../mcp-client.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world?.close());

const guide = readFileSync("docs/guides/mcp.md", "utf8");
const blocks = [...guide.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language = "", block = ""]) => ({ language, block }));

/** Parses the arguments of "claude mcp add". */
const serverOfCommand = (line: string): JsonObject => {
  const words = line.trim().split(" ");
  const separator = words.indexOf("--");
  if (separator >= 0) return { command: words[separator + 1] ?? "", args: words.slice(separator + 2) };
  assert.deepEqual(words.slice(3, 6), ["--transport", "http", "gantry"]);
  return { url: words[6] ?? "" };
};

const servers = blocks.flatMap(({ language, block }): JsonObject[] => {
  if (block.startsWith("claude mcp add")) return [serverOfCommand(block)];
  if (language !== "json") return [];
  const { servers: ofCode, mcpServers: ofOthers } = JSON.parse(block) as { servers?: JsonObject; mcpServers?: JsonObject };
  return Object.values(ofCode ?? ofOthers ?? {}).filter((each: Json) => isObject(each));
});

const placeOf = async (server: JsonObject): Promise<McpPlace> => {
  const token = await world.token();
  const here = (value: string): string => value.replace("https://gantry.example.com", world.url);
  // Replaces the interactive sign-in.
  if (text(server, "url") !== "") return { url: here(text(server, "url")), headers: { authorization: `Bearer ${token}` } };
  assert.equal(server.command, "gantry");
  const { PATH = "", HOME = "" } = process.env;
  return { command: process.execPath, args: ["cli/main.ts", ...texts(server, "args").map(here)], env: { PATH, HOME, GANTRY_TOKEN: token } };
};

test("the guide has configurations for three clients, over HTTP and over standard input", () => {
  assert.equal(servers.filter((server) => text(server, "url") !== "").length, 3);
  assert.equal(servers.filter((server) => text(server, "command") !== "").length, 3);
});

for (const [index, server] of servers.entries()) {
  test(`configuration ${index + 1} of the guide works as written`, async (t) => {
    const client = await connectMcp("with initialize", await placeOf(server));
    t.after(() => client.close());
    const { tools } = await client.listTools();
    assert.ok(tools.length > 5 && tools.every(({ annotations }) => annotations.readOnlyHint === true));
    assert.match((await client.callTool("iam_list_groups", {})).texts[0] ?? "", new RegExp(world.organization));
  });
}

test("the guide's manual test command prints what the guide shows", async () => {
  const at = blocks.findIndex(({ language }) => language === "sh");
  const env = { ...process.env, BASE: world.url, TOKEN: await world.token() };
  const { stdout } = await promisify(execFile)("bash", ["-ec", blocks[at]?.block ?? "exit 1"], { env });
  const shown = (blocks[at + 1]?.block ?? "").split("…")[0] ?? "";
  assert.ok(shown.length > 50 && stdout.startsWith(shown), stdout);
});
