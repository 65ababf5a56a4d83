// Due dates of findings by the policies of groups, as an organization's owner sets and lists them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { objectList, part, text } from "#base/json.ts";
import { critical, dayMs, type Deadlines, high, low, openDeadlines } from "../due-dates.ts";
import type { Tenant } from "../authoring.ts";

let stage: Deadlines;
let tenants = 0;

before(async () => {
  stage = await openDeadlines();
});
after(() => stage?.close());

const newTenant = (): Promise<Tenant> => stage.newTenant(`due-${++tenants}`);
const now = (): number => stage.world.clock.now;

test("a finding is due by its severity, and a changed policy takes effect on existing findings", async () => {
  const own = await newTenant();
  await stage.importImage(own.group, "web", ["zlib=1.2.0-r0"]);
  const sinceMs = now();
  for (const [id, vector] of [["CVE-2026-1101", critical] as const, ["CVE-2026-1102", high] as const, ["CVE-2026-1103", low] as const])
    await stage.publish(own.group, id, "zlib", vector);
  const sorted = async (): Promise<string[]> => (await stage.due(own, sinceMs)).sort();
  assert.deepEqual(await sorted(), ["CVE-2026-1101 web none", "CVE-2026-1102 web none", "CVE-2026-1103 web none"]);
  const policy = await stage.setPolicy(own, { criticalDays: 7, highDays: 30 });
  assert.deepEqual(await sorted(), ["CVE-2026-1101 web 7", "CVE-2026-1102 web 30", "CVE-2026-1103 web none"]);
  // Of several policies, the earliest due date counts.
  await stage.setPolicy(own, { criticalDays: 9, highDays: 20, lowDays: 90 });
  assert.deepEqual(await sorted(), ["CVE-2026-1101 web 7", "CVE-2026-1102 web 20", "CVE-2026-1103 web 90"]);
  await stage.publish(own.group, "CVE-2026-1103", "zlib", critical);
  assert.deepEqual(await sorted(), ["CVE-2026-1101 web 7", "CVE-2026-1102 web 20", "CVE-2026-1103 web 7"]);
  await stage.deletePolicy(own, policy);
  assert.deepEqual(await sorted(), ["CVE-2026-1101 web 9", "CVE-2026-1102 web 20", "CVE-2026-1103 web 9"]);
});

test("the policies of the nearest group count, without those of the groups above", async () => {
  const own = await newTenant();
  const team = await stage.newGroup(own.group, "team");
  const inner = await stage.newGroup(team, "inner");
  const sinceMs = now();
  await stage.importImage(own.group, "top", ["zlib=1.2.0-r0"]);
  await stage.importImage(inner, "deep", ["zlib=1.2.0-r0"]);
  await stage.publish(own.group, "CVE-2026-1111", "zlib", critical);
  await stage.setPolicy(own, { criticalDays: 5 });
  const inTeam = await stage.setPolicy(own, { criticalDays: 50, highDays: 60 }, team);
  const sorted = async (): Promise<string[]> => (await stage.due(own, sinceMs)).sort();
  assert.deepEqual(await sorted(), ["CVE-2026-1111 deep 50", "CVE-2026-1111 top 5"]);
  await stage.deletePolicy(own, inTeam);
  assert.deepEqual(await sorted(), ["CVE-2026-1111 deep 5", "CVE-2026-1111 top 5"]);
});

test("a known exploited vulnerability is due by its own days or at the end of the catalog's day, if that is earlier", async () => {
  const own = await newTenant();
  await stage.importImage(own.group, "web", ["zlib=1.2.0-r0"]);
  const sinceMs = now();
  await stage.publish(own.group, "CVE-2026-1121", "zlib", low);
  await stage.setPolicy(own, { lowDays: 90, exploitedDays: 3 });
  assert.deepEqual(await stage.due(own, sinceMs), ["CVE-2026-1121 web 90"]);
  const day = new Date(sinceMs + dayMs).toISOString().slice(0, 10);
  await stage.exploit({ "CVE-2026-1121": day });
  await stage.match();
  assert.deepEqual(await stage.due(own, sinceMs), ["CVE-2026-1121 web 3"]);
  await stage.setPolicy(own, { useExploitDueDate: true });
  const endMs = Date.parse(`${day}T00:00:00Z`) + dayMs;
  assert.deepEqual(await stage.due(own, endMs), ["CVE-2026-1121 web 0"]);
});

test("a policy for fixable findings counts from when the fix became known", async () => {
  const own = await newTenant();
  await stage.importImage(own.group, "web", ["zlib=1.2.0-r0"]);
  await stage.setPolicy(own, { criticalDays: 7, fixableOnly: true });
  await stage.publish(own.group, "CVE-2026-1131", "zlib", critical);
  assert.deepEqual(await stage.due(own, now()), ["CVE-2026-1131 web none"]);
  stage.world.clock.now += 10 * dayMs;
  await stage.publish(own.group, "CVE-2026-1131", "zlib", critical, "1.3.0-r0");
  assert.deepEqual(await stage.due(own, now()), ["CVE-2026-1131 web 7"]);
  assert.equal((await stage.list(own, { overdue: true })).totalCount, "0");
});

