// Attacks 340 and 341: promotion as a way to read or write what the caller may not, and promotions that are half visible.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Protocol } from "../client.ts";
import { asOwner } from "../database.ts";
import { symbolsOf } from "../conformance/stage.ts";
import { descriptorOf, ociIndex, ociManifest, openPusher, type Pusher } from "../pusher.ts";
import { indexType } from "../registry.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world?.close());

const protocols: readonly Protocol[] = ["rest", "grpc"];
const operation = "gantry.registry.v1.PromotionsService/PromoteImage";

const group = async (name: string, parent = ""): Promise<string> => text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name } }), "uid");

const identityIn = async (place: string, ...bindings: readonly (readonly [string, string])[]): Promise<string> => {
  const identity = { name: "robot", claimMatch: { issuer: "https://issuer.example.com", subject: randomBytes(8).toString("hex") } };
  const uid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: place, identity }), "uid");
  for (const [parent, role] of bindings)
    await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid: uid, roleUid: builtInRoleUid(role) } });
  return world.token(uid);
};

const promote = (token: string, request: JsonObject, headers: Readonly<Record<string, string>> = {}, protocol: Protocol = "rest") =>
  world.call(operation, request, { token, headers, protocol });

const query = (statement: string, values: readonly string[] = []) => world.server.application.services.store.read.query(statement, values);

const repoUid = async (organization: string, name: string): Promise<string> =>
  (await query("select uid from repos where left(uid, 40) = $1 and name = $2", [organization, name]))[0]?.[0] ?? "";

interface Release {
  readonly index: string;
  readonly child: string;
  readonly signature: string;
  readonly sbom: string;
}

/** Pushes an index of two images, an artifact about each of the index and an image, an artifact about that, and a signature by tag. */
const release = async (pusher: Pusher, tag: string): Promise<Release> => {
  const images = [await pusher.image("amd64"), await pusher.image("arm64")];
  const index = await pusher.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests: images.map(descriptorOf), annotations: { tag } }, ociIndex, tag);
  const [child] = images;
  assert.ok(child);
  const sbom = await pusher.artifact([await pusher.blob("an sbom", "application/spdx+json")], { subject: { ...index, mediaType: indexType } });
  await pusher.artifact([await pusher.blob("about the sbom", "text/plain")], { subject: { ...sbom, mediaType: ociManifest } });
  await pusher.artifact([await pusher.blob("about an image", "text/plain")], { subject: { ...child, mediaType: ociManifest } });
  const reference = `${index.digest.replace(":", "-")}.sig`;
  const signature = await pusher.artifact([await pusher.blob("a signature", "text/plain")], { reference });
  return { index: index.digest, child: child.digest, signature: signature.digest, sbom: sbom.digest };
};

