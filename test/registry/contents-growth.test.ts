// Findings of one image among many: 20,000 images with 300 packages each in a long run. Prints sizes of tables, and times.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { asOwner, withOwner } from "../database.ts";
import { apk, debian, dpkg, pushImage } from "../image-layers.ts";
import { shortOrLong } from "../length.ts";
import { openOwners, type Owners } from "../owner.ts";
import { openPusher } from "../pusher.ts";
import { runImport } from "../story/import.ts";
import { openWorld, type World } from "../world.ts";

const repos = Number(process.env.GROWTH_REPOS ?? shortOrLong(20, 200));
const tagsEach = 100;
const packagesEach = 300;
/** One image in so many has the package of the new advisory. */
const rareness = 100;

let world: World;
let folder: string;
let owners: Owners;
let group = "";
const unmatched: unknown[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-growth-"));
  world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") }, (event, facts) => {
    if (event === "images.unmatched") unmatched.push(facts?.cause);
  });
  owners = openOwners(world);
  group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "growth" } }), "uid");
});
after(async () => {
  await world?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Inserts images as the server stores them after it has read and matched them, without triggers. */
const insertImages = (): Promise<void> =>
  withOwner(world.databaseUrl, async (query) => {
    await query("set session_replication_role = replica");
    await query(
      `create temporary table planted as
       select $1 || '/' || lpad(to_hex(repo), 16, '0') as repo_uid, repo, tag, (repo - 1) * $3 + tag as image,
         'sha256:' || encode(sha256(convert_to(repo || ' ' || tag, 'UTF8')), 'hex') as digest
       from generate_series(1, $2::integer) as repo cross join generate_series(1, $3::integer) as tag`,
      [group, repos, tagsEach],
    );
    await query("insert into repos (uid, name, create_time, update_time) select distinct repo_uid, 'repo-' || repo, now(), now() from planted");
    await query(
      `insert into tags (uid, name, digest, create_time, update_time)
       select repo_uid || '/' || lpad(to_hex(tag), 16, '0'), 't' || tag, digest, now(), now() from planted`,
    );
    await query(
      `insert into repo_manifests (repo_uid, sha256, sha512, algorithm, media_type, content, size_bytes, artifact_type, subject, create_time)
       select repo_uid, digest, 'sha512:' || substr(digest, 8), 'sha256', 'application/vnd.oci.image.manifest.v1+json', '{}', 2, '', '', now() from planted`,
    );
    await query(
      `insert into manifests (repo_uid, index_digest, digest, os, architecture, size_bytes, create_time)
       select repo_uid, digest, digest, 'linux', 'amd64', 2, now() from planted`,
    );
    await query(
      `insert into image_contents (uid, repo_uid, digest, platform, state, operating_system, package_count, reader_version, create_time, update_time,
         layers_written, packages)
       select repo_uid || '/' || substr(digest, 8, 16), repo_uid, digest, 'linux/amd64', 'IMAGE_CONTENTS_STATE_INDEXED',
         '{"id": "debian", "version": "12", "name": "Debian GNU/Linux 12 (bookworm)"}', $1, 1000, now(), now(), true, (
           select jsonb_object_agg('pkg:deb/debian/' || (case when number = 0 and image % $2 = 0 then 'rare' else 'package-' || (image * 7 + number) % 3000 end)
             || '?distro=debian-12', '1.' || image % 20 || '-1') from generate_series(0, $1::integer - 1) as number)
       from planted`,
      [packagesEach, rareness],
    );
    await query(
      `insert into image_coverage (owner, repo, tag, architecture, short_repo, repo_uid, digest, identity, ecosystems, partly_read)
       select left(repo_uid, 40), 'repo-' || repo, 't' || tag, 'amd64', 'repo-' || repo, repo_uid, digest, digest, '["Debian:12"]', false from planted`,
    );
    await query("select count_coverage(array_agg(owner), array_agg(repo)) from (select distinct owner, repo from image_coverage) as given");
    await query("insert into package_labels select distinct $1, jsonb_object_keys(packages) from image_contents", [group]);
    await query("set session_replication_role = origin");
    // Not the empty ones: a server's tables have no statistics before their first rows.
    await query("analyze repos, tags, repo_manifests, manifests, image_contents, image_coverage, coverage_counts");
  });

const importAdvisory = async (id: string, name: string, fixed: string): Promise<void> => {
  const file = join(folder, `${id}.json`);
  const record = {
    id,
    modified: "2026-01-02T00:00:00Z",
    affected: [{ package: { ecosystem: "Debian:12", name }, ranges: [{ type: "ECOSYSTEM", events: [{ introduced: "0" }, { fixed }] }] }],
  };
  await writeFile(file, JSON.stringify(record));
  assert.deepEqual((await runImport(world, "advisories", [file], { group })).refused, []);
};

const findingsOf = async (request: JsonObject): Promise<{ readonly count: number; readonly shown: number }> => {
  const reply = await world.ok("gantry.findings.v1.FindingsService/ListFindings", { pageSize: 200, ...request }, { token: await owners.token(group) });
  return { count: Number(reply.totalCount ?? 0), shown: objectList(reply, "findings").length };
};

const size = async (table: string): Promise<string> => {
  const [row] = await asOwner(world.databaseUrl, "select pg_size_pretty(pg_total_relation_size($1::regclass)), pg_size_pretty(pg_indexes_size($1::regclass))", [
    table,
  ]);
  return `${table}: ${row?.[0]}, of which indexes ${row?.[1]}`;
};

test(`among ${repos * tagsEach} images with ${packagesEach} packages each, only affected images have a finding`, {
  timeout: shortOrLong(900_000, 3_600_000),
}, async (t) => {
  const measure = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    world.clock.now += 1000;
    const startMs = performance.now();
    const seen = new Map<string, number>();
    const timer = setInterval(() => {
      void asOwner(
        world.databaseUrl,
        "select left(regexp_replace(query, '\\s+', ' ', 'g'), 260) from pg_stat_activity where state = 'active' and pid <> pg_backend_pid()",
      ).then((rows) => {
        for (const [q] of rows) seen.set(q ?? "", (seen.get(q ?? "") ?? 0) + 1);
      });
    }, 100);
    const result = await work();
    clearInterval(timer);
    for (const [q, n] of [...seen].sort((a, b) => b[1] - a[1]).slice(0, 5)) t.diagnostic(`   ${n}x ${q}`);
    t.diagnostic(`${what}: ${((performance.now() - startMs) / 1000).toFixed(2)} s`);
    return result;
  };
  await measure("rows inserted", insertImages);
  for (const table of ["image_contents", "repo_manifests", "tags"]) t.diagnostic(await size(table));
  // Every repo has an affected image, so that all images get their first report.
  await measure("the first advisory, which affects one image in a hundred", () => importAdvisory("DEBIAN-FIRST", "rare", "2.0"));
  const registry = openPusher(world, "growth/pushed", () => owners.token(group));
  // The first reading starts processes, and the first matching compiles plans.
  for (const tag of ["first", "second", "third"]) {
    await pushImage(registry, tag, [debian, dpkg([`package-of-${tag}`, "1.0-1"], ["rare", "1.0-1"]), apk()]);
    await world.server.contents.turn();
    await measure(`findings of the ${tag} image after it was read`, () => world.server.sboms.turn());
    const found = await measure("its list of findings", () => findingsOf({ images: [`growth/pushed:${tag}`] }));
    assert.equal(found.count, 1);
  }
  assert.deepEqual(unmatched, []);
  const affected = (repos * tagsEach) / rareness + 3;
  await measure("a new advisory, which affects one image in a hundred, imported and matched", () => importAdvisory("DEBIAN-RARE", "rare", "2.0"));
  assert.equal((await findingsOf({ advisoryIds: ["DEBIAN-RARE"] })).count, affected);
  await measure("a new advisory that affects no image, imported and matched", () => importAdvisory("DEBIAN-NONE", "absent", "2.0"));
  assert.equal((await findingsOf({})).count, 2 * affected);
});
