// One state of a record everywhere (decision 0073): after any sequence of imports, whatever sources add, change, withdraw, rename or restore, and
// whatever runs hold back or release, all outputs have the same verdict.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { fromBufferPromise } from "yauzl";
import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { judgeVersion } from "#base/versions/affected.ts";
import { shortOrLong } from "../length.ts";
import { fc } from "../property.ts";
import { openWorld, type World } from "../world.ts";
import { readAll, runImport } from "./import.ts";

let world: World;
let folder: string;
before(async () => {
  world = await openWorld();
  folder = mkdtempSync(join(tmpdir(), "gantry-state-"));
});
after(async () => {
  await world?.close();
  rmSync(folder, { recursive: true, force: true });
});

const hourMs = 3_600_000;

// ---- sources --------------------------------------------------------------------------------------------------------

/** One record of each source per index; enough that losing several counts as a large drop. */
const places = [0, 1, 2, 3, 4, 5, 6, 7] as const;

interface Place {
  readonly isThere: boolean;
  readonly isRenamed: boolean;
  /** The second source of OSV records has it too. */
  readonly isInSecond: boolean;
  readonly isWithdrawnByOrigin: boolean;
  readonly isWide: boolean;
  /** Whether the fixed version is at most the installed one. */
  readonly isFixed: boolean;
}

type Places = readonly Place[];

const atFirst: Place = { isThere: true, isRenamed: false, isInSecond: false, isWithdrawnByOrigin: false, isWide: false, isFixed: false };

const installed = "2.0.0";
const fixOf = ({ isFixed }: Place): string => (isFixed ? "1.0.0" : "3.0.0");
const cve = (run: number, at: number): string => `CVE-2026-${run}${String(at).padStart(4, "0")}`;
const goNumber = (run: number, at: number, isRenamed: boolean): string => `GO-2026-${run}${isRenamed ? "9" : "0"}${at}`;
const goModule = (run: number, at: number): string => `example.com/r${run}/lantern${at % 2}`;
const wideModule = (run: number): string => `example.com/r${run}/wick`;

const rangesOf = (fixed: string): JsonObject[] => [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed }] }];

const goRecord = (run: number, at: number, place: Place, modified: string): JsonObject => ({
  schema_version: "1.7.0",
  id: goNumber(run, at, place.isRenamed),
  modified,
  aliases: [cve(run, at), ...(place.isRenamed ? [goNumber(run, at, false)] : [])],
  ...(place.isWithdrawnByOrigin ? { withdrawn: "2026-01-01T00:00:00Z" } : {}),
  affected: [goModule(run, at), ...(place.isWide ? [wideModule(run)] : [])].map((name) => ({
    package: { ecosystem: "Go", name },
    ranges: rangesOf(fixOf(place)),
  })),
});

/** Returns a second source's earlier record, without a fix up to the installed version. */
const secondRecord = (run: number, at: number): JsonObject => goRecord(run, at, atFirst, "2025-01-01T00:00:00Z");

const harbour = (run: number, at: number): string => `harbour-r${run}-${at % 2}`;
const cga = (run: number, at: number, isRenamed: boolean): string => `CGA-2222-${String(run).padStart(4, "2")}-${isRenamed ? "33" : "22"}2${at + 2}`;

const wolfiAdvisory = (run: number, at: number, place: Place, time: string): JsonObject => ({
  id: cga(run, at, place.isRenamed),
  aliases: [cve(run, at)],
  events: [{ timestamp: time, type: "fixed", data: { "fixed-version": `${fixOf(place)}-r0` } }],
});

const csafNumber = (run: number, at: number, isRenamed: boolean): string => `YARD-${run}-${isRenamed ? "B" : "A"}${at}`;

