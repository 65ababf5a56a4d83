// The main job: an organization is filled from real files, and an exchanged token of a real issuer reads it over REST and gRPC.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isObject, type JsonObject } from "#base/json.ts";
import { gantryAnywhere } from "../anywhere.ts";
import { callBoth, column, http, items } from "./protocols.ts";
import { bind, databaseContents, createIdentity, openInstallation, type Installation } from "./installation.ts";
import { gantry, type Issuer, startIssuer } from "./processes.ts";

const own = join(import.meta.dirname, "..", "fixtures", "registry");
const broken = join(import.meta.dirname, "..", "fixtures", "registry-broken");
const real = join(import.meta.dirname, "..", "..", "..", "shared", "data", "registry", "official-image-tags");

interface SourceTag {
  readonly name: string;
  readonly digest: string;
  readonly updateTime?: string;
  readonly manifests: readonly { readonly architecture: string; readonly sizeBytes: number }[];
}
interface Source {
  readonly repo: string;
  readonly tags: readonly SourceTag[];
}

const readSources = async (folder: string): Promise<Source[]> => {
  const names = (await readdir(folder)).sort();
  return Promise.all(names.map(async (name) => JSON.parse(await readFile(join(folder, name), "utf8")) as Source));
};

const total = (counts: readonly number[]): number => counts.reduce((one, other) => one + other, 0);

const summaryOf = (sources: readonly Source[], fresh: boolean): RegExp => {
  const tags = total(sources.map(({ tags: each }) => each.length));
  const manifests = total(sources.flatMap(({ tags: each }) => each.map((tag) => tag.manifests.length)));
  const made = (count: number): string => (fresh ? String(count) : "0");
  return new RegExp(
    `^${sources.length} repos \\(${made(sources.length)} new\\), ${tags} tags \\(${made(tags)} new or moved\\), ` +
      `${manifests} manifests \\(${fresh ? "\\d+" : "0"} new\\), 0 refused\n$`,
  );
};

let installation: Installation;
let issuer: Issuer;
/** The organization's sources: real data if present. */
let sources: Source[];
let token: string;

before(async () => {
  [installation, issuer] = await Promise.all([openInstallation(), startIssuer()]);
  sources = await readSources(existsSync(real) ? real : own);
});
after(() => Promise.all([installation?.close(), issuer?.close()]));

const importing = (...args: string[]) => gantry(["import", "registry", ...args], { env: installation.environment });

const eventsBy = async (group: string): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { type, group: heard } of await installation.world.events()) {
    const name = type.replace(/^.*registry\./, "");
    if (heard === group && name !== type) counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
};

test("gantry import registry imports every repo, tag and manifest of the directory into the only organization", async () => {
  const { code, stdout, stderr } = await importing(existsSync(real) ? real : own);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  assert.match(stdout, summaryOf(sources, true));
  if (existsSync(real)) assert.match(stdout, /^103 repos \(103 new\), 2172 tags \(2172 new or moved\), 6639 manifests /);
  assert.deepEqual(await eventsBy(installation.world.organization), {
    "repo.created.v1": sources.length,
    "tag.created.v1": total(sources.map(({ tags }) => tags.length)),
  });
});

test("a second import of the same files writes no row and no event", async () => {
  const before = await databaseContents(installation.world);
  const { code, stdout } = await importing(existsSync(real) ? real : own);
  assert.equal(code, 0);
  assert.match(stdout, summaryOf(sources, false));
  assert.deepEqual(await databaseContents(installation.world), before);
});

test("an import uses the group of --group, and two concurrent imports write each file once", async () => {
  const { world } = installation;
  const group = String((await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "second import" } })).uid);
  const files = await readSources(own);
  const runs = await Promise.all([importing(own, "--group", group), importing(own, "--group", group)]);
  assert.deepEqual(
    runs.map(({ code, stderr }) => ({ code, stderr })),
    [
      { code: 0, stderr: "" },
      { code: 0, stderr: "" },
    ],
  );
  assert.equal((await eventsBy(group))["repo.created.v1"], files.length);
  const { body } = await http(world.url, "GET", `/registry/v2/repos?uidp.children_of=${group}&order_by=name&page_size=200`, { token: await world.token() });
  assert.deepEqual(column(body, "repos", "name"), files.map(({ repo }) => repo).sort());
  // Creation times are the source's, not the import's.
  const oldest = files.map(({ tags }) => tags.map(({ updateTime }) => updateTime ?? "9").sort()[0]);
  assert.deepEqual(column(body, "repos", "createTime"), oldest);
});

