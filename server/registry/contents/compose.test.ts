// Images from layers: whiteouts, replaced files, and the layer of each package.

import assert from "node:assert/strict";
import { test } from "node:test";
import { composeLayers, type ImageContents, type ImageLayer } from "./compose.ts";
import { emptyContents, readLayer } from "./read-layer.ts";
import { type DraftEntry, inPieces, tarOf } from "./tar.fixture.ts";

const apk = (...names: readonly string[]): DraftEntry => ({
  name: "lib/apk/db/installed",
  content: names.map((name) => `P:${name}\nV:1.0-r0\nA:x86_64\n`).join("\n"),
});
const npm = (name: string, folder = "app"): DraftEntry => ({
  name: `${folder}/node_modules/${name}/package.json`,
  content: JSON.stringify({ name, version: "1.0.0" }),
});
const empty = (name: string): DraftEntry => ({ name });

const compose = async (...layers: readonly (readonly DraftEntry[])[]): Promise<ImageContents> => {
  const read = await Promise.all(
    layers.map(async (entries, index): Promise<ImageLayer> => ({ digest: `layer ${index}`, contents: await readLayer(inPieces(tarOf(entries))) })),
  );
  return composeLayers(read);
};

const shown = ({ packages }: ImageContents): string[] => packages.map(({ name, layer }) => `${name} of ${layer}`).sort();

test("what a later layer removes or replaces is not in the image; what it leaves is", async () => {
  const app = [npm("a"), npm("b"), npm("c", "other")];
  const all = ["a of layer 0", "b of layer 0", "c of layer 0"];
  const table: readonly (readonly [string, DraftEntry, readonly string[]])[] = [
    ["a whiteout of the file", empty("app/node_modules/a/.wh.package.json"), ["b of layer 0", "c of layer 0"]],
    ["a whiteout of a directory", empty("app/node_modules/.wh.a"), ["b of layer 0", "c of layer 0"]],
    ["a whiteout of a directory above", empty(".wh.app"), ["c of layer 0"]],
    ["an opaque directory", empty("app/node_modules/.wh..wh..opq"), ["c of layer 0"]],
    ["an opaque root", empty(".wh..wh..opq"), []],
    ["a link in place of a directory", { name: "app", flag: "2", linkName: "other" }, ["c of layer 0"]],
    ["a directory in place of the file", { name: "app/node_modules/a/package.json", flag: "5" }, ["b of layer 0", "c of layer 0"]],
    ["a file that is no package", { name: "app/node_modules/a/package.json", content: "{}" }, ["b of layer 0", "c of layer 0"]],
    ["a whiteout of something else", empty("app/node_modules/.wh.z"), all],
    ["a whiteout of a longer name", empty("app/node_modules/.wh.aa"), all],
    ["bookkeeping of aufs", empty(".wh..wh.aufs"), all],
    ["the same directory", { name: "app/node_modules/", flag: "5" }, all],
  ];
  for (const [title, entry, expected] of table) assert.deepEqual(shown(await compose(app, [entry])), expected, title);
});

test("a whiteout removes what is below, and nothing of its own layer or above", async () => {
  assert.deepEqual(shown(await compose([npm("a")], [npm("b"), empty("app/.wh.node_modules"), npm("c")], [npm("d")])), [
    "b of layer 1",
    "c of layer 1",
    "d of layer 2",
  ]);
  assert.deepEqual(shown(await compose([npm("a")], [empty(".wh.app")], [npm("a")])), ["a of layer 2"]);
});

test("a package has the first layer since which its database names it", async () => {
  assert.deepEqual(shown(await compose([apk("musl", "zlib", "old")], [apk("musl", "zlib", "curl")], [apk("musl", "curl", "zlib", "old")])), [
    "curl of layer 1",
    "musl of layer 0",
    "old of layer 2",
    "zlib of layer 0",
  ]);
});

test("packages of a distribution have its release, whichever layer names it", async () => {
  const alpine: DraftEntry = { name: "etc/os-release", content: 'ID=alpine\nVERSION_ID=3.20.1\nPRETTY_NAME="Alpine Linux v3.20"\n' };
  for (const layers of [
    [[alpine], [apk("musl")]],
    [[apk("musl")], [alpine]],
  ]) {
    const { os, packages } = await compose(...layers);
    assert.equal(os?.name, "Alpine Linux v3.20");
    assert.deepEqual(
      packages.map(({ purl }) => purl),
      ["pkg:apk/alpine/musl@1.0-r0?arch=x86_64&distro=alpine-3.20.1"],
    );
  }
});

test("an image of which something was not read is PARTIAL, and without any layer FAILED: never INDEXED (attack 352)", async () => {
  const good: ImageLayer = { digest: "good", contents: await readLayer(inPieces(tarOf([apk("musl")]))) };
  const bad: ImageLayer = { digest: "bad", contents: emptyContents("LAYER_MISSING", "is not stored") };
  assert.equal(composeLayers([good]).state, "INDEXED");
  assert.equal(composeLayers([]).state, "INDEXED");
  const partial = composeLayers([good, bad]);
  assert.deepEqual([partial.state, partial.problems], ["PARTIAL", [{ reason: "LAYER_MISSING", detail: "is not stored", path: "", layer: "bad" }]]);
  assert.equal(composeLayers([bad]).state, "FAILED");
});
