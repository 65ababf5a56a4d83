// The process that reads a layer: its results, and its bounds on time and memory.

import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { openLayerReader } from "./layer-process.ts";
import { readImage } from "./read-image.ts";
import type { LayerContents } from "./read-layer.ts";
import { inPieces, tarOf } from "./tar.fixture.ts";

const layer = tarOf([
  { name: "lib/apk/db/installed", content: "P:musl\nV:1.2.5-r0\nA:x86_64\n" },
  { name: "app.jar", content: Buffer.alloc(1_000_000, "x") },
]);
const memoryBytesMax = 256 * 1024 * 1024;

test("a process reads a layer, and leaves nothing behind", async () => {
  const before = process.env.TMPDIR;
  const folder = await mkdtemp(join(tmpdir(), "gantry-test-"));
  process.env.TMPDIR = folder;
  try {
    const { databases, problems } = await openLayerReader({ memoryBytesMax })(inPieces(gzipSync(layer)));
    assert.deepEqual(
      databases.flatMap(({ packages }) => packages.map(({ name }) => name)),
      ["musl"],
    );
    assert.deepEqual(problems.listed, [{ reason: "DATABASE_UNREADABLE", detail: "is not a complete zip archive", path: "app.jar" }]);
    assert.deepEqual(await readdir(folder), []);
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    await rm(folder, { recursive: true });
  }
});

test("a layer beyond its time or memory ends with a problem, and the next one is read (attack 351)", async () => {
  const endless = async function* (): AsyncGenerator<Uint8Array> {
    yield layer.subarray(0, 1024);
    await new Promise(() => {});
  };
  const slow = await openLayerReader({ longestMs: 50 })(endless());
  assert.deepEqual(slow.problems.listed, [{ reason: "LAYER_TOO_SLOW", detail: "takes more than 0.05 s to read", path: "" }]);
  const zeros = tarOf([{ name: "zeros", content: Buffer.alloc(8 * 1024 * 1024) }]);
  const large = await openLayerReader({ memoryBytesMax: 1024 * 1024 })(inPieces(zeros, 64 * 1024));
  assert.deepEqual(large.problems.listed, [{ reason: "LAYER_TOO_LARGE", detail: "takes more than 1 MiB of memory to read", path: "" }]);
  assert.equal((await openLayerReader({ memoryBytesMax })(inPieces(layer))).entries, 2);
});

test("a failure to fetch a layer is thrown, and is not a property of the layer", async () => {
  const broken = async function* (): AsyncGenerator<Uint8Array> {
    yield layer.subarray(0, 1024);
    throw new Error("the storage is unreachable");
  };
  await assert.rejects(openLayerReader()(broken()), /the storage is unreachable/);
});

test("a process that is ended from outside is no property of the layer", async () => {
  const script = new URL("ended-worker.fixture.ts", import.meta.url);
  await assert.rejects(openLayerReader({ script })(inPieces(layer)), /the process that reads a layer was ended by SIGKILL/);
});

test("an image without layers of files is UNSUPPORTED; a layer that is encrypted or missing makes it PARTIAL", async () => {
  const manifestOf = (...mediaTypes: readonly string[]): string =>
    JSON.stringify({ schemaVersion: 2, layers: mediaTypes.map((mediaType, index) => ({ mediaType, digest: `sha256:${index}` })) });
  const read = openLayerReader({ memoryBytesMax });
  const files = "application/vnd.oci.image.layer.v1.tar+gzip";
  const find = (): Promise<LayerContents> => read(inPieces(layer));
  for (const [mediaTypes, expected] of [
    [["application/vnd.cncf.helm.chart.content.v1.tar+gzip"], "UNSUPPORTED 0"],
    [["application/vnd.dev.cosign.simplesigning.v1+json"], "UNSUPPORTED 0"],
    [["application/vnd.oci.image.layer.v1.tar+gzip+encrypted"], "UNSUPPORTED 0"],
    [[], "INDEXED 0"],
    [[files, "application/vnd.oci.image.layer.v1.tar+encrypted"], "PARTIAL 1"],
    [["application/vnd.docker.image.rootfs.diff.tar.gzip"], "PARTIAL 1"],
  ] as const) {
    const { state, packages } = await readImage(manifestOf(...mediaTypes), find);
    assert.equal(`${state} ${packages.length}`, expected, String(mediaTypes));
  }
  const { state, problems } = await readImage(manifestOf(files), async () => undefined);
  assert.deepEqual([state, problems], ["FAILED", [{ reason: "LAYER_MISSING", detail: "is not stored", path: "", layer: "sha256:0" }]]);
});
