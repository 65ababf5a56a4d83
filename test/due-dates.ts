// Fixture for due dates: tenants with images, vulnerabilities of a severity, known exploits and due date policies.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { type Authoring, openAuthoring, type Tenant } from "./authoring.ts";
import { runImport } from "./story/import.ts";

export const dayMs = 24 * 60 * 60 * 1000;

const policies = "gantry.findings.v1.DueDatePoliciesService";
const findings = "gantry.findings.v1.FindingsService";

export const critical = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H";
export const high = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N";
export const low = "CVSS:3.1/AV:L/AC:H/PR:H/UI:R/S:U/C:L/I:N/A:N";

export interface Deadlines extends Authoring {
  /** Publishes a vulnerability of an apk package, fixed in a version if given. */
  publish(group: string, id: string, name: string, vector: string, fixed?: string): Promise<void>;
  /** Publishes the catalog of known exploits with the due day of each CVE ID. */
  exploit(days: Readonly<Record<string, string>>): Promise<void>;
  call(tenant: Tenant, operation: string, request: JsonObject): Promise<JsonObject>;
  newGroup(parent: string, name: string): Promise<string>;
  /** Creates a policy and updates the due dates; returns its uid. */
  setPolicy(tenant: Tenant, policy: JsonObject, parent?: string): Promise<string>;
  deletePolicy(tenant: Tenant, uid: string): Promise<void>;
  list(tenant: Tenant, request?: JsonObject): Promise<JsonObject>;
  /** Returns "ID repo days" for each finding: the days from `since` to its due time, or "none". */
  due(tenant: Tenant, sinceMs: number, request?: JsonObject): Promise<string[]>;
}

export const openDeadlines = async (): Promise<Deadlines> => {
  const stage = await openAuthoring();
  const { world } = stage;
  const folder = mkdtempSync(join(tmpdir(), "gantry-due-dates-"));
  let made = 0;
  const load = async (kind: "advisories" | "vulnerabilities", name: string, value: JsonObject, options: Parameters<typeof runImport>[3]): Promise<void> => {
    const path = join(folder, name);
    writeFileSync(path, JSON.stringify(value));
    assert.deepEqual((await runImport(world, kind, [path], options)).refused, []);
  };
  /** Calls with a token that is valid at the present time of the clock. */
  const call: Deadlines["call"] = async ({ authorUid }, operation, request) => world.ok(operation, request, { token: await world.token(authorUid) });
  const list: Deadlines["list"] = (tenant, request = {}) => call(tenant, `${findings}/ListFindings`, { uidp: { descendantsOf: tenant.group }, ...request });
  return {
    ...stage,
    call,
    list,
    publish: async (group, id, name, vector, fixed) => {
      const record = {
        schema_version: "1.7.0",
        id,
        modified: new Date(world.clock.now + ++made).toISOString(),
        severity: [{ type: "CVSS_V3", score: vector }],
        affected: [{ package: { ecosystem: "Wolfi", name }, ranges: [{ type: "ECOSYSTEM", events: [{ introduced: "0" }, ...(fixed ? [{ fixed }] : [])] }] }],
      };
      for (const kind of ["vulnerabilities", "advisories"] as const) await load(kind, `${id}.json`, record, { group });
    },
    exploit: (days) => {
      const vulnerabilities = Object.entries(days).map(([cveID, dueDate]) => ({ cveID, dateAdded: "2026-01-10", dueDate, requiredAction: "Update" }));
      const catalog = {
        title: "Catalog",
        catalogVersion: "2026.01.10",
        dateReleased: "2026-01-10T00:00:00.000Z",
        count: vulnerabilities.length,
        vulnerabilities,
      };
      return load("vulnerabilities", "known_exploited_vulnerabilities.json", catalog, { public: true, allowWithdrawals: true });
    },
    newGroup: async (parent, name) => text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name } }), "uid"),
    setPolicy: async (tenant, dueDatePolicy, parent = tenant.group) => {
      const policy = await call(tenant, `${policies}/CreateDueDatePolicy`, { parent, dueDatePolicy });
      await stage.match();
      return text(policy, "uid");
    },
    deletePolicy: async (tenant, uid) => {
      await call(tenant, `${policies}/DeleteDueDatePolicy`, { uid });
      await stage.match();
    },
    due: async (tenant, sinceMs, request) =>
      objectList(await list(tenant, request), "findings").map((row) => {
        const time = text(row, "dueTime");
        return `${text(row, "advisoryId")} ${text(row, "repo")} ${time === "" ? "none" : String((Date.parse(time) - sinceMs) / dayMs)}`;
      }),
    close: async () => {
      await stage.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
