// `gantry admin registry inspect`: the packages of pushed images, without an SBOM, with what was not read.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { gantryAnywhere } from "../anywhere.ts";
import { digestOf } from "../distribution.ts";
import { configType, imageType, indexType } from "../registry.ts";
import { type Installation, openInstallation } from "../story/installation.ts";
import type { Exit } from "../story/processes.ts";
import { type DraftEntry, tarOf } from "../../server/registry/contents/tar.fixture.ts";
import { openRegistryClient, type RegistryClient } from "./images.ts";

const repo = "first-organization/inspected";
const files = "application/vnd.oci.image.layer.v1.tar";

let installation: Installation;
let client: RegistryClient;
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-inspect-"));
  installation = await openInstallation({ GANTRY_BLOBS: join(folder, "blobs") });
  client = openRegistryClient(installation.world.url, () => installation.world.token());
});
after(async () => {
  await installation.close();
  await rm(folder, { recursive: true, force: true });
});

const inspect = (...args: readonly string[]): Promise<Exit> =>
  gantryAnywhere(["admin", "registry", "inspect", ...args, "--repo", repo], { env: installation.environment });

interface Layer {
  readonly mediaType: string;
  readonly bytes: Buffer;
}

const pushImage = async (tag: string, ...layers: readonly Layer[]): Promise<{ readonly digest: string; readonly size: number }> => {
  const config = Buffer.from(JSON.stringify({ architecture: "amd64", os: "linux" }));
  for (const bytes of [config, ...layers.map((layer) => layer.bytes)]) await client.pushBlob(repo, bytes);
  const body = JSON.stringify({
    schemaVersion: 2,
    mediaType: imageType,
    config: { mediaType: configType, digest: digestOf(config), size: config.length },
    layers: layers.map(({ mediaType, bytes }) => ({ mediaType, digest: digestOf(bytes), size: bytes.length })),
  });
  const digest = digestOf(Buffer.from(body));
  const { status } = await client.request("PUT", `/v2/${repo}/manifests/${tag || digest}`, body, { "content-type": imageType });
  assert.equal(status, 201);
  return { digest, size: Buffer.byteLength(body) };
};

const stanza = (name: string, version: string): string => `Package: ${name}\nStatus: install ok installed\nArchitecture: amd64\nVersion: ${version}\n\n`;
const osRelease: DraftEntry = { name: "etc/os-release", content: 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n' };
const status = (...stanzas: readonly string[]): DraftEntry => ({ name: "var/lib/dpkg/status", content: stanzas.join("") });

test("the packages of an image come from its layers, without those that a later layer removed", async () => {
  const base = gzipSync(
    tarOf([
      osRelease,
      status(stanza("bash", "5.2.15-2"), stanza("curl", "7.88.1-10")),
      { name: "app/node_modules/ms/package.json", content: '{"name":"ms","version":"2.0.0"}' },
    ]),
  );
  const above = zstdCompressSync(tarOf([status(stanza("bash", "5.2.15-2")), { name: "app/.wh.node_modules" }]));
  const { digest } = await pushImage("1", { mediaType: `${files}+gzip`, bytes: base }, { mediaType: `${files}+zstd`, bytes: above });
  const { code, stdout, stderr } = await inspect("1");
  assert.equal(code, 0, stderr);
  assert.equal(
    stdout,
    `${digest} Debian GNU/Linux 12 (bookworm): INDEXED, 1 package, 0 problems
pkg:deb/debian/bash@5.2.15-2?arch=amd64&distro=debian-12 var/lib/dpkg/status
`,
  );
  const [line = ""] = (await inspect(digest, "--json")).stdout.split("\n");
  assert.deepEqual(JSON.parse(line).packages, [
    {
      purl: "pkg:deb/debian/bash@5.2.15-2?arch=amd64&distro=debian-12",
      type: "deb",
      name: "bash",
      version: "5.2.15-2",
      architecture: "amd64",
      layer: digestOf(base),
      path: "var/lib/dpkg/status",
      database: "dpkg",
    },
  ]);
});

test("an image of which something was not read is shown as such, for each image of an index", async () => {
  const good = await pushImage("", { mediaType: files, bytes: tarOf([status(stanza("bash", "5.2.15-2"))]) });
  const bad = await pushImage("", { mediaType: `${files}+gzip`, bytes: Buffer.from("no layer at all") });
  const signature = await pushImage("", { mediaType: "application/vnd.dev.cosign.simplesigning.v1+json", bytes: Buffer.from("{}") });
  const body = JSON.stringify({
    schemaVersion: 2,
    mediaType: indexType,
    manifests: [
      { mediaType: imageType, ...good, platform: { os: "linux", architecture: "amd64" } },
      { mediaType: imageType, ...bad, platform: { os: "linux", architecture: "arm64", variant: "v8" } },
      { mediaType: imageType, ...signature },
      { mediaType: imageType, digest: `sha256:${"0".repeat(64)}`, size: 10 },
    ],
  });
  assert.equal((await client.request("PUT", `/v2/${repo}/manifests/many`, body, { "content-type": indexType })).status, 201);
  const { code, stdout, stderr } = await inspect("many");
  assert.equal(code, 1, stderr);
  const heads = stdout.split("\n").filter((line) => line.startsWith("sha256:"));
  assert.deepEqual(heads, [
    `${good.digest} linux/amd64: INDEXED, 1 package, 0 problems`,
    `${bad.digest} linux/arm64/v8: FAILED, 0 packages, 1 problem`,
    `${signature.digest}: UNSUPPORTED, 0 packages, 0 problems`,
  ]);
  assert.match(stdout, /LAYER_UNREADABLE sha256:[0-9a-f]{64} ends too early/);
});

test("indexes that list an image many times have it read once", async () => {
  const image = await pushImage("", { mediaType: files, bytes: tarOf([status(stanza("bash", "5.2.15-2"))]) });
  let listed: Readonly<Record<string, string | number>> = { mediaType: imageType, ...image };
  for (let depth = 0; depth < 4; depth++) {
    const body = JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests: Array.from({ length: 50 }, () => listed) });
    const digest = digestOf(Buffer.from(body));
    assert.equal((await client.request("PUT", `/v2/${repo}/manifests/${digest}`, body, { "content-type": indexType })).status, 201);
    listed = { mediaType: indexType, digest, size: Buffer.byteLength(body) };
  }
  const { code, stdout, stderr } = await inspect(String(listed.digest));
  assert.equal(code, 0, stderr);
  assert.deepEqual(
    stdout.split("\n").filter((line) => line.startsWith("sha256:")),
    [`${image.digest}: INDEXED, 1 package, 0 problems`],
  );
});

test("an unknown tag and a missing --repo are refused", async () => {
  const unknown = await inspect("absent");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /not found|unknown/i);
  const { code, stderr } = await gantryAnywhere(["admin", "registry", "inspect", "1"], { env: installation.environment });
  assert.equal(code, 1);
  assert.match(stderr, /tag or digest, and --repo required/);
});
