// Creates data that operations alone cannot, so that reads return real responses: imported feed records, a pushed image with an SBOM and a
// scanner report, a deployment, a product's lifecycle with a tag, accepted documents, a user of an identity provider.

import { parentOf } from "#base/uid.ts";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import type { MethodFact } from "#contract/facts.ts";
import { importReports } from "#advisories/feeds";
import { csafDocument } from "../csaf-documents.ts";
import { pushChart } from "../charts.ts";
import { createPendingDecision, decideFinding } from "../decided-finding.ts";
import { configType, openRegistry } from "../registry.ts";
import { descriptorOf, ociManifest, openPusher } from "../pusher.ts";
import { tarOf } from "../../server/registry/contents/tar.fixture.ts";
import { finishPullCounts } from "../../server/registry/resources/distribution/pull-records.ts";
import { groupMessage, type Stage } from "../conformance/stage.ts";
import { runImport } from "../story/import.ts";

const osv = (id: string, ecosystem: string, name: string): JsonObject => ({
  schema_version: "1.7.0",
  id,
  modified: "2025-01-01T00:00:00Z",
  affected: [{ package: { ecosystem, name }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed: "1.1.0" }] }] }],
});

/** One record of each import format: OSV for two ecosystems, Wolfi, Alpine's secdb, OpenVEX and CSAF. */
const records: readonly JsonObject[] = [
  osv("PUB-1", "npm", "lantern"),
  osv("GO-2025-0001", "Go", "example.com/lantern"),
  {
    "schema-version": "2.0.2",
    package: { name: "harbour" },
    advisories: [
      {
        id: "CGA-pppp-pppp-pppp",
        aliases: ["CVE-2025-0001"],
        events: [{ timestamp: "2026-01-01T00:00:00Z", type: "fixed", data: { "fixed-version": "2-r0" } }],
      },
    ],
  },
  { distroversion: "v3.19", reponame: "main", archs: ["x86_64"], packages: [{ pkg: { name: "harbour", secfixes: { "1.10": ["CVE-2024-1"] } } }] },
  {
    "@context": "https://openvex.dev/ns/v0.2.0",
    "@id": "https://vex.example/lantern",
    author: "Somebody",
    timestamp: "2025-01-01T00:00:00Z",
    version: 1,
    statements: [
      {
        vulnerability: { name: "CVE-2025-0050" },
        products: [{ "@id": "pkg:npm/lantern" }],
        status: "not_affected",
        justification: "component_not_present",
      },
    ],
  },
  csafDocument("YARD-1", "yard", { label: "WHITE" }),
  // An aggregator with two issuers.
  csafDocument("DOCK-1", "dock", { label: "WHITE" }),
];

const lifecycle: JsonObject = {
  product: "lantern",
  releases: [
    { releaseCycle: "1.1", releaseDate: "2025-01-01", eol: "2027-01-01", latest: "1.1.0" },
    { releaseCycle: "1.0", releaseDate: "2024-01-01", eol: "2025-03-01", latest: "1.0.4" },
  ],
};

/** Layers name packages of their own: `lantern` and `harbour` are in the SBOM and the imports. */
const layerFiles = [
  { name: "etc/os-release", content: 'ID=alpine\nVERSION_ID=3.20.3\nPRETTY_NAME="Alpine Linux v3.20"\n' },
  { name: "lib/apk/db/installed", content: "P:musl\nV:1.2.5-r0\nA:x86_64\n\n" },
];

const otherFiles = [
  { name: "etc/os-release", content: 'ID=alpine\nVERSION_ID=3.20.3\nPRETTY_NAME="Alpine Linux v3.20"\n' },
  { name: "lib/apk/db/installed", content: "P:musl\nV:1.2.5-r1\nA:x86_64\n\n" },
];

const imageConfig = {
  architecture: "amd64",
  os: "linux",
  config: {
    User: "65532",
    ExposedPorts: { "8080/tcp": {} },
    Env: ["PATH=/usr/bin"],
    Entrypoint: ["/usr/bin/harbour"],
    Cmd: ["--help"],
    WorkingDir: "/work",
    Labels: { maintainer: "somebody" },
    StopSignal: "SIGTERM",
  },
};

