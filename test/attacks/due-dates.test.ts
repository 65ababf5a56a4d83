// Attacks on due dates of findings: policies of others, callers without the permission, and images that are pushed again.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { critical, dayMs, type Deadlines, openDeadlines } from "../due-dates.ts";
import type { Tenant } from "../authoring.ts";

const service = "gantry.findings.v1.DueDatePoliciesService";

let stage: Deadlines;
let tenants = 0;

before(async () => {
  stage = await openDeadlines();
});
after(() => stage?.close());

const newTenant = (): Promise<Tenant> => stage.newTenant(`tenant-${++tenants}`);
const now = (): number => stage.world.clock.now;

test("attack 368: a due date policy changes no due date of other organizations, parent groups and sibling groups", async () => {
  const [own, rival] = [await newTenant(), await newTenant()];
  const [team, sibling] = [await stage.newGroup(own.group, "team"), await stage.newGroup(own.group, "sibling")];
  const sinceMs = now();
  for (const [group, repo] of [[own.group, "top"] as const, [team, "team"] as const, [sibling, "sibling"] as const, [rival.group, "rival"] as const])
    await stage.importImage(group, repo, ["zlib=1.2.0-r0"]);
  for (const { group } of [own, rival]) await stage.publish(group, "CVE-2026-2001", "zlib", critical);
  await stage.setPolicy(own, { criticalDays: 3 }, team);
  await stage.setPolicy(own, { criticalDays: 9 }, sibling);
  assert.deepEqual((await stage.due(own, sinceMs)).sort(), ["CVE-2026-2001 sibling 9", "CVE-2026-2001 team 3", "CVE-2026-2001 top none"]);
  assert.deepEqual(await stage.due(rival, sinceMs), ["CVE-2026-2001 rival none"]);
  const overdueAt = (tenant: Tenant): Promise<string[]> => stage.due(tenant, sinceMs, { overdue: true });
  stage.world.clock.now = sinceMs + 4 * dayMs;
  assert.deepEqual([await overdueAt(own), await overdueAt(rival)], [["CVE-2026-2001 team 3"], []]);
});

test("attack 369: only an owner of the group sets or withdraws its due date policies", async () => {
  const [own, rival] = [await newTenant(), await newTenant()];
  const uid = await stage.setPolicy(own, { criticalDays: 3 });
  const { token: viewer } = await stage.newOwner(own.group, "viewer", "viewer");
  const { token: editor } = await stage.newOwner(own.group, "editor", "editor");
  const stranger = await stage.world.token(rival.authorUid);
  for (const token of [viewer, editor, stranger]) {
    const created = await stage.world.call(`${service}/CreateDueDatePolicy`, { parent: own.group, dueDatePolicy: { criticalDays: 3650 } }, { token });
    const deleted = await stage.world.call(`${service}/DeleteDueDatePolicy`, { uid }, { token });
    assert.deepEqual([created.code, deleted.code], [codes.PERMISSION_DENIED, codes.PERMISSION_DENIED]);
  }
  assert.equal((await stage.world.ok(`${service}/GetDueDatePolicy`, { uid }, { token: viewer })).uid, uid);
  assert.equal((await stage.world.call(`${service}/GetDueDatePolicy`, { uid }, { token: stranger })).code, codes.PERMISSION_DENIED);
  assert.equal((await stage.world.ok(`${service}/ListDueDatePolicies`, {}, { token: stranger })).totalCount, "0");
});

test("attack 379: a new image of the repo does not postpone the due date of a vulnerability that it still has", async () => {
  const own = await newTenant();
  await stage.setPolicy(own, { criticalDays: 30 });
  const sinceMs = now();
  await stage.importImage(own.group, "web", ["zlib=1.2.0-r0"]);
  await stage.publish(own.group, "CVE-2026-2011", "zlib", critical);
  const uidOf = async (): Promise<unknown> => (await stage.list(own)).findings;
  const first = await uidOf();
  for (const day of [10, 20]) {
    stage.world.clock.now = sinceMs + day * dayMs;
    await stage.importImage(own.group, "web", ["zlib=1.2.0-r0", `added=${day}.0.0-r0`]);
    await stage.match();
    assert.notDeepEqual(await uidOf(), first);
    assert.deepEqual(await stage.due(own, sinceMs), ["CVE-2026-2011 web 30"]);
  }
  // A repaired repo that is affected again later has a new due date.
  await stage.importImage(own.group, "web", ["curl=1.2.0-r0"]);
  await stage.match();
  assert.deepEqual(await stage.due(own, sinceMs), []);
  stage.world.clock.now = sinceMs + 50 * dayMs;
  await stage.importImage(own.group, "web", ["zlib=1.2.0-r0", "curl=1.2.0-r0"]);
  await stage.match();
  assert.deepEqual(await stage.due(own, now()), ["CVE-2026-2011 web 30"]);
});
