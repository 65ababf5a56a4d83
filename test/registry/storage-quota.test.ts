// Blob bytes are counted per organization, once for all of its repos, and bounded by the operator's quota.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { limits } from "#base/limits.ts";
import { changeQuota, listQuotas, readSettings } from "#application";
import { silent } from "#base/log.ts";
import { collect, removeLeftContents } from "#registry/collection";
import { ownerUrlOf } from "../database.ts";
import { type Installation, openInstallation } from "../story/installation.ts";
import { digestOf } from "../distribution.ts";
import { newConfig, openRegistryClient, type RegistryClient } from "./images.ts";

let installation: Installation;
let client: RegistryClient;

before(async () => {
  installation = await openInstallation();
  client = openRegistryClient(installation.world.url, () => installation.world.token());
});
after(() => installation.close());

const options = () => ({
  settings: readSettings({ ...installation.environment, GANTRY_MIGRATE_URL: ownerUrlOf(installation.world.databaseUrl) }),
  publicUrl: installation.world.url,
  log: silent,
  progress: () => {},
});

const usedBytes = async (): Promise<number | undefined> =>
  (await listQuotas(options(), installation.world.organization)).find(({ name }) => name === "blob-bytes")?.used;

const setQuota = (value: number | undefined): Promise<void> =>
  changeQuota(options(), { name: "blob-bytes", value, organization: installation.world.organization });

const described = (content: Uint8Array): { digest: string; size: number } => ({ digest: digestOf(content), size: content.byteLength });

const storedBytes = async (): Promise<number> => {
  const { services } = installation.world.server.application;
  while (await removeLeftContents(services));
  return (await Array.fromAsync(services.blobs.list())).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
};

test("content counts once for all repos of an organization, until the last one deletes it", async () => {
  const [first, second] = ["first-organization/one", "first-organization/two"];
  const shared = randomBytes(10_000);
  const config = newConfig();
  const own = config.byteLength;
  await Promise.all([client.pushBlob(first, shared), client.pushBlob(second, shared), client.pushBlob(first, shared)]);
  assert.equal(await usedBytes(), 10_000);
  await client.pushBlob(first, config);
  const digest = await client.pushManifest(first, "1", [config, shared].map(described));
  assert.equal(await usedBytes(), 10_000 + own);
  const { world } = installation;
  world.clock.now += limits.blobLeaseMs + 1000;
  for await (const _ of collect(world.server.application.services));
  assert.equal(await usedBytes(), 10_000 + own, "one repo has it yet");
  await client.request("DELETE", `/v2/${first}/manifests/${digest}`);
  for await (const _ of collect(world.server.application.services));
  assert.equal(await usedBytes(), 0);
});

test("a push over the quota is refused with 403 and leaves nothing, with any protocol and concurrency", async () => {
  const repo = "first-organization/bounded";
  const stored = await storedBytes();
  const used = (await usedBytes()) ?? 0;
  await setQuota(used + 100_000);
  const pushes = await Promise.allSettled(
    Array.from({ length: 8 }, (_, number) =>
      number % 2 === 0 ? client.pushBlob(repo, randomBytes(40_000)) : client.pushBlobInPieces(repo, randomBytes(40_000), 15_000),
    ),
  );
  assert.equal(pushes.filter(({ status }) => status === "fulfilled").length, 2);
  for (const each of pushes) if (each.status === "rejected") assert.match(String(each.reason), /403.*DENIED.*blob-bytes/);
  assert.equal(await usedBytes(), used + 80_000);
  // Refused content is released after the response.
  while ((await storedBytes()) !== stored + 80_000) await new Promise((resolve) => setImmediate(resolve));
  await setQuota(used + 80_000);
  const refused = await client.request("POST", `/v2/${repo}/blobs/uploads/`);
  assert.equal(refused.status, 403, "before any byte is sent");
  await setQuota(undefined);
  await client.pushBlob(repo, randomBytes(40_000));
});
