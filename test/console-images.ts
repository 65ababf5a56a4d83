// A console's world with images in several states, their advisories and a feed: for the pages of images and vulnerabilities.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DraftEntry } from "../server/registry/contents/tar.fixture.ts";
import { type ConsoleWorld, openConsoleWorld } from "./console.ts";
import { debian, dpkg, type LayerContent, npm, pushImageWith } from "./image-layers.ts";
import { openOwners } from "./owner.ts";
import { descriptorOf, ociIndex, ociManifest, openPusher, type Pushed, type Pusher } from "./pusher.ts";
import { emptyType } from "./registry.ts";
import { runImport } from "./story/import.ts";

export const organizationPath = "/console/first-organization";
export const repoPath = `${organizationPath}/payments/-/repos/web`;
/** A text that a tenant chooses. */
export const hostile = "<img src=x onerror=alert(1)>";

interface DraftLayer {
  readonly command: string;
  readonly content: LayerContent;
}

/** Pushes one platform with the history of its layers. */
const pushPlatform = (registry: Pusher, architecture: string, layers: readonly DraftLayer[], reference?: string): Promise<Pushed> => {
  const commands = [...layers.map(({ command }) => command), "CMD node"];
  return pushImageWith(registry, reference, { architecture, commands }, ...layers.map(({ content }) => content));
};

const pushIndex = async (registry: Pusher, reference: string, layersFor: (architecture: string) => readonly DraftLayer[]): Promise<Pushed> => {
  const manifests = [];
  for (const architecture of ["amd64", "arm64"]) {
    const pushed = await pushPlatform(registry, architecture, layersFor(architecture));
    manifests.push({ ...descriptorOf(pushed), platform: { os: "linux", architecture } });
  }
  return registry.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests }, ociIndex, reference);
};

const baseLayer = (openssl: string): DraftLayer => ({
  command: "/bin/sh -c #(nop) ADD file:4f1b0c27 in / ",
  content: [debian, dpkg(["bash", "5.2.15-2"], ["libssl3", openssl], ["zlib1g", "1:1.2.13"])],
});

const appLayer = (architecture: string, ...packages: readonly DraftEntry[]): DraftLayer => ({
  command: `RUN /bin/sh -c npm ci --omit=dev ${hostile} # buildkit`,
  content: [...packages, { name: `app/${architecture}`, content: architecture.repeat(2000) }],
});

export interface ImagesWorld extends ConsoleWorld {
  /** Digests of the images by tag. */
  readonly digests: Readonly<Record<"1.0" | "1.1" | "broken" | "chart" | "waiting", string>>;
}

const [critical, high, low] = [
  "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H",
  "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N",
  "CVSS:3.1/AV:L/AC:H/PR:H/UI:R/S:U/C:L/I:N/A:N",
];

