// OCI layouts in and out by the command line: the export equals the import, digest by digest, and broken parts are named.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Installation, openInstallation } from "../story/installation.ts";
import { gantryAnywhere } from "../anywhere.ts";
import type { Exit } from "../story/processes.ts";
import { digestOf } from "../distribution.ts";
import { openRegistryClient } from "./images.ts";

const layouts = join(import.meta.dirname, "../../../shared/data/registry/oci-layouts");

const missing = !existsSync(layouts) && "the real layouts are not beside the project";

let installation: Installation;
let folder: string;

/** Writes a layout by hand: two images with a tag each, of one config and one layer. */
const makeLayout = async (): Promise<string> => {
  const layout = join(folder, "made");
  await mkdir(join(layout, "blobs/sha256"), { recursive: true });
  const put = async (mediaType: string, text: string): Promise<{ mediaType: string; digest: string; size: number }> => {
    const digest = digestOf(Buffer.from(text));
    await writeFile(join(layout, "blobs/sha256", digest.replace("sha256:", "")), text);
    return { mediaType, digest, size: Buffer.byteLength(text) };
  };
  const imageOf = async (tag: string): Promise<object> => {
    const config = await put("application/vnd.oci.image.config.v1+json", JSON.stringify({ architecture: "amd64", os: "linux", config: { Labels: { tag } } }));
    const layer = await put("application/vnd.oci.image.layer.v1.tar", `layer of ${tag}`);
    const mediaType = "application/vnd.oci.image.manifest.v1+json";
    const manifest = await put(mediaType, JSON.stringify({ schemaVersion: 2, mediaType, config, layers: [layer] }));
    return { ...manifest, annotations: { "org.opencontainers.image.ref.name": tag } };
  };
  const manifests = [await imageOf("1"), await imageOf("2")];
  await writeFile(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  await writeFile(join(layout, "index.json"), JSON.stringify({ schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests }));
  return layout;
};

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-layouts-"));
  await makeLayout();
  installation = await openInstallation({ GANTRY_BLOBS: join(folder, "blobs") });
});
after(async () => {
  await installation.close();
  await rm(folder, { recursive: true, force: true });
});

const gantry = (...args: readonly string[]): Promise<Exit> => gantryAnywhere(args, { env: installation.environment });

interface Listed {
  readonly digest: string;
  readonly tag: string;
}

const listedIn = async (layout: string): Promise<Listed[]> => {
  const { manifests } = JSON.parse(await readFile(join(layout, "index.json"), "utf8"));
  return manifests.map(({ digest, annotations = {} }: { digest: string; annotations?: Record<string, string> }) => ({
    digest,
    tag: annotations["org.opencontainers.image.ref.name"] ?? "",
  }));
};

const blobsIn = async (layout: string): Promise<Map<string, Buffer>> => {
  const names = await readdir(join(layout, "blobs/sha256"));
  return new Map(await Promise.all(names.sort().map(async (name) => [name, await readFile(join(layout, "blobs/sha256", name))] as const)));
};

for (const name of ["made", "test_index", "test_index_media_type", "test_index_one_image"]) {
  const isMade = name === "made";
  test(`an export of ${name} equals its import`, { skip: isMade ? false : missing }, async () => {
    const layout = join(isMade ? folder : layouts, name);
    const repo = `first-organization/layouts/${name.replaceAll("_", "-")}`;
    const imported = await gantry("import", "oci", layout, "--repo", repo);
    const refusals = imported.stderr.split("\n").filter((line) => line.startsWith("refused"));
    assert.equal(imported.code, refusals.length > 0 ? 2 : 0, imported.stderr);
    const listed = await listedIn(layout);
    const taken = listed.filter(({ digest }) => !refusals.some((line) => line.includes(digest)));
    assert.ok(taken.length > 0, imported.stderr);
    const client = openRegistryClient(installation.world.url, () => installation.world.token());
    for (const { digest, tag } of taken) {
      const answer = await client.request("GET", `/v2/${repo}/manifests/${tag || digest}`);
      assert.equal(answer.status, 200);
      assert.equal(digestOf(answer.body), digest);
    }
    const copy = join(folder, `copy-of-${name}`);
    const references = taken.map(({ digest, tag }) => tag || digest);
    const exported = await gantry("export", "oci", copy, "--repo", repo, ...references);
    assert.equal(exported.code, 0, exported.stderr);
    assert.deepEqual(await listedIn(copy), taken);
    const [before, behind] = [await blobsIn(layout), await blobsIn(copy)];
    assert.ok(behind.size > 0);
    for (const [digest, content] of behind) assert.ok(before.get(digest)?.equals(content), digest);
    // The second import sends nothing.
    assert.match((await gantry("import", "oci", copy, "--repo", repo)).stdout, / 0 blobs sent, 0 refused/);
  });
}

test("a missing or broken part of a layout is named, and the rest is imported", async () => {
  const layout = join(folder, "broken");
  await cp(join(folder, "made"), layout, { recursive: true });
  const [first] = await listedIn(layout);
  const name = first?.digest.replace("sha256:", "") ?? "";
  await writeFile(join(layout, "blobs/sha256", name), "{}");
  const { code, stderr, stdout } = await gantry("import", "oci", layout, "--repo", "first-organization/broken");
  assert.equal(code, 2);
  assert.match(stderr, new RegExp(`refused .*${name} is missing, or its content does not match`));
  assert.match(stdout, /[1-9] manifests/);
  const none = await gantry("import", "oci", folder, "--repo", "first-organization/none");
  assert.equal(none.code, 1);
  assert.match(none.stderr, /is not an OCI layout/);
});