const refusals: readonly (readonly [file: string, line: number, what: RegExp])[] = [
  ["empty.json", 1, /not valid JSON/],
  ["far-time.json", 32, /tags\[1\]\.updateTime must be a time/],
  ["folder.json", 1, /cannot be read/],
  ["hostile-text.json", 24, /tags\[1\]\.manifests\[0\]\.os must be the name of a platform/],
  ["long-text.json", 25, /tags\[1\]\.manifests\[0\]\.architecture must be/],
  ["no-object.json", 1, /must be a JSON object with repo and tags/],
  ["no-such-day.json", 32, /tags\[1\]\.updateTime must be a time/],
  ["wrong-digest.json", 21, /tags\[1\]\.digest must match "\^sha256/],
  ["wrong-list.json", 3, /tags must be a list/],
  ["wrong-name.json", 2, /repo must match/],
  ["wrong-size.json", 28, /tags\[1\]\.manifests\[0\]\.sizeBytes must be a whole number/],
  ["wrong-time.json", 32, /tags\[1\]\.updateTime must be a time/],
  ["wrong-variant.json", 26, /tags\[1\]\.manifests\[0\]\.variant must be/],
  ["zz-broken.json", 13, /not valid JSON/],
];

test("invalid files are reported with name and line and leave nothing behind, the rest is imported, and the exit code is 2", async (t) => {
  const { world } = installation;
  const folder = await mkdtemp(join(tmpdir(), "gantry-broken-"));
  t.after(() => rm(folder, { recursive: true }));
  for (const name of await readdir(broken)) await writeFile(join(folder, name), await readFile(join(broken, name)));
  await mkdir(join(folder, "folder.json"));
  const group = String((await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "broken import" } })).uid);
  const { code, stdout, stderr } = await importing(folder, "--group", group);
  assert.equal(code, 2);
  assert.equal(stdout, `1 repos (1 new), 1 tags (1 new or moved), 1 manifests (1 new), ${refusals.length} refused\n`);
  const lines = stderr.trimEnd().split("\n");
  assert.equal(lines.length, refusals.length, stderr);
  for (const [index, [file, line, what]] of refusals.entries()) {
    assert.ok(lines[index]?.startsWith(`refused ${file}:${line}: `), lines[index]);
    assert.match(lines[index] ?? "", what);
  }
  const { body } = await http(world.url, "GET", `/registry/v2/repos?uidp.children_of=${group}`, { token: await world.token() });
  assert.deepEqual(column(body, "repos", "name"), ["intact"]);
  const tags = await http(world.url, "GET", `/registry/v2/tags?uidp.descendants_of=${group}`, { token: await world.token() });
  assert.deepEqual(column(tags.body, "tags", "name"), ["1"]);
  assert.deepEqual(await eventsBy(group), { "repo.created.v1": 1 });
});

test("an import with an unknown kind, directory or group fails with one line", async () => {
  const wrong: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [["registry", "/no/such/folder"], /^gantry: file or directory not found: \/no\/such\/folder\n$/],
    [["registry", own, "--group", "0".repeat(40)], /^gantry: Group "0{40}" not found\n$/],
    [
      ["pictures", own],
      /^gantry: cannot import "pictures"; must be one of oci, registry, advisories, vulnerabilities, libraries, images, lifecycle, reports, undo\n$/,
    ],
  ];
  const done = await Promise.all(wrong.map(([args]) => gantryAnywhere(["import", ...args], { env: installation.environment })));
  for (const [index, [args, says]] of wrong.entries()) {
    assert.equal(done[index]?.code, 1, args.join(" "));
    assert.equal(done[index]?.stdout, "");
    assert.match(done[index]?.stderr ?? "", says);
  }
});

test("a token of a real issuer is exchanged for one that can read the organization", async () => {
  const { world } = installation;
  const identity = await createIdentity(world, world.organization, "reader", { issuer: issuer.url, subject: "job:read" });
  await bind(world, world.organization, identity, "viewer");
  const foreign = await issuer.token({ sub: "job:read", aud: world.url });
  const { status, body } = await http(world.url, "POST", `/sts/exchange?identity=${identity}`, { token: foreign });
  assert.equal(status, 200);
  token = String(body.token);
});

const ours = (): string => `uidp.children_of=${installation.world.organization}`;
const byBytes = (texts: readonly string[]): string[] => [...texts].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));