const bom = { bomFormat: "CycloneDX", specVersion: "1.6", components: [{ type: "library", name: "lantern", version: "1.1.0", purl: "pkg:npm/lantern@1.1.0" }] };

/** A grype report. */
const reportAt = (timeMs: number): JsonObject => ({
  matches: [
    {
      vulnerability: { id: "CVE-2025-0001", severity: "High" },
      artifact: { name: "lantern", version: "1.1.0", purl: "pkg:npm/lantern@1.1.0" },
    },
  ],
  descriptor: { name: "grype", version: "1", timestamp: timestamp(timeMs) },
});

const lanternQuery: JsonObject = { package: { name: "lantern", ecosystem: "npm" }, version: "1.0.0" };

/** Request fields that find the imported data, by operation, for each of its paths. */
const requestsOfImported: Readonly<Record<string, readonly JsonObject[]>> = {
  "gantry.feeds.v1.FeedFilesService/ReadCsaf": [{ path: "service.json" }],
  "gantry.feeds.v1.FeedFilesService/ReadCsafAggregator": [{ path: "aggregator.json" }],
  "gantry.feeds.v1.FeedFilesService/ReadCsafDocument": [{ file: "harbour.json" }],
  "gantry.feeds.v1.FeedFilesService/ReadGoDatabase": [{ folder: "index", file: "modules.json" }],
  "gantry.feeds.v1.FeedFilesService/ReadOpenVexDocument": [{ file: "harbour.json" }],
  "gantry.feeds.v1.FeedFilesService/ReadOsvArchive": [{ file: "modified_id.csv" }, { ecosystem: "npm", file: "PUB-1.json" }],
  "gantry.feeds.v1.FeedFilesService/ReadSecdb": [
    { distribution: "alpine" },
    { distribution: "alpine", folder: "v3.19" },
    { distribution: "alpine", folder: "v3.19", file: "main.json" },
  ],
  "gantry.feeds.v1.FeedFilesService/ReadSecdbDocument": [{ file: "all.json" }],
  "gantry.feeds.v1.FeedFilesService/ReadVexRepository": [{ file: "all.json" }],
  "gantry.feeds.v1.OsvService/QueryOsv": [lanternQuery],
  "gantry.feeds.v1.OsvService/QueryOsvBatch": [{ queries: [lanternQuery] }],
  "gantry.feeds.v1.OsvService/ReadOsvFile": [{ file: "PUB-1.json" }],
  "gantry.feeds.v1.OsvService/ReadOsvRecord": [{ id: "PUB-1" }],
  "chainguard.platform.registry.Registry/GetPackageVersionMetadata": [{ package: "lantern" }],
};

export interface Filled {
  /** Returns the request fields of this operation and path that find existing data. */
  readonly requestOf: (method: MethodFact, path?: number) => Promise<JsonObject>;
  /** Returns a token that sees the data, if not the default caller's. */
  readonly tokenFor: (method: MethodFact) => Promise<string | undefined>;
}

/** Every user can look up identities, but only callers with identity.list find one. */
const seenByOwner = "chainguard.platform.iam.Identities/Lookup";

/** Only the operator can call this operation. */
const byOperator = "chainguard.platform.iam.GroupInvites/CreateWithGroup";

