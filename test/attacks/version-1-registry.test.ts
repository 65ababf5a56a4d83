// Attacks 122 and 123: features that only version 1 of the registry has, as a way around permissions.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codes } from "#base/fault.ts";
import { objectList, part, text } from "#base/json.ts";
import { everyCapabilityBut, folder, neighbour, openStage, protocols } from "../conformance/stage.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const registry = "chainguard.platform.registry.Registry";
const place = await folder(stage);
const other = await neighbour(stage);
const digest = `sha256:${"a".repeat(64)}`;

for (const protocol of protocols) {
  test(`attack 122: creating a repo with an existing name changes nothing for a caller without repo.update, over ${protocol}`, async () => {
    const name = `taken-${protocol}`;
    const { uid = "" } = await world.ok("registry.ReposService/CreateRepo", { parent: place, repo: { name, description: "mine" } });
    const { token } = await stage.holder(everyCapabilityBut("repo.update"), place);
    const before = await stage.fingerprint();
    const answer = await world.call(`${registry}/CreateRepo`, { parentId: place, repo: { name, description: "theirs" } }, { token, protocol });
    assert.equal(answer.code, codes.PERMISSION_DENIED, answer.message);
    const asked = await world.call("registry.ReposService/CreateRepo", { parent: place, repo: { name }, updateExisting: true }, { token, protocol });
    assert.equal(asked.code, codes.PERMISSION_DENIED, asked.message);
    assert.equal(await stage.fingerprint(), before);
    assert.equal((await world.ok("registry.ReposService/GetRepo", { uid })).description, "mine");
  });

  test(`attack 122: a caller without repo.update sets no readme, neither by an update nor by replacing a repo, over ${protocol}`, async () => {
    const { uid = "" } = await world.ok("registry.ReposService/CreateRepo", { parent: place, repo: { name: `readme-${protocol}` } });
    const { token } = await stage.holder(everyCapabilityBut("repo.update"), place);
    const before = await stage.fingerprint();
    for (const [rpc, request] of [
      ["UpdateRepo", { id: uid, name: `readme-${protocol}`, readme: "# Buy" }],
      ["CreateRepo", { parentId: place, repo: { name: `readme-${protocol}`, readme: "# Buy" } }],
    ] as const)
      assert.equal((await world.call(`${registry}/${rpc}`, request, { token, protocol })).code, codes.PERMISSION_DENIED, rpc);
    assert.equal(await stage.fingerprint(), before);
  });

  test(`attack 122: a tag accepts no name of another tag and no invalid digest, over ${protocol}`, async () => {
    const { uid: repo = "" } = await world.ok("registry.ReposService/CreateRepo", { parent: place, repo: { name: `tags-${protocol}` } });
    const [one, two] = [
      await world.ok(`${registry}/CreateTag`, { repoId: repo, tag: { name: "latest", digest } }),
      await world.ok(`${registry}/CreateTag`, { repoId: repo, tag: { name: "other" } }),
    ];
    const before = await stage.fingerprint();
    const update = (tag: Record<string, string>) => world.call(`${registry}/UpdateTag`, { id: text(two, "id"), ...tag }, { protocol });
    assert.equal((await update({ name: "latest" })).code, codes.ALREADY_EXISTS);
    assert.equal((await update({ name: "other", digest: "sha256:short" })).code, codes.INVALID_ARGUMENT);
    assert.equal((await update({ name: "" })).code, codes.INVALID_ARGUMENT);
    assert.equal((await update({ name: "../other" })).code, codes.INVALID_ARGUMENT);
    assert.equal((await world.call("registry.TagsService/CreateTag", { parent: repo, tag: { name: "latest" } }, { protocol })).code, codes.INVALID_ARGUMENT);
    assert.equal(await stage.fingerprint(), before);
    assert.equal((await world.ok("registry.TagsService/GetTag", { uid: text(one, "id") })).digest, digest);
  });

  test(`attack 123: counts and sums of version 1 cover only what the caller can see, over ${protocol}`, async () => {
    const { uid: source = "" } = await world.ok("registry.ReposService/CreateRepo", { parent: place, repo: { name: `source-${protocol}` } });
    for (const [parent, name] of [
      [place, `copy-${protocol}`],
      [other.organization, `copy-of-others-${protocol}`],
    ] as const)
      await stage.operatorWorld.ok("registry.ReposService/CreateRepo", { parent, repo: { name, sync_config: { source } } });
    const { token } = await stage.holder(["repo.list"], place);
    assert.equal((await world.ok(`${registry}/GetRepoCountBySource`, { id: source }, { token, protocol })).count, "1", "nobody sees who else copies it");
    assert.equal((await stage.operatorWorld.ok(`${registry}/GetRepoCountBySource`, { id: source }, { protocol })).count, "2", "but the operator");
    const { uid: theirs = "" } = await world.ok("registry.ReposService/CreateRepo", { parent: other.organization, repo: { name: `theirs-${protocol}` } });
    await world.ok(`${registry}/CreateTag`, { repoId: theirs, tag: { name: "secret", digest } });
    await world.ok(`${registry}/CreateDeployment`, { parentId: theirs, charts: [{ repo: "oci://charts.example.com/secret" }] });
    const owner = await stage.holder(everyCapabilityBut(""), world.organization);
    for (const [rpc, request] of [
      ["GetRepoTagsSummary", { repoId: theirs }],
      ["GetDeployment", { repoId: theirs }],
      ["UpdateDeployment", { repoId: theirs }],
      ["GetRegistrySettings", { registryId: other.organization }],
      ["UpdateRegistrySettings", { registryId: other.organization, uniqueTags: true }],
      ["GetRepoCountBySource", { id: theirs }],
    ] as const)
      assert.equal((await world.call(`${registry}/${rpc}`, request, { token: owner.token, protocol })).code, codes.PERMISSION_DENIED, rpc);
    assert.equal(objectList(await world.ok(`${registry}/GetDeployment`, { repoId: theirs }), "charts").length, 1);
    assert.equal(part(await world.ok(`${registry}/GetRepoTagsSummary`, { repoId: theirs }), "latestTag").name, "secret");
  });
}