const csafContent = (run: number, at: number, place: Place, time: string): JsonObject => ({
  document: {
    category: "csaf_vex",
    csaf_version: "2.0",
    distribution: { tlp: { label: "WHITE" } },
    title: `About ${at}`,
    publisher: { category: "vendor", name: "Yard", namespace: `https://yard-r${run}.example.org` },
    tracking: {
      id: csafNumber(run, at, place.isRenamed),
      status: "final",
      version: "1",
      initial_release_date: "2025-05-01T00:00:00Z",
      current_release_date: time,
      revision_history: [{ date: "2025-05-01T00:00:00Z", number: "1", summary: "First" }],
    },
  },
  product_tree: {
    full_product_names: [{ name: "keel", product_id: "keel", product_identification_helper: { purl: `pkg:pypi/keel-r${run}-${at}@${installed}` } }],
  },
  vulnerabilities: [{ cve: cve(run, at), product_status: { [place.isFixed ? "fixed" : "known_affected"]: ["keel"] } }],
});

const vexContent = (run: number, at: number, place: Place, time: string): JsonObject => ({
  "@context": "https://openvex.dev/ns/v0.2.0",
  "@id": `https://vex.example.org/r${run}/${place.isRenamed ? "b" : "a"}${at}`,
  author: "Yard",
  timestamp: time,
  version: 1,
  statements: [
    {
      vulnerability: { name: cve(run, at) },
      timestamp: time,
      products: [{ "@id": `pkg:pypi/mast-r${run}-${at}@${installed}`, identifiers: { purl: `pkg:pypi/mast-r${run}-${at}@${installed}` } }],
      status: place.isFixed ? "fixed" : "affected",
      ...(place.isFixed ? {} : { action_statement: "Wait." }),
    },
  ],
});

const secdbContent = (run: number, there: readonly (readonly [number, Place])[]): JsonObject => ({
  apkurl: "{{urlprefix}}/{{reponame}}/{{arch}}/{{pkg.name}}-{{pkg.ver}}.apk",
  archs: ["x86_64"],
  reponame: `main${run}`,
  urlprefix: "",
  distroversion: "v3.20",
  packages: there.map(([at, place]) => ({ pkg: { name: `beacon-r${run}-${at}`, secfixes: { [`${fixOf(place)}-r0`]: [cve(run, at)] } } })),
});

const writeSources = (run: number, all: Places, time: string): string[] => {
  const base = join(folder, String(run));
  const there = all.flatMap((place, at) => (place.isThere ? [[at, place] as const] : []));
  const write = (name: string, value: Json): void => writeFileSync(join(base, name), JSON.stringify(value));
  for (const each of ["wolfi", "csaf", "vex"]) {
    rmSync(join(base, each), { recursive: true, force: true });
    mkdirSync(join(base, each), { recursive: true });
  }
  write(
    "go.json",
    there.map(([at, place]) => goRecord(run, at, place, time)),
  );
  write(
    "second.json",
    all.flatMap(({ isInSecond }, at) => (isInSecond ? [secondRecord(run, at)] : [])),
  );
  for (const [name, group] of Map.groupBy(there, ([at]) => harbour(run, at))) {
    const advisories = group.map(([at, place]) => wolfiAdvisory(run, at, place, time));
    write(`wolfi/${name}.advisories.json`, { "schema-version": "2.0.2", package: { name }, advisories });
  }
  for (const [at, place] of there) {
    write(`csaf/${at}.json`, csafContent(run, at, place, time));
    write(`vex/${at}.json`, vexContent(run, at, place, time));
  }
  write("secdb.json", secdbContent(run, there));
  return ["go.json", "second.json", "wolfi", "csaf", "vex", "secdb.json"].map((name) => join(base, name));
};

const importImage = async (run: number): Promise<void> => {
  const path = join(folder, `images-${run}.jsonl`);
  const packages = [
    ...[0, 1].map((at) => `pkg:golang/${goModule(run, at)}@v${installed}`),
    `pkg:golang/${wideModule(run)}@v${installed}`,
    ...[0, 1].map((at) => `${harbour(run, at)}=${installed}-r0`),
    ...places.flatMap((at) => [`pkg:pypi/keel-r${run}-${at}@${installed}`, `pkg:pypi/mast-r${run}-${at}@${installed}`]),
    ...places.map((at) => `pkg:apk/alpine/beacon-r${run}-${at}@${installed}-r0`),
  ];
  writeFileSync(path, `${JSON.stringify({ repo: `ship-${run}`, tags: ["latest"], configs: { amd64: { packages } } })}\n`);
  await runImport(world, "images", [path]);
};

