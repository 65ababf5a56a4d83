// How an operator notices a full quota (docs/reference/quotas.md): the refused client may be a directory that retries silently.

import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { after, test } from "node:test";
import { changeQuota } from "#application";
import { silent } from "#base/log.ts";
import { ownerUrlOf } from "../database.ts";
import { freePort } from "../free-port.ts";
import { openRequestLog } from "../request-log.ts";
import { makeOwners, openScimProvider } from "../scim.ts";
import { readScrape, valueOf } from "../scrape.ts";
import { openWorld } from "../world.ts";

const requests = openRequestLog();
const metricsAt = `127.0.0.1:${await freePort()}`;
const world = await openWorld({ GANTRY_REQUEST_LOG: "true", GANTRY_METRICS_LISTEN: metricsAt }, requests.log);
after(() => world.close());

test("a directory refused by a full quota is visible: the quota in the metrics, the provider in the request log", async () => {
  await makeOwners(world);
  const provider = await openScimProvider(world);
  const settings = { databaseUrl: world.databaseUrl, migrateUrl: ownerUrlOf(world.databaseUrl), dataDirectory: tmpdir(), auditMonths: 13 };
  await changeQuota({ settings, publicUrl: world.url, log: silent, progress: () => {} }, { name: "scim-users", value: 0, organization: world.organization });
  const refused = await provider.ask("POST", "/Users", { userName: "ada@example.com", externalId: "ada" });
  assert.equal(refused.status, 429);
  const families = readScrape(await (await fetch(`http://${metricsAt}/metrics`)).text());
  assert.equal(valueOf(families, "gantry_refusals_total", { reason: "QUOTA_EXCEEDED", quota: "scim-users" }), 1);
  const { protocol, status, reason, quota, caller } = await requests.of(refused.headers.get("x-request-id") ?? "");
  assert.deepEqual({ protocol, status, reason, quota }, { protocol: "scim", status: 429, reason: "QUOTA_EXCEEDED", quota: "scim-users" });
  assert.equal(caller, provider.uid);
});