const list = (query: string, request: JsonObject) =>
  callBoth(
    installation.world,
    token,
    ["GET", `/registry/v2/repos?${ours()}&${query}`],
    ["registry.ReposService/ListRepos", { uidp: { childrenOf: installation.world.organization }, ...request }],
  );

test("pages of three repos by name return each repo once and in order, with the total on every page", async () => {
  const names: string[] = [];
  let cursor = "";
  let pages = 0;
  for (;;) {
    const page = await http(installation.world.url, "GET", `/registry/v2/repos?${ours()}&page_size=3&order_by=name${cursor && `&page_token=${cursor}`}`, {
      token,
    });
    assert.equal(page.status, 200);
    assert.equal(page.body.totalCount, String(sources.length));
    assert.equal(page.body.skipped, 0);
    names.push(...column(page.body, "repos", "name"));
    pages++;
    if (!("nextPageToken" in page.body)) break;
    assert.equal(items(page.body, "repos").length, 3);
    cursor = encodeURIComponent(String(page.body.nextPageToken));
  }
  assert.deepEqual(names, byBytes(sources.map(({ repo }) => repo)));
  assert.equal(pages, Math.ceil(sources.length / 3));
});

test("gRPC pages return the same repos, and each protocol accepts the other's page token", async () => {
  const { world } = installation;
  const request = { uidp: { childrenOf: world.organization }, pageSize: 3, orderBy: "name" };
  const seen: string[] = [];
  let pageToken = "";
  for (let page = 0; page === 0 || pageToken !== ""; page++) {
    const protocol = page % 2 === 0 ? "grpc" : "rest";
    const { reply } = await world.call("registry.ReposService/ListRepos", { ...request, pageToken }, { token, protocol });
    seen.push(...column(reply, "repos", "name"));
    pageToken = String(reply.nextPageToken ?? "");
  }
  assert.deepEqual(seen, byBytes(sources.map(({ repo }) => repo)));
});

test("skip=10 starts after the first ten, and the response's skipped field is 10", async () => {
  const { body } = await list("page_size=5&order_by=name&skip=10", { pageSize: 5, orderBy: "name", skip: 10 });
  assert.deepEqual(column(body, "repos", "name"), byBytes(sources.map(({ repo }) => repo)).slice(10, 15));
  assert.equal(body.skipped, 10);
  assert.equal(body.totalCount, String(sources.length));
});

test("a skip near the end returns the rest, and one beyond it an empty list", async () => {
  const end = await list(`page_size=5&order_by=name&skip=${sources.length - 2}`, { pageSize: 5, orderBy: "name", skip: sources.length - 2 });
  assert.equal(items(end.body, "repos").length, 2);
  assert.ok(!("nextPageToken" in end.body));
  const beyond = await list(`page_size=5&skip=${sources.length + 5}`, { pageSize: 5, skip: sources.length + 5 });
  assert.deepEqual(beyond.body, { repos: [], totalCount: String(sources.length), skipped: sources.length + 5 });
});

test("created_at desc lists the newest first, and descending names are ascending names reversed", async () => {
  const young = await list("page_size=200&order_by=created_at%20desc", { pageSize: 200, orderBy: "created_at desc" });
  const times = column(young.body, "repos", "createTime");
  assert.equal(times.length, sources.length);
  assert.deepEqual(times, [...times].sort().reverse());
  assert.ok(new Set(times).size > 1);
  const down = await list("page_size=200&order_by=name%20desc", { pageSize: 200, orderBy: "name desc" });
  assert.deepEqual(column(down.body, "repos", "name"), byBytes(sources.map(({ repo }) => repo)).reverse());
});

test("name is an exact filter, and Get by UID returns the listed repo", async () => {
  const name = sources[3]?.repo ?? "";
  const { body } = await list(`name=${name}`, { name });
  assert.equal(body.totalCount, "1");
  const [repo] = items(body, "repos");
  assert.equal(repo?.name, name);
  for (const other of [name.slice(0, -1), `${name}x`, name.toUpperCase(), `%25`]) {
    const none = await list(`name=${other}`, { name: decodeURIComponent(other) });
    assert.deepEqual(none.body, { repos: [], totalCount: "0", skipped: 0 });
  }
  const uid = String(repo?.uid);
  const got = await callBoth(installation.world, token, ["GET", `/registry/v2/repos/${uid}`], ["registry.ReposService/GetRepo", { uid }]);
  assert.deepEqual(got.body, repo);
  const encoded = await http(installation.world.url, "GET", `/registry/v2/repos/${encodeURIComponent(uid)}`, { token });
  assert.deepEqual(encoded.body, repo);
});

