// What others can do to whoever types a command: with texts that a terminal obeys (attack 142), and with names that stand where
// somebody else's is meant (attack 143).

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { text } from "#base/json.ts";
import { isUnprintable } from "../../cli/output/escape.ts";
import { outputFormats } from "../../cli/output/format.ts";
import { runGantry } from "../command-line.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let folder: string;
let environment: Record<string, string>;
let hostile: Server;
let hostileUrl: string;

/** Moves the cursor, rewrites lines above, sets the clipboard and the title, hides, turns the direction. */
const evil = "\u001b[2J\u001b[1;1H\u001b]52;c;cm0gLXJm\u0007\u009b31m\u202egnp\u2066\u200b\rdone\u0008";

before(async () => {
  world = await openWorld();
  folder = await mkdtemp(join(tmpdir(), "gantry-command-line-"));
  environment = { GANTRY_SERVER: world.url, GANTRY_TOKEN: await world.token(), XDG_CONFIG_HOME: folder, NO_COLOR: "1" };
  // A server that says whatever it likes.
  hostile = createServer((request, response) => {
    const refuses = request.url?.includes("roles") === true;
    response.writeHead(refuses ? 400 : 200, { "content-type": "application/json" });
    const item = { uid: `${"a".repeat(40)}${evil}`, name: `x${evil}`, description: evil, [`k${evil}`]: evil, status: evil, createTime: evil };
    const violation = { field: evil, description: evil };
    const details = [{ "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [violation] }];
    response.end(JSON.stringify(refuses ? { code: 3, message: evil, details } : request.url?.includes("?") ? { groups: [item], totalCount: evil } : item));
  });
  await new Promise<void>((resolve) => hostile.listen(0, "127.0.0.1", resolve));
  hostileUrl = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`;
});
after(async () => {
  hostile.close();
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

test("attack 142: no form of output and no error brings to a terminal what it would obey, whatever the server says", async () => {
  const at = { ...environment, GANTRY_SERVER: hostileUrl };
  for (const format of outputFormats)
    for (const args of [
      ["iam", "groups", "list"],
      ["iam", "groups", "get", "a".repeat(40)],
      ["iam", "roles", "list"],
    ]) {
      const { out, err } = await runGantry([...args, "-o", format], { environment: at, columns: 100 });
      for (const written of [out, err]) assert.ok(!isUnprintable(written.replaceAll("\n", "")), `${args.join(" ")} -o ${format}: ${JSON.stringify(written)}`);
      assert.match(`${out}${err}`, /\\u001b|\\e/, `${args.join(" ")} -o ${format} shows what was escaped`);
    }
  // Where it asks whether to delete, too.
  const asked = await runGantry(["iam", "groups", "delete", "a".repeat(40)], { environment: at, columns: 100, input: "n\n" });
  assert.ok(!isUnprintable(asked.err.replaceAll("\n", "")), JSON.stringify(asked.err));
});

test("attack 231: a name of signs that no screen shows is not blank, nor like another's, in any form of output", async () => {
  const blank = "\u3164\u115f\u1160\uffa0\u2800";
  const hidden = "harbour\ufe06\ufe04\u{e0100}";
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "harbour" } }), "uid");
  for (const description of [blank, hidden]) {
    await world.ok("iam.GroupsService/UpdateGroup", { group: { uid: group, description }, updateMask: "description" });
    for (const format of ["table", "wide", "json", "yaml", "jsonl"]) {
      const { out } = await runGantry(["iam", "groups", "get", group, "-o", format], { environment, columns: 200 });
      assert.doesNotMatch(out, /[\u2800\p{Default_Ignorable_Code_Point}]/u, format);
      if (format !== "table") assert.match(out, description === blank ? /\\u3164\\u115f\\u1160\\uffa0\\u2800/ : /harbour\\ufe06\\ufe04\\udb40\\udd00/, format);
    }
  }
});

test("attack 142: a line break in a name makes no second line for the program that reads names or uids", async () => {
  const at = { ...environment, GANTRY_SERVER: hostileUrl };
  for (const format of ["uid", "name", "jsonl"] as const) {
    const { out } = await runGantry(["iam", "groups", "list", "-o", format], { environment: at });
    assert.equal(out.split("\n").length, 2, format);
  }
});

test("attack 143: whoever names a group as somebody else's is makes a command fail, and turns none of it to their own", async () => {
  const mine = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "contoso" } }), "uid");
  const repo = text(await world.ok("registry.ReposService/CreateRepo", { parent: mine, repo: { name: "app" } }), "uid");
  assert.equal((await runGantry(["registry", "repos", "get", "contoso/app", "-o", "uid"], { environment })).out, `${repo}\n`);
  // No organization takes a name that another has; a group below one does.
  const elsewhere = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "northwind" } }), "uid");
  const theirs = text(await world.ok("iam.GroupsService/CreateGroup", { parent: elsewhere, group: { name: "contoso" } }), "uid");
  await world.ok("registry.ReposService/CreateRepo", { parent: theirs, repo: { name: "app" } });
  for (const args of [
    ["registry", "repos", "delete", "contoso/app", "--yes"],
    ["registry", "repos", "update", "contoso/app", "--description", "theirs"],
    ["registry", "repos", "create", "--parent", "contoso", "--name", "other"],
    ["iam", "groups", "delete", "contoso", "--yes"],
  ]) {
    const { status, out, err } = await runGantry(args, { environment });
    assert.deepEqual([status, out], [8, ""], args.join(" "));
    assert.match(err, /is ambiguous: 2 have this name/);
  }
  assert.equal(text(await world.ok("registry.ReposService/GetRepo", { uid: repo }), "description"), "");
});

test("attack 143: what looks like a uid is one, so that a group called like another's uid stands in nobody's place", async () => {
  const mine = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "fabrikam" } }), "uid");
  const theirs = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: mine } }), "uid");
  const read = await runGantry(["iam", "groups", "get", mine, "-o", "uid"], { environment });
  assert.deepEqual([read.status, read.out], [0, `${mine}\n`]);
  const forced = await runGantry(["iam", "groups", "get", `name:${mine}`, "-o", "uid"], { environment });
  assert.deepEqual([forced.status, forced.out], [0, `${theirs}\n`]);
});