// ---- outputs --------------------------------------------------------------------------------------------------------

const read = async (path: string, init?: RequestInit): Promise<Response> => {
  const response = await fetch(`${world.url}${path}`, init);
  assert.equal(response.status, 200, path);
  // Avoids the rate limit.
  world.clock.now += 1000;
  return response;
};
const readJson = async (path: string, init?: RequestInit): Promise<JsonObject> => (await (await read(path, init)).json()) as JsonObject;

const sorted = (lines: Iterable<string>): string[] => [...new Set(lines)].sort();

const listAdvisories = async (run: number): Promise<JsonObject[]> =>
  (await readAll(world, "chainguard.platform.vulnerabilities.v2.AdvisoriesService/ListAdvisories", "advisories", {})).filter(({ artifactName }) =>
    new RegExp(`[/-]r${run}[/-]`).test(String(artifactName)),
  );

const apiFix = (advisory: JsonObject): string => {
  const fixes = objectList(advisory, "events").map((event) => text(part(event, "fixed"), "fixedVersion"));
  return fixes.at(-1) ?? "";
};
const isBelow = (fixed: string): boolean => fixed === "" || Number.parseInt(fixed, 10) > 2;

const archiveOf = async (path: string): Promise<JsonObject[]> => {
  const zip = await fromBufferPromise(Buffer.from(await (await read(path)).arrayBuffer()));
  const records: JsonObject[] = [];
  for await (const each of zip.eachEntry()) {
    const pieces: Buffer[] = [];
    for await (const piece of await zip.openReadStreamPromise(each)) pieces.push(piece as Buffer);
    const record = JSON.parse(Buffer.concat(pieces).toString()) as Json;
    if (isObject(record)) records.push(record);
  }
  return records;
};

const affectedIn = (records: readonly JsonObject[], ecosystem: string, names: readonly string[], version: string): string[] =>
  sorted(
    records.flatMap((record) =>
      names.flatMap((name) => (judgeVersion(record, { ecosystem, name }, version).verdict === "affected" ? [`${text(record, "id")} ${name}`] : [])),
    ),
  );

const queried = async (ecosystem: string, names: readonly string[], version: string): Promise<string[]> => {
  const found: string[] = [];
  for (const name of names) {
    const answer = await readJson("/osv/v1/query", { method: "POST", body: JSON.stringify({ package: { ecosystem, name }, version }) });
    found.push(...objectList(answer, "vulns").map((record) => `${text(record, "id")} ${name}`));
  }
  return sorted(found);
};

const goDatabase = async (names: readonly string[]): Promise<string[]> => {
  const modules = (await (await read("/osv/go/index/modules.json")).json()) as Json;
  assert(Array.isArray(modules));
  const found: string[] = [];
  for (const each of modules.filter(isObject)) {
    if (!names.includes(text(each, "path"))) continue;
    for (const vuln of objectList(each, "vulns")) {
      const record = await readJson(`/osv/go/ID/${text(vuln, "id")}.json`);
      assert.equal(judgeVersion(record, { ecosystem: "Go", name: text(each, "path") }, installed).verdict === "affected", isBelow(text(vuln, "fixed")));
      if (isBelow(text(vuln, "fixed"))) found.push(`${text(vuln, "id")} ${text(each, "path")}`);
    }
  }
  return sorted(found);
};

/** Returns what is affected in the image of this run: "GO-1 example.com/lantern". */
const affectedImages = async (run: number): Promise<string[]> => {
  const rows = await readAll(world, "gantry.images.v1.AffectedImagesService/ListAffectedImages", "affectedImages", {});
  return sorted(
    rows
      .filter((row) => text(row, "repo") === `ship-${run}` && text(row, "state") === "AFFECTED_IMAGE_STATE_AFFECTED")
      .map((row) => `${text(row, "advisoryId")} ${text(row, "packageName").replace(/^pkg:(?:golang|pypi|apk\/alpine)\//, "")}`),
  );
};

/** Our own fixes by package and CVE, with all versions stated: "harbour CVE-1" to "3.0.0-r0". */
type Fixes = ReadonlyMap<string, ReadonlySet<string>>;