test("a promotion copies an image with its children, referrers and signatures, once, with one event that names both sides", async () => {
  const organization = await group("promote");
  const token = await identityIn(organization, [organization, "owner"]);
  const source = openPusher(world, "promote/app", token);
  const pushed = await release(source, "rc1");
  const asked = { repo: "promote/prod/app", tag: "1.0", sourceRepo: "promote/app", sourceReference: "rc1" };
  const events = async () => (await world.events()).filter(({ type }) => type === "dev.gantry.registry.image.promoted.v1");

  const rehearsed = await world.call(operation, asked, { token, validateOnly: true });
  assert.equal(rehearsed.code, 0, rehearsed.message);
  assert.equal(rehearsed.headers["gantry-validate-only"], "true");
  assert.equal((await source.send("GET", "/../prod/app/tags/list")).status, 404, "a rehearsal leaves no repo");
  assert.equal((await events()).length, 0);

  const first = await promote(token, asked);
  assert.equal(first.code, 0, first.message);
  const [from, to] = [await repoUid(organization, "app"), text(first.reply, "repoUid")];
  assert.deepEqual(first.reply, {
    repoUid: to,
    tag: "1.0",
    digest: pushed.index,
    sourceRepoUid: text(first.reply, "sourceRepoUid"),
    sourceTag: "rc1",
    manifestCount: 7,
  });
  assert.notEqual(from, "");
  const [event, ...more] = await events();
  assert.deepEqual([event?.subject, event?.group, event?.body, more], [to, organization, first.reply, []]);

  const target = openPusher(world, "promote/prod/app", token);
  for (const reference of ["1.0", pushed.child, pushed.sbom, `${pushed.index.replace(":", "-")}.sig`])
    assert.equal((await target.send("GET", `manifests/${reference}`)).status, 200, reference);
  const referrers = async (pusher: Pusher, digest: string) => (await pusher.send("GET", `referrers/${digest}`)).json();
  for (const digest of [pushed.index, pushed.sbom, pushed.child]) assert.deepEqual(await referrers(target, digest), await referrers(source, digest));
  const manifest = (await (await target.send("GET", `manifests/${pushed.child}`)).json()) as { config: { digest: string }; layers: { digest: string }[] };
  for (const { digest } of [manifest.config, ...manifest.layers]) assert.equal((await target.send("GET", `blobs/${digest}`)).status, 200);
  const images = async (repo: string) =>
    (await query("select index_digest, digest, os, architecture, size_bytes from manifests where repo_uid = $1 order by 1, 2", [repo])).map((row) => [...row]);
  assert.deepEqual(await images(to), await images(text(first.reply, "sourceRepoUid")));
  const sboms = "select count(*) from image_sboms where repo_uid = $1";
  assert.deepEqual(await query(sboms, [to]), await query(sboms, [text(first.reply, "sourceRepoUid")]));

  for (const protocol of protocols) {
    const again = await promote(token, asked, {}, protocol);
    assert.deepEqual([again.code, again.reply.manifestCount ?? 0], [0, 0]);
  }
  assert.equal((await events()).length, 1, "a repeated promotion changes nothing");

  const second = await source.image("s390x", "rc2");
  const moved = await promote(token, { ...asked, sourceReference: second.digest });
  assert.deepEqual([moved.reply.previousDigest, moved.reply.sourceTag], [pushed.index, undefined]);
  const own = await promote(token, { repo: "promote/prod/app", tag: "stable", sourceRepo: to, sourceReference: "1.0" });
  assert.equal(own.code, 0, own.message);
  assert.equal((await target.send("HEAD", "manifests/stable")).headers.get("docker-content-digest"), second.digest);
});

test("a promotion keeps signatures that the target already has under the same tag", async () => {
  const organization = await group("keeps");
  const token = await identityIn(organization, [organization, "owner"]);
  const [source, target] = [openPusher(world, "keeps/app", token), openPusher(world, "keeps/prod", token)];
  const pushed = await release(source, "rc1");
  const name = `${pushed.index.replace(":", "-")}.sig`;
  const own = await target.artifact([await target.blob("our own signature", "text/plain")], { reference: name });
  const { reply } = await promote(token, { repo: "keeps/prod", sourceRepo: "keeps/app", sourceReference: "rc1" });
  assert.deepEqual([reply.keptTags, reply.tag], [[name], "rc1"]);
  assert.equal((await target.send("HEAD", `manifests/${name}`)).headers.get("docker-content-digest"), own.digest);
});

test("attack 340: a promotion needs the permissions of a pull in the source and of a push in the target, also across organizations", async () => {
  const [ours, theirs] = [await group("ours-promote"), await group("theirs-promote")];
  const [owner, stranger] = [await identityIn(ours, [ours, "owner"]), await identityIn(theirs, [theirs, "owner"])];
  const source = openPusher(world, "ours-promote/secret", owner);
  const { index } = await release(source, "1");
  const uid = await repoUid(ours, "secret");
  await openPusher(world, "theirs-promote/app", stranger).image("amd64", "1");
  const into = { repo: "theirs-promote/app", tag: "stolen" };
  const count = async () =>
    JSON.stringify(await query("select count(*) from repo_manifests union all select count(*) from repo_blobs union all select count(*) from tags"));
  const before = await count();
  for (const protocol of protocols) {
    const answers = [];
    for (const sourceRepo of ["ours-promote/secret", "ours-promote/absent"]) {
      const { code, message, details } = await promote(stranger, { ...into, sourceRepo, sourceReference: "1" }, {}, protocol);
      answers.push(JSON.stringify([code, message, details]).replaceAll(sourceRepo, "NAME"));
      assert.equal(code, codes.NOT_FOUND);
    }
    assert.equal(answers[0], answers[1], "a hidden repo is like an absent one");
    const denied = [];
    for (const sourceRepo of [uid, `${uid.slice(0, -16)}${"0".repeat(16)}`])
      for (const sourceReference of ["1", index, "absent"]) {
        const { code, message } = await promote(stranger, { ...into, sourceRepo, sourceReference }, {}, protocol);
        denied.push(`${code} ${message}`);
      }
    assert.deepEqual(new Set(denied), new Set([`${codes.PERMISSION_DENIED} Permission denied`]));
    const out = await promote(owner, { repo: "theirs-promote/app", tag: "x", sourceRepo: "ours-promote/secret", sourceReference: "1" }, {}, protocol);
    assert.equal(out.code, codes.NOT_FOUND, "nor does a pull in the source permit a push elsewhere");
  }
  const reader = await identityIn(ours, [ours, "registry.pull"]);
  const named = await promote(reader, { repo: "ours-promote/secret", tag: "x", sourceRepo: "ours-promote/secret", sourceReference: "1" });
  assert.equal(named.code, codes.PERMISSION_DENIED);
  const pusher = await identityIn(theirs, [theirs, "registry.push"]);
  assert.equal((await promote(pusher, { repo: "theirs-promote/app", tag: "x", sourceRepo: uid, sourceReference: "1" })).code, codes.PERMISSION_DENIED);
  assert.equal(await count(), before);
  // A member with permission on both sides.
  const both = await identityIn(ours, [ours, "registry.pull"]);
  const asked = { ...into, sourceRepo: "ours-promote/secret", sourceReference: "1" };
  assert.equal((await promote(both, asked)).code, codes.NOT_FOUND);
});