/** Imports and pushes the data for the operations. */
export const fillStage = async (stage: Stage): Promise<Filled> => {
  const { world } = stage;
  const newRepoCalled = async (name: string, parent = world.organization, more: JsonObject = {}): Promise<string> =>
    text(await world.ok("registry.ReposService/CreateRepo", { parent, repo: { name, ...more } }), "uid");
  const repo = await newRepoCalled("filled");
  const pusher = openPusher(world, repo, stage.owner, "filled");
  const config = await pusher.blob(JSON.stringify(imageConfig), configType);
  const layer = await pusher.blob(tarOf(layerFiles), "application/vnd.oci.image.layer.v1.tar");
  const image = await pusher.manifest({ schemaVersion: 2, mediaType: ociManifest, config: descriptorOf(config), layers: [descriptorOf(layer)] }, ociManifest);
  await pusher.artifact([await pusher.blob(JSON.stringify(bom), "application/vnd.cyclonedx+json")], { subject: image });
  const otherLayer = await pusher.blob(tarOf(otherFiles), "application/vnd.oci.image.layer.v1.tar");
  const other = await pusher.manifest(
    { schemaVersion: 2, mediaType: ociManifest, config: descriptorOf(config), layers: [descriptorOf(otherLayer)] },
    ociManifest,
  );
  await world.server.contents.turn();
  await world.server.sboms.turn();
  const imagePackages: JsonObject = { repoUid: repo, reference: image.digest };
  const ofImage: JsonObject = { repoId: repo, digest: image.digest };
  const charts = await newRepoCalled("charts");
  const images = `- {name: app, image: "${new URL(world.url).host}/${repo}@${image.digest}", requirement: required}`;
  const files = { "harbour/values.yaml": "replicas: 2\n", "harbour/CHANGELOG.md": "# 1.2.3\n" };
  const chartDigest = await pushChart(openRegistry(world.url, `Bearer ${await stage.owner()}`), charts, { name: "harbour", images, files });
  // A tag with the product's release.
  const lantern = await newRepoCalled("lantern");
  await world.ok("registry.TagsService/CreateTag", { parent: lantern, tag: { name: "1.1", digest: image.digest } });

  const folder = await mkdtemp(join(tmpdir(), "gantry-filled-"));
  try {
    const advisories = join(folder, "advisories");
    await mkdir(advisories);
    for (const [index, record] of records.entries()) await writeFile(join(advisories, `${index}.json`), JSON.stringify(record));
    const product = join(folder, "lifecycle.json");
    await writeFile(product, JSON.stringify(lifecycle));
    const summaries = [await runImport(world, "advisories", [advisories], { public: true, author: "Wolfi" }), await runImport(world, "lifecycle", [product])];
    const report = join(folder, "report.json");
    await writeFile(report, JSON.stringify(reportAt(world.clock.now)));
    const about = { group: world.organization, sources: [report], repo: lantern, digest: image.digest, progress: () => {} };
    const reports = await importReports(world.server.application.services, about);
    const problems = [...summaries.flatMap(({ failed, refused }) => [...failed, ...refused]), ...reports.refused];
    if (problems.length > 0) throw new Error(`an import refused: ${JSON.stringify(problems)}`);
  } finally {
    await rm(folder, { recursive: true });
  }

  const newRepo = async (): Promise<string> => text(await stage.make("chainguard.platform.registry.v2.Repo"), "uid");
  const newOrganization = async (): Promise<string> => text(await stage.make(groupMessage, { parent: "" }), "uid");
  const newGroupOfTerms = async (): Promise<string> => {
    const group = await newOrganization();
    await world.ok("iam.TermsService/AcceptTerms", { group, documentIds: ["sfdpa.v1"] });
    return group;
  };
  const newPulledRepo = async (): Promise<string> => {
    const uid = await newRepoCalled(`pulled-${stage.next()}`);
    const pusher = openPusher(world, uid, () => stage.owner(), "pulled");
    await pusher.image("amd64", "1.1");
    await pusher.send("GET", "manifests/1.1");
    await finishPullCounts(world.server.application.services);
    return uid;
  };
  let decidedGroup: Promise<string> | undefined;
  const newDecidedGroup = async (): Promise<string> => {
    const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "decisions" } }), "uid");
    await decideFinding(world, group, stage.owner);
    return group;
  };
  const requestsOfMade: Readonly<Record<string, () => Promise<JsonObject>>> = {
    [seenByOwner]: async () => {
      const person = { issuer: "https://issuer.example.com", subject: `found-${stage.next()}` };
      await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity: { name: "found", claimMatch: person } });
      return person;
    },
    "chainguard.platform.iam.Terms/ListAccepted": async () => ({ group: await newGroupOfTerms() }),
    "chainguard.platform.iam.v2.TermsService/ListTermsAcceptances": async () => {
      const group = await newGroupOfTerms();
      return { group, uidp: { descendantsOf: group } };
    },
    "chainguard.platform.registry.Registry/GetManifestDigestCount": async () => {
      const parentId = await newOrganization();
      await openPusher(world, await newRepoCalled("counted", parentId), () => stage.owner(parentId), "counted").image("amd64", "1.1");
      return { parentId };
    },
    "chainguard.platform.registry.Registry/GetRepoCountBySource": async () => {
      const id = await newRepo();
      await newRepoCalled(`copied-${stage.next()}`, world.organization, { syncConfig: { source: id } });
      return { id };
    },
    "chainguard.platform.registry.Registry/ListEolTags": async () => ({ uidp: { childrenOf: lantern } }),
    "chainguard.platform.registry.Vulnerabilities/ListCumulativeVulnCountReports": async () => ({ repo: "lantern", tag: "1.1" }),
    "chainguard.platform.registry.Vulnerabilities/ListVulnCountReports": async () => ({ repo: "lantern", tag: "1.1" }),
    "chainguard.platform.vulnerabilities.v1.Advisories/ListAdvisoryEvents": async () => {
      const event = await stage.make("gantry.vulnerabilities.v1.AuthoredAdvisoryEvent");
      return { parentId: parentOf(text(event, "uid")) };
    },
    "chainguard.platform.registry.Registry/GetDeployment": async () => {
      const repoId = await newRepo();
      const charts = [{ repo: "oci://charts.example.com/harbour", source: "https://example.com/harbour" }];
      await world.ok("chainguard.platform.registry.Registry/CreateDeployment", { parentId: repoId, charts });
      return { repoId };
    },
    "chainguard.platform.registry.Registry/GetChart": async () => ({ repoId: charts, digest: chartDigest }),
    "chainguard.platform.registry.Registry/GetHelm": async () => ofImage,
    "chainguard.platform.registry.Registry/ListChartsByImageRepo": async () => ({ repoId: repo }),
    [byOperator]: async () => ({ group: `invited-${stage.next()}`, role: builtInRoleUid("owner"), ttl: "3600s" }),
    "chainguard.platform.registry.Registry/GetImageConfig": async () => ofImage,
    "chainguard.platform.registry.Registry/GetRawSbom": async () => ofImage,
    "chainguard.platform.registry.Registry/GetSbom": async () => ofImage,
    "chainguard.platform.registry.Registry/GetVulnReport": async () => ({ repoId: lantern, digest: image.digest }),
    "chainguard.platform.registry.Registry/GetRegistrySettings": async () => ({ registryId: await newOrganization() }),
    "gantry.images.v1.ImagePackagesService/FindImagePackages": async () => imagePackages,
    "gantry.images.v1.ImagePackagesService/CompareImages": async () => ({ ...imagePackages, toReference: other.digest }),
    "gantry.images.v1.ImagePackagesService/ExportImageSbom": async () => imagePackages,
    "gantry.decisions.v1.DecisionsService/ExportFindingDecisions": async () => {
      decidedGroup ??= newDecidedGroup();
      return { parent: await decidedGroup };
    },
    "gantry.decisions.v1.DecisionsService/ApproveFindingDecision": async () => ({
      uid: await createPendingDecision(world, world.organization, () => stage.owner()),
    }),
    "gantry.registry.v1.PullsService/GetPulls": async () => ({ uid: await newPulledRepo() }),
    "gantry.registry.v1.PullsService/FindPulls": async () => ({ uid: await newPulledRepo() }),
    "gantry.registry.v1.RetentionRulesService/PreviewRetentionRules": async () => ({ repoUid: await newPulledRepo() }),
    "gantry.registry.v1.InUseService/FindInUse": async () => {
      const uid = await newPulledRepo();
      await world.ok("gantry.registry.v1.InUseService/ReportInUse", { parent: parentOf(uid), source: "cluster-a", images: [`${uid}:1.1`] });
      return { uid };
    },
    "chainguard.platform.registry.Registry/UpdateRegistrySettings": async () => ({ registryId: await newOrganization() }),
  };
  return {
    requestOf: async ({ name }, path = 0) => requestsOfImported[name]?.[path] ?? (await requestsOfMade[name]?.()) ?? {},
    tokenFor: async ({ name }) => (name === seenByOwner ? stage.owner() : name === byOperator ? stage.operator() : undefined),
  };
};