const fixesOf = (said: readonly (readonly [string, string])[]): Map<string, Set<string>> => {
  const found = new Map<string, Set<string>>();
  for (const [name, fixed] of said) found.set(name, (found.get(name) ?? new Set()).add(fixed));
  return found;
};

const purlForm = /^pkg:apk\/wolfi\/([^@]+)@(.+)$/;

const fixesOfPurls = (name: string, purls: readonly string[]): [string, string][] =>
  purls.flatMap((purl): [string, string][] => {
    const [, artifact, version] = purlForm.exec(decodeURIComponent(purl)) ?? [];
    return artifact === undefined || version === undefined ? [] : [[`${artifact} ${name}`, version]];
  });

const openVexFixes = async (run: number): Promise<Fixes> => {
  const said: [string, string][] = [];
  for (const name of [harbour(run, 0), harbour(run, 1)]) {
    const response = await fetch(`${world.url}/advisory/v2/openvex/${name}.json`);
    if (response.status === 404) continue;
    for (const statement of objectList((await response.json()) as JsonObject, "statements"))
      said.push(
        ...fixesOfPurls(
          text(part(statement, "vulnerability"), "name"),
          objectList(statement, "products").map((each) => text(each, "@id")),
        ),
      );
  }
  return fixesOf(said);
};

const csafFixes = async (run: number): Promise<Fixes> => {
  const said: [string, string][] = [];
  const listed = (await (await read("/.well-known/csaf/white/index.txt")).text()).split("\n");
  for (const path of listed.filter((each) => each.includes(`harbour-r${run}-`))) {
    const document = await readJson(`/.well-known/csaf/white/${path}`);
    for (const vulnerability of objectList(document, "vulnerabilities")) {
      const { fixed } = part(vulnerability, "product_status");
      said.push(...fixesOfPurls(text(vulnerability, "cve"), Array.isArray(fixed) ? fixed.map(String) : []));
    }
  }
  return fixesOf(said);
};

const secdbFixes = (document: JsonObject, isOf: (name: string) => boolean): Fixes =>
  fixesOf(
    objectList(document, "packages").flatMap((entry) => {
      const of = part(entry, "pkg");
      if (!isOf(text(of, "name"))) return [];
      return Object.entries(part(of, "secfixes")).flatMap(([version, names]) =>
        (Array.isArray(names) ? names : []).map((name): [string, string] => [`${text(of, "name")} ${String(name)}`, version]),
      );
    }),
  );

const apiFixes = (advisories: readonly JsonObject[]): Map<string, Set<string>> =>
  fixesOf(
    advisories.map((advisory): [string, string] => {
      const names = [...((advisory.aliases as string[] | undefined) ?? []), text(advisory, "advisoryId")];
      return [`${text(advisory, "artifactName")} ${names.find((name) => name.startsWith("CVE-")) ?? ""}`, apiFix(advisory)];
    }),
  );

const shownFixes = (fixes: Fixes, names: Iterable<string>): string[] =>
  [...names].map((name) => `${name}: ${[...(fixes.get(name) ?? [])].sort().join(", ")}`).sort();

const othersCsaf = async (run: number): Promise<string[]> => {
  const base = `/.well-known/csaf-aggregator/yard-r${run}_example_org/white/`;
  const listed = (await (await read(`${base}index.txt`)).text()).split("\n").filter((line) => line !== "");
  const found: string[] = [];
  for (const path of listed) {
    const document = await readJson(`${base}${path}`);
    for (const vulnerability of objectList(document, "vulnerabilities"))
      found.push(`${text(part(part(document, "document"), "tracking"), "id")} ${Object.keys(part(vulnerability, "product_status")).join(",")}`);
  }
  return sorted(found);
};

const repositoryPackages = async (run: number): Promise<string[]> => {
  const tar = gunzipSync(Buffer.from(await (await read("/vex/vex-repository.tar.gz")).arrayBuffer()));
  return sorted([...tar.toString("latin1").matchAll(new RegExp(`"id":"pkg:pypi/(mast-r${run}-\\d)"`, "g"))].map(([, name = ""]) => name));
};

const statusOf = (advisory: JsonObject): string => (apiFix(advisory) === "" ? "known_affected" : "fixed");

// ---- the property ---------------------------------------------------------------------------------------------------