test("overdue findings are filtered, counted and listed with the earliest due date first, in pages of any size", async () => {
  const own = await newTenant();
  await stage.importImage(own.group, "web", ["zlib=1.2.0-r0", "curl=8.0.0-r0"]);
  const sinceMs = now();
  for (const [id, name, vector] of [
    ["CVE-2026-1141", "zlib", high],
    ["CVE-2026-1142", "curl", critical],
    ["CVE-2026-1143", "curl", low],
  ] as const)
    await stage.publish(own.group, id, name, vector, "9.0.0-r0");
  await stage.setPolicy(own, { criticalDays: 2, highDays: 1 });
  stage.world.clock.now = sinceMs + 1.5 * dayMs;
  const overdue = await stage.list(own, { overdue: true, orderBy: "due_time" });
  assert.deepEqual([overdue.totalCount, part(overdue, "summary").overdueCount], ["1", "1"]);
  const all = await stage.list(own, { orderBy: "due_time", pageSize: 2 });
  assert.deepEqual([all.totalCount, part(all, "summary").overdueCount], ["3", "1"]);
  const rest = await stage.list(own, { orderBy: "due_time", pageSize: 2, pageToken: all.nextPageToken ?? "" });
  const ids = [...objectList(all, "findings"), ...objectList(rest, "findings")].map((row) => text(row, "advisoryId"));
  assert.deepEqual(ids, ["CVE-2026-1141", "CVE-2026-1142", "CVE-2026-1143"]);
  stage.world.clock.now = sinceMs + 3 * dayMs;
  for (const pageSize of [1, 50])
    for (const orderBy of ["due_time", "due_time desc", "uid", "severity desc"]) {
      const found: string[] = [];
      for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
        const page = await stage.list(own, { overdue: true, minSeverity: "FINDING_SEVERITY_HIGH", orderBy, pageSize, pageToken });
        found.push(...objectList(page, "findings").map((row) => text(row, "advisoryId")));
        pageToken = text(page, "nextPageToken") || undefined;
      }
      const expected = ["CVE-2026-1141", "CVE-2026-1142"];
      assert.deepEqual(orderBy === "uid" ? found.toSorted() : found, /desc/.test(orderBy) ? expected.toReversed() : expected, `${orderBy}, ${pageSize} a page`);
    }
  const request = { groupBy: "FINDING_GROUP_BY_PACKAGE", uidp: { descendantsOf: own.group }, orderBy: "overdue_count desc" };
  const grouped = await stage.call(own, "gantry.findings.v1.FindingsService/GroupFindings", request);
  const counts = objectList(grouped, "groups").map((group) => `${text(group, "label")} ${String(group.findingCount)} ${String(group.overdueCount)}`);
  assert.deepEqual(counts.toSorted(), ["curl 2 1", "zlib 1 1"]);
  // A suppressed finding is not overdue.
  const findingDecision = { vulnerability: "CVE-2026-1141", state: "FINDING_DECISION_STATE_FALSE_POSITIVE", reason: "Not reachable." };
  await stage.call(own, "gantry.decisions.v1.DecisionsService/CreateFindingDecision", { parent: own.group, findingDecision });
  await stage.match();
  assert.deepEqual(
    objectList(await stage.list(own, { overdue: true, states: ["AFFECTED_IMAGE_STATE_AFFECTED", "AFFECTED_IMAGE_STATE_SUPPRESSED"] }), "findings").map((row) =>
      text(row, "advisoryId"),
    ),
    ["CVE-2026-1142"],
  );
});

test("a policy without a due date, with days out of range, or beyond the quota is refused", async () => {
  const own = await newTenant();
  const token = await stage.world.token(own.authorUid);
  const attempt = (dueDatePolicy: Record<string, number | boolean>) =>
    stage.world.call("gantry.findings.v1.DueDatePoliciesService/CreateDueDatePolicy", { parent: own.group, dueDatePolicy }, { token });
  for (const wrong of [{}, { fixableOnly: true }, { criticalDays: 3651 }, { criticalDays: -1, highDays: 1 }])
    assert.equal((await attempt(wrong)).code, codes.INVALID_ARGUMENT, JSON.stringify(wrong));
  for (let count = 0; count < limits.dueDatePoliciesEach; count++) assert.equal((await attempt({ criticalDays: 7 })).code, 0);
  assert.equal((await attempt({ criticalDays: 7 })).code, codes.RESOURCE_EXHAUSTED);
});