test("attack 340: each permission of a pull is needed in the source, and a visible source without it is denied by name", async () => {
  const organization = await group("needs-promote");
  const [from, to] = [await group("from", organization), await group("to", organization)];
  const owner = await identityIn(organization, [organization, "owner"]);
  await openPusher(world, "needs-promote/from/app", owner).image("amd64", "1");
  const pull = ["manifest.list", "repo.blobs.get", "referrers.list"];
  const asked = { tag: "1", sourceRepo: "needs-promote/from/app", sourceReference: "1" };
  for (const missing of ["", ...pull]) {
    const role = { name: `all but ${missing}`, capabilities: symbolsOf(["repo.list", ...pull.filter((name) => name !== missing)]) };
    const roleUid = text(await world.ok("iam.RolesService/CreateRole", { parent: organization, role }), "uid");
    const claimMatch = { issuer: "https://issuer.example.com", subject: randomBytes(8).toString("hex") };
    const uid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: organization, identity: { name: "robot", claimMatch } }), "uid");
    await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: from, roleBinding: { identityUid: uid, roleUid } });
    await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: to, roleBinding: { identityUid: uid, roleUid: builtInRoleUid("registry.push") } });
    const { code } = await promote(await world.token(uid), { ...asked, repo: `needs-promote/to/app${pull.indexOf(missing) + 1}` });
    assert.equal(code, missing === "" ? 0 : codes.PERMISSION_DENIED, missing);
  }
});