export const openImagesWorld = async (): Promise<ImagesWorld> => {
  const folder = mkdtempSync(join(tmpdir(), "gantry-console-images-"));
  const opened = await openConsoleWorld({ GANTRY_BLOBS: join(folder, "blobs") });
  const { world } = opened;
  const owners = openOwners(world);
  const write = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const publish = async (id: string, cve: string, name: string, score: string, fixed?: string): Promise<void> => {
    const affected = [{ package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, ...(fixed ? [{ fixed }] : [])] }] }];
    const about = { summary: `Remote code execution in ${name}`, details: `A message that ${name} parses runs as code. ${hostile}` };
    const references = [
      { type: "WEB", url: "https://example.com/advisory" },
      { type: "WEB", url: "javascript:alert(1)" },
    ];
    const record = { schema_version: "1.7.0", id, aliases: [cve], modified: "2026-01-01T00:00:00Z", severity: [{ type: "CVSS_V3", score }], affected };
    const path = write(`${id}.json`, JSON.stringify({ ...record, ...about, references }));
    // Records of vulnerabilities are shown if they are published.
    assert.deepEqual((await runImport(world, "vulnerabilities", [path], { public: true })).refused, []);
    assert.deepEqual((await runImport(world, "advisories", [path])).refused, []);
  };
  const registry = openPusher(world, "first-organization/payments/web", () => owners.token());
  const first = await pushIndex(registry, "1.0", (architecture) => [
    baseLayer("3.0.9-1"),
    appLayer(architecture, npm("lantern", "1.0.0"), npm("cable", "1.0.0")),
  ]);
  const second = await pushIndex(registry, "1.1", (architecture) => [
    baseLayer("3.0.15-1"),
    appLayer(architecture, npm("lantern", "2.0.0"), npm("cable", "1.0.0"), npm("candle", "0.9.0")),
  ]);
  const broken = await pushPlatform(registry, "amd64", [baseLayer("3.0.9-1"), { command: "COPY . /app", content: Buffer.from("no archive") }], "broken");
  const chartLayer = descriptorOf(await registry.blob("chart", "application/vnd.cncf.helm.chart.content.v1.tar+gzip"));
  const chartConfig = descriptorOf(await registry.blob('{"name":"web","version":"1.0.0"}', "application/vnd.cncf.helm.config.v1+json"));
  const chart = await registry.manifest({ schemaVersion: 2, mediaType: ociManifest, config: chartConfig, layers: [chartLayer] }, ociManifest, "chart");
  const empty = descriptorOf(await registry.blob("{}", emptyType));
  const signature = { schemaVersion: 2, mediaType: ociManifest, artifactType: "application/vnd.dev.sigstore.bundle.v0.3+json", config: empty };
  const bundle = descriptorOf(await registry.blob('{"bundle":1}', "application/vnd.dev.sigstore.bundle.v0.3+json"));
  await registry.manifest({ ...signature, layers: [bundle], subject: descriptorOf(first) }, ociManifest);
  const older = await registry.blob('{"payload":1}', "application/vnd.dsse.envelope.v1+json");
  const attestation = { schemaVersion: 2, mediaType: ociManifest, config: empty, layers: [descriptorOf(older)] };
  await registry.manifest(attestation, ociManifest, `${first.digest.replace(":", "-")}.att`);
  await world.server.contents.turn();
  await publish("GHSA-aaaa-bbbb-0001", "CVE-2026-1001", "lantern", critical, "2.0.0");
  await publish("GHSA-aaaa-bbbb-0002", "CVE-2026-1002", "cable", low);
  await publish("GHSA-aaaa-bbbb-0003", "CVE-2026-1003", "candle", high, "1.0.0");
  const scores = write("epss_scores.csv", "#model_version:v2026.01.01,score_date:2026-02-01T00:00:00+0000\ncve,epss,percentile\nCVE-2026-1001,0.42,0.97\n");
  const exploit = { cveID: "CVE-2026-1001", vendorProject: "v", product: "p", vulnerabilityName: "n", dateAdded: "2026-01-10", shortDescription: "s" };
  const vulnerabilities = [{ ...exploit, requiredAction: "Update", dueDate: "2026-02-15", knownRansomwareCampaignUse: "Known", notes: "" }];
  const catalog = { title: "Catalog", catalogVersion: "1", dateReleased: "2026-01-10T00:00:00.000Z", count: 1, vulnerabilities };
  const exploits = write("known_exploited_vulnerabilities.json", JSON.stringify(catalog));
  for (const path of [scores, exploits]) assert.deepEqual((await runImport(world, "vulnerabilities", [path], { public: true })).refused, []);
  // Pushed after the layers were read.
  const waiting = await pushPlatform(registry, "amd64", [{ command: "COPY late /", content: [npm("late", "1.0.0")] }], "waiting");
  return {
    ...opened,
    digests: { "1.0": first.digest, "1.1": second.digest, broken: broken.digest, chart: chart.digest, waiting: waiting.digest },
    async close() {
      await opened.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

export const imagePath = (digest: string): string => `${repoPath}/images/${digest}`;
