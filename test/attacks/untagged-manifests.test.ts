// Attacks 119 and 120: deletion of untagged images removes nothing in use, and only where it is enabled.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { collectUntagged } from "../../server/application/untagged-manifests.ts";
import { randomNumbers, shortOrLong } from "../length.ts";
import { type ImageSample, imageType, indexType, openRegistry } from "../registry.ts";
import { openWorld } from "../world.ts";

// A deleted tag that can be restored keeps its manifest.
const world = await openWorld({ GANTRY_DELETED_DAYS: "0" });
after(() => world.close());
const openClient = async () => openRegistry(world.url, `Bearer ${await world.token()}`);
let client = await openClient();
const { kernel } = world.server.application;
const day = 24 * 60 * 60 * 1000;
const days = 30;

const pass = async (count: number): Promise<void> => {
  world.clock.now += count * day;
  client = await openClient();
};
const collect = (): Promise<void> => collectUntagged(kernel, days);
const isThere = async (repo: string, digest: string): Promise<boolean> =>
  (await world.server.application.services.store.read.query("select 1 from repo_manifests where sha256 = $1 and repo_uid = $2", [digest, await uidOf(repo)]))
    .length > 0;
const uids = new Map<string, string>();
const uidOf = async (repo: string): Promise<string> => {
  const known = uids.get(repo);
  if (known !== undefined) return known;
  const [found] = (await world.ok("registry.ReposService/ListRepos", { name: repo.split("/").at(-1) ?? "" })).repos as { uid: string }[];
  uids.set(repo, found?.uid ?? "");
  return found?.uid ?? "";
};
let made = 0;
const image = (repo: string, reference?: string, sample: ImageSample = {}): Promise<string> =>
  client.pushImage(repo, reference, { layer: `layer ${++made}`, ...sample });
const index = (repo: string, reference: string | undefined, ...digests: readonly string[]): Promise<string> =>
  client.pushManifest(repo, reference, {
    schemaVersion: 2,
    mediaType: indexType,
    annotations: { number: String(++made) },
    manifests: digests.map((digest) => ({ mediaType: imageType, digest, size: 2 })),
  });

test("an untagged manifest is deleted after its retention with its exclusive content, and nothing else is", async () => {
  const repo = "first-organization/untagged";
  const alone = await image(repo);
  const tagged = await image(repo, "v1");
  const children = [await image(repo), await image(repo)];
  const list = await index(repo, "list", ...children);
  const oldChild = await image(repo);
  const inner = await index(repo, undefined, oldChild, children[0] ?? "");
  const oldList = await index(repo, undefined, inner);
  const signature = await image(repo, undefined, { subject: { digest: tagged, size: 2 } });
  const signatureOfSignature = await image(repo, undefined, { subject: { digest: signature, size: 2 } });
  const gone = await image(repo, undefined, { subject: { digest: alone, size: 2 } });
  const namedReferrer = await image(repo, "sha256-kept.sig", { subject: { digest: alone, size: 2 } });
  const orphan = await image(repo, undefined, { subject: { digest: `sha256:${"e".repeat(64)}`, size: 2 } });
  const all = {
    alone,
    tagged,
    list,
    inner,
    oldChild,
    oldList,
    signature,
    signatureOfSignature,
    gone,
    namedReferrer,
    orphan,
    one: children[0],
    two: children[1],
  };
  const left = async (): Promise<string[]> => {
    const there = await Promise.all(Object.entries(all).map(async ([name, digest = ""]) => ((await isThere(repo, digest)) ? [name] : [])));
    return there.flat().sort();
  };
  await collect();
  await pass(days - 1);
  await collect();
  assert.equal((await left()).length, Object.keys(all).length, "its time is not over");
  await pass(2);
  await collect();
  assert.deepEqual(await left(), ["list", "namedReferrer", "one", "signature", "signatureOfSignature", "tagged", "two"].sort());

  const told = (await world.events()).filter(({ type }) => type === "dev.gantry.registry.manifest.deleted.v1");
  assert.equal(told.length, 6, "each deletion is told as a request's is");

  // Counted from the moment the last tag left it.
  assert.equal((await client.send("DELETE", `${repo}/manifests/v1`)).status, 202);
  await pass(days - 1);
  await collect();
  assert.ok((await left()).includes("tagged"));
  await pass(2);
  await collect();
  assert.deepEqual(await left(), ["list", "namedReferrer", "one", "two"], "and its signatures with it");
});

test("attack 119: a manifest that is pulled, or named by an index, a referrer or a tag, gets a new retention period", async () => {
  const repo = "first-organization/used";
  const [pulled, asked, listed, subject, pointed, pushed, other] = [
    await image(repo),
    await image(repo),
    await image(repo),
    await image(repo),
    await image(repo),
    await image(repo, undefined, { layer: "pushed again" }),
    await image(repo),
  ];
  await pass(days - 1);
  assert.equal((await client.send("GET", `${repo}/manifests/${pulled}`)).status, 200);
  assert.equal((await client.send("HEAD", `${repo}/manifests/${asked}`)).status, 200);
  await index(repo, undefined, listed);
  await image(repo, undefined, { subject: { digest: subject, size: 2 } });
  await world.ok("registry.TagsService/CreateTag", { parent: await uidOf(repo), tag: { name: "v1", digest: pointed } });
  assert.equal(await image(repo, undefined, { layer: "pushed again" }), pushed);
  await pass(2);
  await collect();
  for (const digest of [pulled, asked, listed, subject, pointed, pushed]) assert.equal((await client.send("GET", `${repo}/manifests/${digest}`)).status, 200);
  assert.equal(await isThere(repo, other), false);
});

test("attack 119: during concurrent pushes, pulls and collection, a confirmed manifest can be pulled and tagged", async () => {
  const repo = "first-organization/races";
  const choose = randomNumbers(119);
  for (let round = 0; round < shortOrLong(12, 200); round++) {
    const old = [await image(repo), await image(repo), await image(repo), await image(repo)] as const;
    await pass(days + 1);
    const named = `t${round}`;
    const work: readonly (() => Promise<readonly string[]>)[] = [
      collect,
      async () => ((await client.send("GET", `${repo}/manifests/${old[0]}`)).status === 200 ? [old[0]] : []),
      async () => {
        if ((await client.send("HEAD", `${repo}/manifests/${old[1]}`)).status !== 200) return [];
        return [await index(repo, named, old[1]), old[1]];
      },
      async () => {
        // Pushed again under a tag, whether it exists or is being deleted.
        const bytes = await client.send("GET", `${repo}/manifests/${old[2]}`);
        if (bytes.status !== 200) return [];
        const put = await client.send("PUT", `${repo}/manifests/again-${round}`, { body: await bytes.text(), headers: { "content-type": imageType } });
        assert.equal(put.status, 201);
        return [old[2]];
      },
    ].map((each) => async () => (await each()) ?? []);
    const order = work.map((each) => ({ each, at: choose() })).sort((one, two) => one.at - two.at);
    const kept = (await Promise.all(order.map(({ each }) => each()))).flat();
    for (const digest of kept) assert.equal((await client.send("GET", `${repo}/manifests/${digest}`)).status, 200, `round ${round}`);
    assert.equal(await isThere(repo, old[3]), false, "and what nobody uses has gone");
  }
});

test("attack 120: retention is a number of days, and no other value is accepted", async () => {
  for (const value of ["0", "-1", "1.5", "x", "99999"])
    await assert.rejects(openWorld({ GANTRY_REGISTRY_UNTAGGED_DAYS: value }), /GANTRY_REGISTRY_UNTAGGED_DAYS must be a number of days from 1 to 3650/);
});