test("attack 340: rules, quotas and conditions of the target apply to a promotion, and a refused one leaves nothing", async () => {
  const organization = await group("limits-promote");
  const token = await identityIn(organization, [organization, "owner"]);
  const source = openPusher(world, "limits-promote/app", token);
  const target = openPusher(world, "limits-promote/prod", token);
  await release(source, "rc1");
  const old = await target.image("amd64", "1.0");
  const asked = { repo: "limits-promote/prod", tag: "1.0", sourceRepo: "limits-promote/app", sourceReference: "rc1" };
  const uid = await repoUid(organization, "prod");
  const rule = await world.ok(
    "gantry.registry.v1.ImmutableTagRulesService/CreateImmutableTagRule",
    { parent: uid, immutableTagRule: { pattern: "1[.]0" } },
    { token },
  );
  const rows = async () =>
    JSON.stringify(await query("select count(*) from repo_manifests where repo_uid = $1 union all select count(*) from repo_blobs where repo_uid = $1", [uid]));
  const before = await rows();
  const immutable = await promote(token, asked);
  assert.equal(immutable.code, codes.FAILED_PRECONDITION);
  assert.deepEqual(
    immutable.details.flatMap((detail) => objectList(detail, "violations").map((each) => text(each, "type"))),
    ["TAG_IMMUTABLE"],
  );
  await world.ok("gantry.registry.v1.ImmutableTagRulesService/DeleteImmutableTagRule", { uid: text(rule, "uid") }, { token });
  for (const protocol of protocols)
    for (const headers of [{ "if-none-match": "*" }, { "if-match": `"sha256:${"0".repeat(64)}"` }])
      assert.equal((await promote(token, asked, headers, protocol)).code, codes.ABORTED);
  // Only the operator has permissions in both organizations here.
  const full = await group("full-promote");
  await asOwner(world.databaseUrl, "insert into quotas (organization, name, value) values ($1, 'blob-bytes', 1)", [full]);
  const exceeded = await promote(await world.token(), { ...asked, repo: "full-promote/app" });
  assert.equal(exceeded.code, codes.RESOURCE_EXHAUSTED, exceeded.message);
  assert.equal(await repoUid(full, "app"), "");
  const spacious = await group("spacious-promote");
  assert.equal((await promote(await world.token(), { ...asked, repo: "spacious-promote/app" })).code, 0);
  assert.notEqual(await repoUid(spacious, "app"), "");
  assert.equal(await rows(), before);
  for (const [request, code] of [
    [{ ...asked, sourceReference: "absent" }, codes.NOT_FOUND],
    [{ ...asked, sourceReference: `sha256:${"0".repeat(64)}` }, codes.NOT_FOUND],
    [{ ...asked, sourceReference: "sha256:0" }, codes.INVALID_ARGUMENT],
    [{ ...asked, sourceReference: "-" }, codes.INVALID_ARGUMENT],
    [{ ...asked, sourceReference: "" }, codes.INVALID_ARGUMENT],
    [{ ...asked, tag: "a".repeat(129) }, codes.INVALID_ARGUMENT],
    [{ ...asked, tag: "a:b" }, codes.INVALID_ARGUMENT],
    [{ ...asked, sourceRepo: "limits-promote/absent" }, codes.NOT_FOUND],
    [{ ...asked, repo: "absent-organization/app" }, codes.NOT_FOUND],
    [{ ...asked, repo: "UPPER/app" }, codes.INVALID_ARGUMENT],
  ] as const)
    assert.equal((await promote(token, request)).code, code, JSON.stringify(request));
  assert.equal(await rows(), before);
  assert.equal((await promote(token, asked, { "if-match": `"${old.digest}"` })).code, 0);
});

test("attack 340: an image with too many referrers is refused, and cyclic indexes end", async () => {
  const organization = await group("large-promote");
  const token = await identityIn(organization, [organization, "owner"]);
  const source = openPusher(world, "large-promote/app", token);
  const image = await source.image("amd64", "1");
  const uid = await repoUid(organization, "app");
  const { store } = world.server.application.services;
  await store.write(async (rows) => {
    await rows.query(
      `insert into repo_manifests (repo_uid, sha256, sha512, algorithm, media_type, content, size_bytes, artifact_type, subject, create_time)
       select $1, 'sha256:' || lpad(n::text, 64, '0'), 'sha512:' || n, 'sha256', 'application/vnd.oci.image.index.v1+json',
         '{"schemaVersion":2,"manifests":[]}', 34, '', $2, now() from generate_series(1, $3::int) as each(n)`,
      [uid, image.digest, limits.promotedManifestsMax - 1],
    );
    await rows.query(
      `insert into manifest_children (repo_uid, sha256, child) select $1, 'sha256:' || lpad(n::text, 64, '0'), 'sha256:' || lpad((n % 10 + 1)::text, 64, '0')
       from generate_series(1, 10) as each(n)`,
      [uid],
    );
  });
  const asked = { repo: "large-promote/prod", tag: "1", sourceRepo: uid, sourceReference: "1" };
  const whole = await promote(token, asked);
  assert.deepEqual([whole.code, whole.reply.manifestCount], [0, limits.promotedManifestsMax], whole.message);
  await store.write((rows) =>
    rows.query(
      `insert into repo_manifests (repo_uid, sha256, sha512, algorithm, media_type, content, size_bytes, artifact_type, subject, create_time)
       values ($1, 'sha256:more', 'sha512:more', 'sha256', 'application/vnd.oci.image.index.v1+json', '{}', 2, '', $2, now())`,
      [uid, image.digest],
    ),
  );
  const { code, message } = await promote(token, { ...asked, repo: "large-promote/other" });
  assert.equal(code, codes.FAILED_PRECONDITION, message);
  assert.equal(await repoUid(organization, "other"), "");
});