const compareOutputs = async (run: number): Promise<void> => {
  const differences: string[] = [];
  const compare = (output: string, said: readonly string[], expected: readonly string[]): void => {
    const [more, less] = [said.filter((each) => !expected.includes(each)), expected.filter((each) => !said.includes(each))];
    if (more.length + less.length > 0) differences.push(`${output}: too much: ${more.join("; ")}, too little: ${less.join("; ")}`);
  };
  const advisories = await listAdvisories(run);
  const ofType = (type: string): JsonObject[] => advisories.filter((each) => each.artifactType === type);
  const images = await affectedImages(run);
  const modules = [goModule(run, 0), goModule(run, 1), wideModule(run)];
  const go = ofType("golang");
  const affected = sorted(go.filter((each) => isBelow(apiFix(each))).map((each) => `${text(each, "advisoryId")} ${text(each, "artifactName")}`));
  const ofImages = (pattern: RegExp): string[] => images.filter((each) => pattern.test(each));
  compare("affected images", ofImages(/ example\.com\//), affected);
  compare("/osv/v1/query", await queried("Go", modules, installed), affected);
  compare("Go/all.zip", affectedIn(await archiveOf("/osv/Go/all.zip"), "Go", modules, installed), affected);
  compare("all.zip", affectedIn(await archiveOf("/osv/all.zip"), "Go", modules, installed), affected);
  compare("Go's database", await goDatabase(modules), affected);

  const own = advisories.filter((each) => text(each, "artifactName").startsWith("harbour"));
  const harbours = [harbour(run, 0), harbour(run, 1)];
  const ownAffected = sorted(own.filter((each) => isBelow(apiFix(each))).map((each) => `${text(each, "advisoryId")} ${text(each, "artifactName")}`));
  compare("affected images of our own", ofImages(/ harbour-/), ownAffected);
  compare("/osv/v1/query of our own", await queried("Wolfi", harbours, `${installed}-r0`), ownAffected);
  compare("Wolfi/all.zip", affectedIn(await archiveOf("/osv/Wolfi/all.zip"), "Wolfi", harbours, `${installed}-r0`), ownAffected);
  const fixes = apiFixes(own);
  // These formats omit an ID with contradicting advisories; CSAF uses the later one.
  const plain = sorted([...fixes].filter(([, said]) => said.size === 1).map(([name]) => name));
  const others = (said: Fixes): string[] => [...said.keys()].filter((name) => !fixes.has(name));
  const secdb = await (await fetch(`${world.url}/secdb/os/security.json`)).json();
  for (const [name, said] of [
    ["OpenVEX", await openVexFixes(run)],
    ["CSAF", await csafFixes(run)],
    ["secdb", secdbFixes(secdb as JsonObject, (each) => harbours.includes(each))],
  ] as const) {
    compare(name, shownFixes(said, plain), shownFixes(fixes, plain));
    compare(name, others(said), []);
  }

  const keels = advisories.filter((each) => text(each, "artifactName").startsWith("keel"));
  compare("others' CSAF", await othersCsaf(run), sorted(keels.map((each) => `${text(each, "advisoryId")} ${statusOf(each)}`)));
  const affectedKeels = keels.filter((each) => statusOf(each) === "known_affected");
  compare("images by CSAF", ofImages(/ keel-/), sorted(affectedKeels.map((each) => `${text(each, "advisoryId")} ${text(each, "artifactName")}`)));
  const masts = advisories.filter((each) => text(each, "artifactName").startsWith("mast"));
  compare("others' OpenVEX", await repositoryPackages(run), sorted(masts.map((each) => text(each, "artifactName"))));
  const affectedMasts = masts.filter((each) => statusOf(each) === "known_affected");
  compare("images by OpenVEX", ofImages(/ mast-/), sorted(affectedMasts.map((each) => `${text(each, "advisoryId")} ${text(each, "artifactName")}`)));
  const beacons = apiFixes(advisories.filter((each) => text(each, "artifactName").startsWith("beacon")));
  const alpine = await fetch(`${world.url}/secdb/alpine/v3.20/main${run}.json`);
  const beaconFixes = alpine.status === 404 ? fixesOf([]) : secdbFixes((await alpine.json()) as JsonObject, () => true);
  compare("Alpine's secdb", shownFixes(beaconFixes, beaconFixes.keys()), shownFixes(beacons, beacons.keys()));
  assert.deepEqual(differences, []);
};

interface Step {
  readonly at: readonly number[];
  readonly change: Partial<Place>;
  readonly allowWithdrawals: boolean;
  readonly waits: boolean;
}

const changes: readonly Partial<Place>[] = [
  { isThere: false },
  { isThere: true },
  { isRenamed: true },
  { isRenamed: false },
  { isFixed: true },
  { isFixed: false },
  { isInSecond: true },
  { isInSecond: false },
  { isWithdrawnByOrigin: true },
  { isWithdrawnByOrigin: false },
  { isWide: true },
  { isWide: false },
];

const anyStep = fc.record({
  at: fc.oneof(fc.constant([...places]), fc.subarray([...places], { minLength: 1 })),
  change: fc.constantFrom(...changes),
  allowWithdrawals: fc.boolean(),
  waits: fc.boolean(),
});

let runCount = 0;

const runSteps = async (steps: readonly Step[]): Promise<void> => {
  const run = ++runCount;
  mkdirSync(join(folder, String(run)));
  let all: Places = places.map(() => atFirst);
  await importImage(run);
  for (const { at, change, allowWithdrawals, waits } of [{ at: [], change: {}, allowWithdrawals: false, waits: false }, ...steps]) {
    world.clock.now += waits ? 73 * hourMs : hourMs;
    all = all.map((place, index) => (at.some((each) => each === index) ? { ...place, ...change } : place));
    const time = timestamp(world.clock.now);
    const done = await runImport(world, "advisories", writeSources(run, all, time), { public: true, allowWithdrawals });
    assert.deepEqual([done.failed, done.refused], [[], []]);
    await compareOutputs(run);
    const live = sorted((await listAdvisories(run)).filter(({ artifactType }) => artifactType === "golang").map((each) => text(each, "advisoryId")));
    const wanted = sorted(all.flatMap((place, index) => (place.isThere && !place.isWithdrawnByOrigin ? [goNumber(run, index, place.isRenamed)] : [])));
    // Every record of a source is present, and no other, unless it is held back or in another source.
    for (const each of wanted) assert(live.includes(each), `${each} is there`);
    if (done.held.length === 0 && all.every(({ isInSecond }) => !isInSecond)) assert.deepEqual(live, wanted);
  }
};

const step = (at: readonly number[], change: Partial<Place>, allowWithdrawals = false, waits = false): Step => ({ at, change, allowWithdrawals, waits });

test("held and released drops, renamed records and narrowed ones yield one verdict everywhere", { timeout: 600_000 }, () =>
  runSteps([
    step([...places], { isThere: false }),
    step([...places], { isThere: true }),
    step([...places], { isWide: true }),
    // Each record loses a package: first held back, then released.
    step([...places], { isWide: false }),
    step([...places], { isWide: false }, false, true),
    step([...places], { isRenamed: true }),
    step([...places], { isFixed: true }, true),
    step([0, 1], { isRenamed: false, isFixed: false }),
    step([0, 1, 2], { isThere: false }),
    step([4, 5], { isWithdrawnByOrigin: true }),
    step([1, 2], { isThere: true }),
  ]),
);

test("two sources of one record yield one verdict everywhere, whichever still has it", { timeout: 600_000 }, () =>
  runSteps([
    step([0, 1, 2], { isFixed: true }),
    step([0, 1, 2], { isInSecond: true }),
    step([0, 1], { isWide: true }),
    step([0], { isThere: false }),
    step([1], { isWide: false }),
    step([2], { isWithdrawnByOrigin: true }),
    step([0], { isThere: true }),
    step([0, 1], { isInSecond: false }),
  ]),
);

test("every output has the same verdict for a version at every moment, after any withdrawals, renames and restores", { timeout: 1_800_000 }, async () => {
  await fc.assert(fc.asyncProperty(fc.array(anyStep, { minLength: 2, maxLength: shortOrLong(4, 10) }), runSteps), { numRuns: shortOrLong(2, 40) });
});
