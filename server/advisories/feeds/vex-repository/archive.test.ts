// Tests the archive with another unpacker, and its names.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fc, runs } from "../../../../test/property.ts";
import { fileLocation, packageIds } from "./location.ts";
import { type TarFile, tarGzPieces } from "./tar.ts";

const collect = async (pages: readonly (readonly TarFile[])[]): Promise<Buffer> => {
  const pieces: Uint8Array[] = [];
  for await (const piece of tarGzPieces(
    (async function* () {
      yield* pages;
    })(),
  ))
    pieces.push(piece);
  return Buffer.concat(pieces);
};

test("another program unpacks every file unchanged, of any length, with its time", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-tar-"));
  try {
    const lengths = [0, 1, 511, 512, 513, 100_000];
    const files = lengths.map(
      (length): TarFile => ({ name: `own/${"n".repeat(90)}${length}.json`.slice(-100), modifiedMs: 1_700_000_000_123, content: Buffer.alloc(length, "x") }),
    );
    const packed = await collect([files.slice(0, 2), [], files.slice(2)]);
    const { status, stderr } = spawnSync("tar", ["-xzf", "-", "-C", folder], { input: packed });
    assert.equal(status, 0, String(stderr));
    for (const { name, content } of files) assert.deepEqual(await readFile(join(folder, name)), content);
    assert.equal(Math.floor((await stat(join(folder, files[0]?.name ?? ""))).mtimeMs / 1000), 1_700_000_000);
    assert.equal((await readdir(folder)).length, new Set(files.map(({ name }) => name.split("/")[0])).size);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("the same files yield the same archive, and an error midway fails the archive", async () => {
  const file: TarFile = { name: "index.json", modifiedMs: 0, content: Buffer.from("{}") };
  assert.deepEqual(await collect([[file]]), await collect([[file]]));
  await assert.rejects(async () => {
    for await (const _ of tarGzPieces(
      (async function* () {
        yield [file];
        throw new Error("the store is gone");
      })(),
    ));
  }, /the store is gone/);
});

test("a package is identified by its package URL without version, qualifiers and subpath", () => {
  for (const [purl, ids] of [
    ["pkg:apk/wolfi/gtk%2B3.0@3.0-r1?arch=x86_64#a", ["pkg:apk/wolfi/gtk%2B3.0"]],
    ["pkg:apk/wolfi/gtk+3.0", ["pkg:apk/wolfi/gtk%2B3.0"]],
    ["pkg:npm/lodash@4.17.21", ["pkg:npm/lodash"]],
    ["pkg:npm/@deck/rudder@1", ["pkg:npm/%40deck/rudder"]],
    ["pkg:golang/example.com/a/b@v1", ["pkg:golang/example.com/a/b"]],
    [
      "pkg:oci/nginx@sha256:00?tag=1&repository_url=example.com:5000/a",
      ["example.com%3A5000%2Fa", "example.com:5000/a"].map((url) => `pkg:oci/nginx?repository_url=${url}`),
    ],
    ["nginx:1.0", []],
  ] as const)
    assert.deepEqual(packageIds(purl), ids, purl);
});

test("a file's location is short, unique, within its directory, and uses only characters allowed in an index", () => {
  const form = /^own\/[a-z0-9_.-]+\.json$/;
  const known = new Map<string, string>();
  const check = (name: string): void => {
    const location = fileLocation("own", name);
    assert.match(location, form, name);
    assert(location.length <= 100, name);
    assert.equal(known.get(location) ?? name, name, "two names, one place");
    known.set(location, name);
  };
  for (const name of ["a", "A", "a_b", "a%5Fb", "a~b", "a b", "a+b", "..", "../../a", "/a", "a/b", "a\\b", "a:b", "é", "x".repeat(300), `${"x".repeat(299)}y`])
    check(name);
  fc.assert(fc.property(fc.string({ unit: "grapheme", minLength: 1 }), check), { numRuns: runs(500) });
});
