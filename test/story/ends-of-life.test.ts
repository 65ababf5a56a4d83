// Version 1's ends of life: the state of each product version and tag on any day, as the source implies it. A group's lifecycle applies to the group
// and its subgroups and is hidden from others.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parse } from "yaml";
import { importRegistry } from "#advisories/feeds";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import type { Protocol } from "../client.ts";
import { asOwner } from "../database.ts";
import { shortOrLong } from "../length.ts";
import { openPusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";
import { realData, runImport, withRealData } from "./import.ts";

const registry = "chainguard.platform.registry.Registry";
const firstDay = "2019-03-01";

let world: World;
let folder: string;

before(async () => {
  world = await openWorld({}, undefined, Date.parse(`${firstDay}T09:00:00Z`));
  folder = await mkdtemp(join(tmpdir(), "gantry-ends-of-life-"));
});
after(async () => {
  await world?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

interface Options {
  readonly token?: string;
  readonly protocol?: Protocol;
}

const versionsOf = (name: string, options: Options = {}): Promise<JsonObject> => world.ok(`${registry}/GetPackageVersionMetadata`, { package: name }, options);

const listPages = async (request: JsonObject, options: Options = {}): Promise<{ items: JsonObject[]; pages: number }> => {
  const items: JsonObject[] = [];
  let [pageToken, pages] = ["", 0];
  do {
    const reply = await world.ok(`${registry}/ListEolTags`, { ...request, ...(pageToken === "" ? {} : { pageToken }) }, options);
    items.push(...objectList(reply, "items"));
    pageToken = text(reply, "nextPageToken");
    pages++;
  } while (pageToken !== "");
  return { items, pages };
};

const eolTags = async (request: JsonObject, options: Options = {}): Promise<JsonObject[]> => (await listPages({ pageSize: "200", ...request }, options)).items;

/** Formats a tag as "TAG_IN_GRACE GRACE_ACTIVE 2025-10-30"; an absent enum is its first value. */
const said = (tag: JsonObject | undefined): string =>
  [
    text(tag ?? {}, "tagStatus") || "TAG_ACTIVE",
    text(tag ?? {}, "graceStatus") || "GRACE_NOT_ELIGIBLE",
    text(tag ?? {}, "gracePeriodExpiryDate").slice(0, 10),
    text(part(tag ?? {}, "mainPackageVersion"), "version"),
  ]
    .join(" ")
    .trim();

const createRepo = async (parent: string, name: string): Promise<string> =>
  text(await world.ok("registry.ReposService/CreateRepo", { parent, repo: { name } }), "uid");
const digest = `sha256:${"a".repeat(64)}`;
const createTag = (parent: string, name: string, more: JsonObject = {}): Promise<JsonObject> =>
  world.ok("registry.TagsService/CreateTag", { parent, tag: { name, digest, ...more } });
const createGroup = async (parent: string | undefined, name: string): Promise<string> =>
  text(await world.ok("iam.GroupsService/CreateGroup", { ...(parent === undefined ? {} : { parent }), group: { name } }), "uid");
const member = async (group: string, role: string): Promise<string> => {
  const identity = text(
    await world.ok("iam.IdentitiesService/CreateIdentity", {
      parent: group,
      identity: { name: "member", claimMatch: { issuer: "https://issuer.example", subject: crypto.randomUUID() } },
    }),
    "uid",
  );
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: group, roleBinding: { identityUid: identity, roleUid: builtInRoleUid(role) } });
  return world.token(identity);
};

const importOwn = async (name: string, releases: readonly JsonObject[], group: string, more: JsonObject = {}): Promise<void> => {
  const path = join(folder, `${name}-${crypto.randomUUID()}.json`);
  await writeFile(path, JSON.stringify({ product: name, releases, ...more }));
  assert.deepEqual((await runImport(world, "lifecycle", [path], { group })).refused, []);
};

// ---- all known data --------------------------------------------------------------------------------------------------

interface SourceRelease {
  readonly releaseCycle: string;
  readonly releaseDate: string;
  readonly eol: string | boolean;
  readonly lts?: string | boolean;
  readonly latest?: string;
}

interface SourceProduct {
  readonly permalink: string;
  readonly releases: readonly SourceRelease[];
}

const products = async (): Promise<SourceProduct[]> => {
  const lifecycles = join(realData, "lifecycle/endoflife-date");
  const files = (await readdir(lifecycles)).filter((name) => name.endsWith(".md"));
  return Promise.all(
    files.map(async (name) => {
      const [, head = ""] = (await readFile(join(lifecycles, name), "utf8")).split(/^---$/m);
      return parse(head, { schema: "core" }) as SourceProduct;
    }),
  );
};

const nameOf = ({ permalink }: SourceProduct): string => permalink.replace(/^\//, "");

/** Returns the days six months later, by PostgreSQL's calendar. */
const graceEnds = async (days: readonly string[]): Promise<Map<string, string>> => {
  const list = days.map((day) => `'${day}'`).join(", ");
  const found = await asOwner(world.databaseUrl, `select day, (day::date + interval '6 months')::date::text from unnest(array[${list}]) as given(day)`);
  return new Map(found.map(([day, end]) => [day ?? "", end ?? ""]));
};

const readers: Protocol[] = ["rest", "grpc"];

test("on any day the state of each version and tag of the real lifecycles follows from the source", withRealData, async () => {
  const all = await products();
  assert.equal((await runImport(world, "lifecycle", [join(realData, "lifecycle/endoflife-date")])).new, 156);
  const repos = join(folder, "repos");
  await mkdir(repos);
  // All versions; of the tags, which are created one by one, the short form takes a sample.
  const tagged = all.filter((_, index) => index % shortOrLong(8, 1) === 0);
  for (const product of tagged) {
    const tags = product.releases.map(({ releaseCycle }) => ({ name: releaseCycle, digest }));
    await writeFile(join(repos, `${nameOf(product)}.json`), JSON.stringify({ repo: nameOf(product), tags }));
  }
  const imported = await importRegistry(world.server.application.kernel, { group: world.organization, sources: [repos], progress: () => {} });
  assert.deepEqual([imported.repos.made, imported.tags.made, imported.refused], [tagged.length, tagged.flatMap(({ releases }) => releases).length, []]);
  assert.equal(all.flatMap(({ releases }) => releases).length, 2586);
  const repoNames = new Map((await asOwner(world.databaseUrl, "select uid, name from repos")).map(([uid, name]): [string, string] => [uid ?? "", name ?? ""]));
  const days = [...new Set(all.flatMap(({ releases }) => releases.flatMap(({ eol }) => (typeof eol === "string" ? [eol] : []))))];
  const ends = await graceEnds(days);
  const seen = new Set<string>();
  for (const [at, today] of shortOrLong(
    ["2021-12-31", "2025-10-31"],
    [firstDay, "2021-12-31", "2024-02-29", "2025-10-31", "2026-08-22", "2031-01-01"],
  ).entries()) {
    world.clock.now = Date.parse(`${today}T23:59:59.999Z`);
    const protocol = readers[at % 2] ?? "rest";
    const hasCome = (value: string | boolean | undefined): boolean => value === true || (typeof value === "string" && value <= today);
    for (const product of all) {
      const { eolVersions, versions, gracePeriodMonths } = await versionsOf(nameOf(product), { protocol });
      const shown = (list: Json | undefined): string[][] =>
        (Array.isArray(list) ? list.filter(isObject) : []).map((each) => [
          text(each, "version"),
          text(each, "eolDate"),
          text(each, "releaseDate"),
          text(each, "latestVersion"),
          String(each.lts === true),
          String(each.exists === true),
        ]);
      const wanted = (ended: boolean): string[][] =>
        product.releases
          .filter(({ eol }) => hasCome(eol) === ended)
          .map(({ releaseCycle, eol, releaseDate, latest, lts }) => [
            releaseCycle,
            typeof eol === "string" ? eol : "",
            releaseDate,
            latest ?? "",
            String(hasCome(lts)),
            String(releaseDate <= today),
          ]);
      assert.deepEqual([shown(eolVersions), shown(versions), gracePeriodMonths], [wanted(true), wanted(false), 6], `${nameOf(product)} on ${today}`);
    }
    const told = new Map(
      (await eolTags({}, { protocol })).map((tag): [string, JsonObject] => [`${repoNames.get(text(tag, "id").slice(0, -17))}:${text(tag, "name")}`, tag]),
    );
    const expected = new Map(
      tagged.flatMap((product) =>
        product.releases.map(({ releaseCycle, eol }): [string, string] => {
          const end = typeof eol === "string" ? (ends.get(eol) ?? "") : "";
          const state =
            eol === false
              ? "TAG_ACTIVE GRACE_NOT_ELIGIBLE"
              : eol === true
                ? "TAG_INACTIVE GRACE_NOT_ELIGIBLE"
                : eol > today
                  ? "TAG_ACTIVE GRACE_ELIGIBLE"
                  : today < end
                    ? "TAG_IN_GRACE GRACE_ACTIVE"
                    : "TAG_INACTIVE GRACE_EXPIRED";
          seen.add(state);
          const isPast = typeof eol === "string" && eol <= today;
          return [`${nameOf(product)}:${releaseCycle}`, `${state} ${isPast ? end : ""} ${releaseCycle}`];
        }),
      ),
    );
    assert.deepEqual(new Map([...told].map(([name, tag]): [string, string] => [name, said(tag)]).sort()), new Map([...expected].sort()), today);
    for (const [name, tag] of told) assert.equal(`${text(tag, "mainPackageName")}:${text(tag, "name")}`, name);
  }
  assert.equal(seen.size, 5, "each state was met");
});

test("a tag belongs to the version at the start of its name, and a product is found by each of its names", withRealData, async () => {
  world.clock.now = Date.parse("2025-05-01T00:00:00Z");
  const group = await createGroup(world.organization, "by-names");
  for (const [repo, tag, expected] of [
    ["node", "18.20.8-slim", "nodejs TAG_IN_GRACE GRACE_ACTIVE 2025-10-30 18"],
    ["node", "v20", "nodejs TAG_ACTIVE GRACE_ELIGIBLE  20"],
    ["node", "latest", "nodejs TAG_ACTIVE GRACE_NOT_ELIGIBLE"],
    ["node-fips", "18", "nodejs TAG_IN_GRACE GRACE_ACTIVE 2025-10-30 18"],
    ["golang", "1.21-alpine", "go TAG_INACTIVE GRACE_EXPIRED 2025-02-13 1.21"],
    ["golang", "1.2", "go TAG_ACTIVE GRACE_NOT_ELIGIBLE"],
    ["nothing-known", "1.21", " TAG_ACTIVE GRACE_NOT_ELIGIBLE"],
  ] as const) {
    const existing = objectList(await world.ok("registry.ReposService/ListRepos", { uidp: { childrenOf: group }, name: repo }), "repos")[0];
    await createTag(existing ? text(existing, "uid") : await createRepo(group, repo), tag);
    const [shown] = await eolTags({ uidp: { descendantsOf: group }, name: tag });
    assert.equal(`${text(shown ?? {}, "mainPackageName")} ${said(shown)}`, expected, `${repo}:${tag}`);
    await world.ok("registry.TagsService/DeleteTag", { uid: text(shown ?? {}, "id") });
  }
});

// ---- tags ------------------------------------------------------------------------------------------------------------

test("a deprecated tag is at its end of life, with any lifecycle or none", async () => {
  const group = await createGroup(world.organization, "deprecated");
  await importOwn("lantern", [{ releaseCycle: "1", releaseDate: "2019-01-01", eol: "2099-01-01" }], group);
  const [known, unknown] = [await createRepo(group, "lantern"), await createRepo(group, "candle")];
  for (const [repo, tag] of [
    [known, "1"],
    [known, "1.1"],
    [unknown, "2"],
    [unknown, "2.1"],
  ] as const)
    await createTag(repo, tag, tag.includes(".") ? { deprecated: true } : {});
  for (const protocol of readers) {
    const tags = await eolTags({ uidp: { descendantsOf: group } }, { protocol });
    assert.deepEqual(Object.fromEntries(tags.map((tag) => [text(tag, "name"), said(tag)])), {
      "1": "TAG_ACTIVE GRACE_ELIGIBLE  1",
      "1.1": "TAG_INACTIVE GRACE_NOT_ELIGIBLE  1",
      "2": "TAG_ACTIVE GRACE_NOT_ELIGIBLE",
      "2.1": "TAG_INACTIVE GRACE_NOT_ELIGIBLE",
    });
    assert.equal(tags.length, 4);
  }
});

test("an operator's file sets the grace period of each version, or none", async () => {
  const group = await createGroup(world.organization, "graces");
  const releases = [
    { releaseCycle: "1", releaseDate: "2019-01-01", eol: "2024-08-31" },
    { releaseCycle: "2", releaseDate: "2019-01-01", eol: "2024-08-31", eolBroken: true },
  ];
  await importOwn("windlass", releases, group, { gracePeriodMonths: 3 });
  const repo = await createRepo(group, "windlass");
  for (const tag of ["1", "2"]) await createTag(repo, tag);
  const on = async (day: string): Promise<string[]> => {
    world.clock.now = Date.parse(`${day}T12:00:00Z`);
    return (await eolTags({ uidp: { childrenOf: repo } })).map(said).sort();
  };
  assert.deepEqual(await on("2024-11-29"), ["TAG_IN_GRACE GRACE_ACTIVE 2024-11-30 1", "TAG_INACTIVE GRACE_BROKEN  2"].sort());
  assert.deepEqual(await on("2024-11-30"), ["TAG_INACTIVE GRACE_EXPIRED 2024-11-30 1", "TAG_INACTIVE GRACE_BROKEN  2"].sort());
  const { gracePeriodMonths, eolVersions } = await versionsOf("windlass");
  assert.deepEqual(
    [gracePeriodMonths, Array.isArray(eolVersions) && eolVersions.filter(isObject).map(({ eolBroken }) => eolBroken === true)],
    [3, [false, true]],
  );
});

test("filters, names, dates and epochs are those of the tag list, and attachments of digests are not versions", async () => {
  const repo = await createRepo(world.organization, "pages");
  for (const name of ["1", "1-20240131", "1.0-r3", "2", `sha256-${"a".repeat(64)}.sig`]) await createTag(repo, name);
  const names = async (request: JsonObject, options: Options = {}): Promise<string[]> =>
    (await eolTags({ uidp: { childrenOf: repo }, ...request }, options)).map((tag) => text(tag, "name")).sort();
  for (const protocol of readers) {
    assert.deepEqual(await names({}, { protocol }), ["1", "1-20240131", "1.0-r3", "2"]);
    assert.deepEqual(await names({ excludeDates: true }, { protocol }), ["1", "1.0-r3", "2"]);
    assert.deepEqual(await names({ excludeEpochs: true, excludeDates: true }, { protocol }), ["1", "2"]);
    assert.deepEqual(await names({ name: "1-20240131", excludeDates: true }, { protocol }), ["1-20240131"]);
    assert.deepEqual(await names({ name: "none" }, { protocol }), []);
    const { items, pages } = await listPages({ uidp: { childrenOf: repo }, pageSize: "3" }, { protocol });
    assert.deepEqual([items.length, new Set(items.map((tag) => text(tag, "id"))).size, pages], [4, 4, 2]);
    const ids = await world.ok(`${registry}/ListEolTags`, { uidp: { childrenOf: repo }, pageSize: "1" }, { protocol });
    for (const [request, words] of [
      [{ uidp: { childrenOf: repo }, pageSize: "-1" }, /page_size|pageSize/],
      [{ uidp: { childrenOf: repo }, pageToken: "forged" }, /page_token|pageToken/],
      [{ pageToken: text(ids, "nextPageToken") }, /page_token|pageToken/],
    ] as const) {
      const refused = await world.call(`${registry}/ListEolTags`, request, { protocol });
      assert.equal(refused.code, codes.INVALID_ARGUMENT, JSON.stringify(request));
      assert.match(refused.message, words);
    }
  }
});

test("if a tag's name contains no version, the version inside its image counts", async () => {
  const group = await createGroup(world.organization, "inside");
  await importOwn(
    "compass",
    [
      { releaseCycle: "3", releaseDate: "2019-01-01", eol: "2019-06-01" },
      { releaseCycle: "4", releaseDate: "2019-01-01", eol: "2099-01-01" },
    ],
    group,
  );
  const repo = await createRepo(group, "compass");
  const pusher = openPusher(world, repo, () => world.token());
  const image = await pusher.image("amd64", "latest");
  const [before] = await eolTags({ uidp: { childrenOf: repo }, name: "latest" });
  assert.equal(said(before), "TAG_ACTIVE GRACE_NOT_ELIGIBLE");
  const components = ["pkg:apk/wolfi/compass-3@3.2.1-r0", "pkg:apk/wolfi/compass-doc@4.0.0-r0", "pkg:npm/compass@4.0.0"].map((purl) => ({
    type: "library",
    name: purl,
    purl,
  }));
  const sbom = await pusher.blob(
    JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", components: components.slice(0, 2) }),
    "application/vnd.cyclonedx+json",
  );
  await pusher.artifact([sbom], { subject: image });
  await world.server.sboms.turn();
  const [shown] = await eolTags({ uidp: { childrenOf: repo }, name: "latest" });
  assert.equal(said(shown), "TAG_INACTIVE GRACE_EXPIRED 2019-12-01 3");
});

// ---- visibility of lifecycles ----------------------------------------------------------------------------------------

test("a lifecycle applies to its group and subgroups, the nearest first, and to no other organization", async () => {
  world.clock.now = Date.parse("2026-01-01T00:00:00Z");
  const [one, other] = [await createGroup(undefined, "one.example"), await createGroup(undefined, "other.example")];
  const [below, beside] = [await createGroup(one, "below"), await createGroup(one, "beside")];
  const end = (eol: string | boolean): JsonObject[] => [{ releaseCycle: "1", releaseDate: "2019-01-01", eol }];
  for (const group of [one, below, beside, other]) await createTag(await createRepo(group, "sextant"), "1");
  const states = async (group: string): Promise<string[]> =>
    (await eolTags({ uidp: { descendantsOf: group } })).map((tag) => `${text(tag, "id").startsWith(`${below}/`) ? "below" : "else"} ${said(tag)}`).sort();
  const unknown = "TAG_ACTIVE GRACE_NOT_ELIGIBLE";
  await importOwn("sextant", end("2025-12-01"), one);
  assert.deepEqual(await states(other), [`else ${unknown}`]);
  assert.deepEqual(await states(one), ["below TAG_IN_GRACE GRACE_ACTIVE 2026-06-01 1", ...Array(2).fill("else TAG_IN_GRACE GRACE_ACTIVE 2026-06-01 1")]);
  await importOwn("sextant", end("2020-01-01"), below);
  assert.deepEqual(await states(one), ["below TAG_INACTIVE GRACE_EXPIRED 2020-07-01 1", ...Array(2).fill("else TAG_IN_GRACE GRACE_ACTIVE 2026-06-01 1")]);
  await importOwn("sextant", end("2021-01-01"), other);
  assert.deepEqual(await states(one), ["below TAG_INACTIVE GRACE_EXPIRED 2020-07-01 1", ...Array(2).fill("else TAG_IN_GRACE GRACE_ACTIVE 2026-06-01 1")]);

  const endsOf = (reply: JsonObject): string[] => [...objectList(reply, "eolVersions"), ...objectList(reply, "versions")].map((each) => text(each, "eolDate"));
  const tokens = {
    one: await member(one, "viewer"),
    below: await member(below, "viewer"),
    beside: await member(beside, "viewer"),
    other: await member(other, "viewer"),
  };
  for (const protocol of readers) {
    for (const [who, expected] of [
      ["one", "2025-12-01"],
      ["below", "2020-01-01"],
      ["beside", "2025-12-01"],
      ["other", "2021-01-01"],
    ] as const)
      assert.deepEqual(endsOf(await versionsOf("sextant", { token: tokens[who], protocol })), [expected], who);
    // The operator sees all of them, and an error says that they differ.
    const several = await world.call(`${registry}/GetPackageVersionMetadata`, { package: "sextant" }, { protocol });
    assert.equal(several.code, codes.FAILED_PRECONDITION);
    assert.doesNotMatch(several.message, /2025|2021|[0-9a-f]{40}/);
    assert.deepEqual(endsOf(await versionsOf("sextant", { token: await world.token(undefined, { scopes: [other] }), protocol })), ["2021-01-01"]);
  }
});

test("a product known only to another organization gets the same error as an unknown product", async () => {
  const [one, other] = [await createGroup(undefined, "knows.example"), await createGroup(undefined, "asks.example")];
  await importOwn("astrolabe", [{ releaseCycle: "1", releaseDate: "2019-01-01", eol: true }], one);
  const token = await member(other, "viewer");
  for (const protocol of readers) {
    const [known, unknown] = [
      await world.call(`${registry}/GetPackageVersionMetadata`, { package: "astrolabe" }, { token, protocol }),
      await world.call(`${registry}/GetPackageVersionMetadata`, { package: "nonexistent" }, { token, protocol }),
    ];
    assert.equal(known.code, codes.NOT_FOUND);
    assert.equal(known.message.replace("astrolabe", "nonexistent"), unknown.message);
    const tags = await world.ok(`${registry}/ListEolTags`, { uidp: { descendantsOf: one } }, { token, protocol });
    assert.deepEqual(objectList(tags, "items"), []);
    for (const name of ["", "a".repeat(300)]) {
      const refused = await world.call(`${registry}/GetPackageVersionMetadata`, { package: name }, { token, protocol: "grpc" });
      assert.equal(refused.code, codes.INVALID_ARGUMENT, name);
    }
  }
});