const largest = async (): Promise<{ source: Source; uid: string }> => {
  const [source] = [...sources].sort((one, other) => other.tags.length - one.tags.length);
  if (!source) throw new Error("no source");
  const { body } = await http(installation.world.url, "GET", `/registry/v2/repos?${ours()}&name=${source.repo}`, { token });
  return { source, uid: column(body, "repos", "uid")[0] ?? "" };
};

test("the tags of a repo by uidp.children_of equal the file's, with digests and times", async () => {
  const { source, uid } = await largest();
  const found = new Map<string, JsonObject>();
  let pageToken = "";
  do {
    const page = await callBoth(
      installation.world,
      token,
      [
        "GET",
        `/registry/v2/tags?uidp.children_of=${uid}&page_size=200&include_referrers=true&include_dates=true&include_epochs=true${
          pageToken && `&page_token=${pageToken}`
        }`,
      ],
      [
        "registry.TagsService/ListTags",
        { uidp: { childrenOf: uid }, pageSize: 200, includeReferrers: true, includeDates: true, includeEpochs: true, pageToken },
      ],
    );
    for (const tag of items(page.body, "tags")) found.set(String(tag.name), tag);
    pageToken = String(page.body.nextPageToken ?? "");
  } while (pageToken !== "");
  assert.deepEqual([...found.keys()].sort(), source.tags.map(({ name }) => name).sort());
  for (const { name, digest, updateTime } of source.tags) {
    const tag = found.get(name);
    assert.equal(tag?.digest, digest);
    assert.equal(tag?.deprecated, false);
    if (updateTime) assert.equal(tag?.updateTime, updateTime);
    assert.ok(String(tag?.uid).startsWith(`${uid}/`));
  }
});

test("an image has the architectures and size of its manifests", async () => {
  const { source, uid } = await largest();
  const tag = source.tags.find(({ manifests }) => manifests.length > 1) ?? source.tags[0];
  assert.ok(tag);
  const { digest } = tag;
  const architectures = await callBoth(
    installation.world,
    token,
    ["GET", `/registry/v2/repos/${uid}/digests/${digest}/architectures`],
    ["registry.ImagesService/GetArchitectures", { repoUid: uid, digest }],
  );
  assert.deepEqual(architectures.body, { architectures: [...new Set(tag.manifests.map(({ architecture }) => architecture))].sort() });
  for (const architecture of ["", ...(architectures.body.architectures as string[])]) {
    const size = await callBoth(
      installation.world,
      token,
      ["GET", `/registry/v2/repos/${uid}/digests/${digest}/size${architecture && `?architecture=${architecture}`}`],
      ["registry.ImagesService/GetSize", { repoUid: uid, digest, architecture }],
    );
    const wanted = architecture || "amd64";
    const sizes = tag.manifests.filter((manifest) => manifest.architecture === wanted).map(({ sizeBytes }) => String(sizeBytes));
    assert.equal(size.body.architecture, wanted);
    assert.ok(sizes.includes(String(size.body.size)), `${wanted}: ${String(size.body.size)} is none of ${sizes.join(", ")}`);
    assert.equal(typeof size.body.size, "string");
  }
});

test("an unknown image, a missing architecture and an invalid digest get different errors", async () => {
  const { source, uid } = await largest();
  const absent = `sha256:${"0".repeat(64)}`;
  const image = (digest: string, rest: string, architecture = "") =>
    callBoth(
      installation.world,
      token,
      ["GET", `/registry/v2/repos/${uid}/digests/${digest}/${rest}`],
      ["registry.ImagesService/GetSize", { repoUid: uid, digest, architecture }],
    );
  const missing = await image(absent, "size");
  assert.equal(missing.status, 404);
  assert.deepEqual(items(missing.body, "details").map(({ resourceType, resourceName }) => ({ resourceType, resourceName }))[1], {
    resourceType: "registry.example.test/Image",
    resourceName: absent,
  });
  const other = await image(source.tags[0]?.digest ?? "", "size?architecture=vax", "vax");
  assert.equal(other.status, 404);
  const wrong = await image("latest", "size");
  assert.equal(wrong.status, 400);
  assert.ok(items(wrong.body, "details").some((detail) => isObject(detail) && "fieldViolations" in detail));
});
