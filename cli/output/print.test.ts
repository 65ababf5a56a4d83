// Column selection by terminal width.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { messageByName } from "#contract/catalog.ts";
import { type FindPaths, openListPrinter } from "./print.ts";

const organization = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567";
const child = `${organization}/89abcdef01234567`;

const printed = async (message: string, resource: JsonObject, columns: number, findPaths?: FindPaths): Promise<string> => {
  const fact = messageByName(message);
  assert.ok(fact !== undefined, message);
  let content = "";
  const write = async (text: string | Uint8Array): Promise<void> => void (content += String(text));
  const now = (): number => Date.parse("2026-11-23T08:05:00Z");
  const printer = openListPrinter(
    { format: "table", columns: undefined, out: { isTTY: true, columns }, colored: false, now, write },
    fact,
    "rows",
    findPaths && { findPaths, sorted: true },
  );
  await printer.add([resource]);
  await printer.end({});
  return content;
};

const subscription = { uid: child, sink: "https://hooks.example.com/gantry", createTime: "2026-11-23T08:00:00.000Z", enabled: true };

test("a resource without a name drops its uid if its fields would not fit otherwise", async () => {
  const wide = await printed("chainguard.platform.events.v2.Subscription", subscription, 160);
  assert.match(wide, /^SINK +CREATE TIME +ENABLED +UID\n.*0a1b2c3d/);
  const narrow = await printed("chainguard.platform.events.v2.Subscription", subscription, 80);
  assert.match(narrow, /^SINK +CREATE TIME +ENABLED\nhttps:\/\/hooks\.example\.com\/gantry /);
});

test("a resource with a name keeps its uid in a narrow terminal, and a table that fits has every column", async () => {
  const group = { uid: child, name: "team", description: "who builds it", createTime: "2026-11-23T08:00:00.000Z", updateTime: "2026-11-23T08:00:00.000Z" };
  assert.equal(await printed("chainguard.platform.iam.v2.Group", group, 70), `NAME  UID\nteam  ${child}\n`);
  const invite = { uid: child, role: { uid: organization, name: "viewer" }, email: "a@example.com" };
  assert.match(await printed("chainguard.platform.iam.v2.GroupInvite", invite, 90), /^ROLE +EMAIL +UID\n/);
});

test("a resource with a name path shows that path, never cut, instead of its uid", async () => {
  const group = { uid: child, name: "team", description: "d".repeat(100), createTime: "2026-11-23T08:00:00.000Z" };
  const byPath = async (): Promise<ReadonlyMap<string, string>> => new Map([[child, "acme/a-team-with-a-long-name"]]);
  assert.equal(
    await printed("chainguard.platform.iam.v2.Group", group, 60, byPath),
    "NAME                          CREATE TIME\nacme/a-team-with-a-long-name  5m ago\n",
  );
});

test("a referenced resource is shown by its path, or by its uid if it has none", async () => {
  const other = `${organization}/fedcba9876543210`;
  const entry = { uid: `${organization}/0000000000000001`, sequence: 1, callerUid: child, operation: "gantry token", subject: other };
  const byPath: FindPaths = async ({ short }) => new Map(short === "Identity" ? [[child, "acme/bot"]] : []);
  assert.match(await printed("gantry.audit.v1.AuditEntry", entry, 300, byPath), /^SEQUENCE +CALLER +OPERATION +SUBJECT +UID\n1 +acme\/bot +gantry token +/);
  assert.match(await printed("gantry.audit.v1.AuditEntry", entry, 300, async () => new Map()), new RegExp(`CALLER UID.*\\n1 +${child} `));
});
