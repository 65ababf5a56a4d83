// The server's own reports: findings from an image's packages and matching advisories, next to scanners' reports, and counted if no scanner has a
// report.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { version } from "#application";
import { openPusher, type Pushed, type Pusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";
import { runImport } from "./import.ts";

const dayMs = 24 * 60 * 60 * 1000;
let world: World;
let folder: string;
before(async () => {
  world = await openWorld({}, undefined, Date.UTC(2026, 1, 1, 9));
  folder = await mkdtemp(join(tmpdir(), "gantry-own-reports-"));
});
after(async () => {
  await world?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const repo = (name: string): Pusher => openPusher(world, `first-organization/${name}`, () => world.token());
const attach = async (registry: Pusher, image: Pushed, ...purls: readonly string[]): Promise<Pushed> => {
  const content = JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", components: purls.map((purl) => ({ type: "library", name: purl, purl })) });
  const artifact = await registry.artifact([await registry.blob(content, "application/vnd.cyclonedx+json")], { subject: image });
  await world.server.sboms.turn();
  return artifact;
};
/** An npm package is affected before 2.0.0, or in all versions without a fix. */
const tell = async (name: string, fixed: string | undefined, severity: string): Promise<void> => {
  const file = join(folder, `${name}.json`);
  const events = [{ introduced: "0" }, ...(fixed === undefined ? [] : [{ fixed }])];
  await writeFile(
    file,
    JSON.stringify({
      schema_version: "1.7.0",
      id: `GHSA-${name}`,
      aliases: [`CVE-2026-${name}`],
      modified: `2026-01-01T00:00:0${fixed === undefined ? 1 : 0}Z`,
      severity: [{ type: "CVSS_V3", score: severity }],
      affected: [{ package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events }] }],
    }),
  );
  for (const kind of ["vulnerabilities", "advisories"] as const) assert.deepEqual((await runImport(world, kind, [file], { public: true })).refused, []);
};
const critical = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H";

const reportsOf = async (digest: string): Promise<JsonObject[]> =>
  objectList(await world.ok("chainguard.platform.registry.Vulnerabilities/ListVulnReports", { digest }), "items");
const counts = async (name: string): Promise<string[]> =>
  objectList(await world.ok("chainguard.platform.registry.Vulnerabilities/ListVulnCountReports", { repo: name, tag: "v1" }), "items").map(
    (item) => `${text(item, "date").slice(0, 10)} ${texts(item, "critCveIds").join()}`,
  );

test("an image with known packages has our report, which follows its packages and advisories", async () => {
  await tell("1001", "2.0.0", critical);
  const registry = repo("app");
  const image = await registry.image("amd64", "v1");
  const sbom = await attach(registry, image, "pkg:npm/1001@1.0.0", "pkg:npm/other@1.0.0");
  for (const protocol of ["rest", "grpc"] as const) {
    const { items } = await world.ok("chainguard.platform.registry.Vulnerabilities/ListVulnReports", { digest: image.digest }, { protocol });
    const [report = {}, ...more] = objectList({ items: items ?? [] }, "items");
    assert.equal(more.length, 0);
    assert.equal(text(part(report, "scanner"), "version"), `gantry/${version}`);
    const [found = {}, ...others] = objectList(report, "vulnerabilities");
    assert.equal(others.length, 0);
    assert.deepEqual(
      [text(found, "id"), texts(found, "aliases"), texts(found, "purls"), text(found, "severity"), found.cvss, found.fix],
      ["CVE-2026-1001", ["GHSA-1001"], ["pkg:npm/1001@1.0.0"], "CRITICAL", [{ score: "9.8", version: "3.1" }], { versions: ["2.0.0"], state: "FIXED" }],
    );
  }
  const { repos } = await world.ok("registry.ReposService/ListRepos", { name: "app" });
  const repoId = text((repos as JsonObject[])[0] ?? {}, "uid");
  const single = await world.ok("chainguard.platform.registry.Registry/GetVulnReport", { repoId, digest: image.digest });
  assert.deepEqual(single.scanner, { name: "gantry", version });
  const raw = JSON.parse(
    text(await world.ok("chainguard.platform.registry.Vulnerabilities/GetRawVulnReport", { digest: image.digest }), "rawReport"),
  ) as JsonObject;
  assert.deepEqual([raw.tool, raw.digest], [{ name: "gantry", version }, image.digest]);

  await tell("unrelated", "1.0.0", critical);
  assert.equal((await reportsOf(image.digest)).length, 1);
  // The advisory changes on the next day, and the packages one day later.
  world.clock.now += dayMs;
  await tell("1001", undefined, critical);
  world.clock.now += dayMs;
  assert.equal((await registry.send("DELETE", `manifests/${sbom.digest}`)).status, 202);
  await attach(registry, image, "pkg:npm/other@1.0.0");
  world.clock.now += dayMs;
  const states = (await reportsOf(image.digest)).map((report) => objectList(report, "vulnerabilities").map((each) => text(part(each, "fix"), "state")));
  assert.deepEqual(states, [[], ["NOT_FIXED"], ["FIXED"]]);
  assert.deepEqual(await counts("app"), ["2026-02-01 CVE-2026-1001", "2026-02-02 CVE-2026-1001", "2026-02-03 ", "2026-02-04 "]);
});

test("an unaffected image has a report without findings, and a scanner's report is counted instead of ours", async () => {
  const registry = repo("clean");
  const image = await registry.image("amd64", "v1");
  await attach(registry, image, "pkg:npm/other@1.0.0");
  const [report = {}] = await reportsOf(image.digest);
  assert.deepEqual(objectList(report, "vulnerabilities"), []);
  assert.deepEqual(
    (await counts("clean")).map((line) => line.slice(11)),
    [""],
  );
  const trivy = JSON.stringify({
    SchemaVersion: 2,
    ArtifactName: "clean",
    Results: [{ Target: "clean", Vulnerabilities: [{ VulnerabilityID: "CVE-2026-9", PkgName: "other", Severity: "CRITICAL" }] }],
  });
  await registry.artifact([await registry.blob(trivy, "application/vnd.trivy+json")], { subject: image });
  await world.server.sboms.turn();
  assert.deepEqual(
    (await counts("clean")).map((line) => line.slice(11)),
    ["CVE-2026-9"],
  );
  assert.equal((await reportsOf(image.digest)).length, 2);
});
