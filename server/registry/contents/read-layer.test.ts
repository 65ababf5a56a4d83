// Layers: what is read of archives in each packing, and the named state of each hostile one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { limits } from "#base/limits.ts";
import { type LayerContents, LayerLimit, readLayer } from "./read-layer.ts";
import { type DraftEntry, inPieces, tarEntry, tarOf } from "./tar.fixture.ts";

const apk = (name: string): string => `P:${name}\nV:1.0-r0\nA:x86_64\n\n`;
const installed = (name: string): DraftEntry => ({ name: "lib/apk/db/installed", content: apk(name) });

const readBytes = (bytes: Uint8Array, pieceLength?: number): Promise<LayerContents> => readLayer(inPieces(bytes, pieceLength));
const packagesOf = ({ databases }: LayerContents): string[] => databases.flatMap(({ packages }) => packages.map(({ name }) => name));
const reasonsOf = ({ problems }: LayerContents): string[] =>
  problems.listed.map(({ reason, detail, path }) => `${reason} ${path} ${detail}`.replace("  ", " "));

test("a layer is read in every packing and in pieces of any length, with all members of gzip and frames of zstd (attack 352)", async () => {
  const filler: DraftEntry = { name: "usr/share/filler", content: Buffer.alloc(300_000, "x") };
  const plain = tarOf([filler, installed("musl"), filler, { name: "srv/node_modules/ms/package.json", content: '{"name":"ms","version":"2.1.3"}' }]);
  const halves = [plain.subarray(0, 300_000), plain.subarray(300_000)];
  const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]);
  for (const [packing, bytes] of [
    ["plain", plain],
    ["gzip", gzipSync(plain)],
    ["gzip in two members", Buffer.concat(halves.map((half) => gzipSync(half)))],
    ["zstd", zstdCompressSync(plain)],
    ["zstd in frames", Buffer.concat([skippable, ...halves.map((half) => zstdCompressSync(half)), skippable])],
  ] as const) {
    for (const length of [509, 64 * 1024, bytes.length]) {
      const found = await readBytes(bytes, length);
      assert.deepEqual(packagesOf(found), ["musl", "ms"], `${packing} in pieces of ${length}`);
      assert.deepEqual(reasonsOf(found), [], packing);
      assert.equal(found.entries, 4);
    }
  }
});

test("paths are found in the forms of every writer: long names, extended headers, leading dots and slashes", async () => {
  const long = `${"folder/".repeat(30)}node_modules/long/package.json`;
  const content = '{"name":"long","version":"1.0.0"}';
  for (const entries of [
    [{ name: "short", content, records: { path: long } }],
    [
      { name: "././@LongLink", flag: "L", content: `${long}\0` },
      { name: "short", content },
    ],
    [{ name: "./node_modules/long/package.json", content }],
    [{ name: "/node_modules//long/./package.json", content }],
    [{ name: "node_modules/long/package.json", content, flag: "\0" }],
    [{ name: "node_modules/long/package.json", content, records: { size: String(content.length) }, size: "00000000000" }],
  ] satisfies DraftEntry[][])
    assert.deepEqual(packagesOf(await readBytes(tarOf([...entries, installed("after")]))), ["long", "after"], JSON.stringify(entries));
});

test("a hard link to a database counts as one; links are never followed", async () => {
  const file: DraftEntry = { name: "cache/node_modules/a/package.json", content: '{"name":"a","version":"1.0.0"}' };
  const linked = await readBytes(tarOf([file, { name: "app/node_modules/a/package.json", flag: "1", linkName: file.name }]));
  assert.deepEqual(
    linked.databases.map(({ path }) => path),
    [file.name, "app/node_modules/a/package.json"],
  );
  for (const linkName of ["../../etc/passwd", "/etc/passwd", "store/a1b2c3"]) {
    const outside = await readBytes(tarOf([{ name: "app/node_modules/a/package.json", flag: "1", linkName }, installed("musl")]));
    assert.deepEqual(reasonsOf(outside), ["FILE_UNSUPPORTED app/node_modules/a/package.json is a hard link to a file that is not read"]);
    assert.deepEqual(packagesOf(outside), ["musl"]);
  }
  const symbolic = await readBytes(tarOf([{ name: "lib/apk/db/installed", flag: "2", linkName: "/etc/passwd" }]));
  assert.deepEqual([packagesOf(symbolic), reasonsOf(symbolic)], [[], []]);
});

test("of two entries at one path the last counts, as when the layer is unpacked", async () => {
  assert.deepEqual(packagesOf(await readBytes(tarOf([installed("first"), installed("last")]))), ["last"]);
  assert.deepEqual(packagesOf(await readBytes(tarOf([installed("first"), { name: "lib/apk/db/installed", flag: "2", linkName: "x" }]))), []);
  assert.deepEqual(packagesOf(await readBytes(tarOf([installed("first"), { name: "lib/apk", flag: "2", linkName: "x" }]))), []);
});

test("a hostile or damaged layer has what was read before, and a problem that names the reason (attack 349)", async () => {
  const good = tarEntry(installed("musl"));
  const bomb = gzipSync(Buffer.concat([good, tarEntry({ name: "zeros", size: "77777777777" }), Buffer.alloc(32 * 1024 * 1024)]));
  const cases: readonly (readonly [string, Buffer, string | RegExp, readonly string[]])[] = [
    ["not an archive", Buffer.from("hello ".repeat(200)), "LAYER_UNREADABLE has a header with a wrong checksum", []],
    ["random bytes", Buffer.alloc(4096, 0xa5), /^LAYER_UNREADABLE /, []],
    ["nothing between entries", Buffer.concat([good, Buffer.alloc(512), good]), "LAYER_UNREADABLE has an empty header between entries", ["musl"]],
    ["cut off", Buffer.concat([good, tarEntry({ name: "big", content: "x".repeat(5000) }).subarray(0, 2000)]), "LAYER_UNREADABLE ends too early", ["musl"]],
    ["cut off while packed", gzipSync(Buffer.concat([good, Buffer.alloc(8192, "x")])).subarray(0, 100), "LAYER_UNREADABLE is damaged gzip", []],
    ["cut off in zstd", zstdCompressSync(Buffer.concat([good, good])).subarray(0, 60), "LAYER_UNREADABLE ends too early", []],
    ["bytes behind zstd", Buffer.concat([zstdCompressSync(good), Buffer.from("more bytes")]), "LAYER_UNREADABLE has bytes after its end", ["musl"]],
    ["another packing", Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0, 0, 0]), "LAYER_UNREADABLE is packed in a way that is not supported", []],
    [
      "a wrong checksum",
      Buffer.concat([good, tarEntry({ name: "a", checksum: "000001\0 " })]),
      "LAYER_UNREADABLE has a header with a wrong checksum",
      ["musl"],
    ],
    ["a size beyond its end", bomb, "LAYER_UNREADABLE ends too early", ["musl"]],
    [
      "a negative size",
      Buffer.concat([good, tarEntry({ name: "a", size: "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" })]),
      "LAYER_UNREADABLE has a negative size",
      ["musl"],
    ],
    [
      "an impossible size",
      Buffer.concat([good, tarEntry({ name: "a", size: "\x80\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" })]),
      "LAYER_UNREADABLE has an entry of an impossible size",
      ["musl"],
    ],
    [
      "an extended header that lies",
      Buffer.concat([good, tarEntry({ name: "x", flag: "x", content: "999 path=a\n" })]),
      "LAYER_UNREADABLE has a malformed extended header",
      ["musl"],
    ],
    [
      "a NUL in a path",
      Buffer.concat([good, tarEntry({ name: "x", flag: "x", content: "13 path=a\0bc\n" })]),
      "LAYER_UNREADABLE has an extended header with a NUL in a path",
      ["musl"],
    ],
    [
      "a large extended header",
      Buffer.concat([good, tarEntry({ name: "x", flag: "x", size: "00010000001" })]),
      `LAYER_UNREADABLE has an extended header of more than ${limits.layerExtensionBytesMax} bytes`,
      ["musl"],
    ],
    [
      "extended headers without end",
      Buffer.concat([good, ...Array.from({ length: 40 }, () => tarEntry({ name: "x", flag: "L", content: "a" }))]),
      "LAYER_UNREADABLE has too many extended headers in a row",
      ["musl"],
    ],
    [
      "a long path",
      Buffer.concat([good, tarEntry({ name: "x", records: { path: "a/".repeat(3000) } })]),
      `LAYER_UNREADABLE has a path of more than ${limits.layerPathLengthMax} characters`,
      ["musl"],
    ],
    [
      "a path outside",
      tarOf([{ name: "../lib/apk/db/installed", content: apk("evil") }, installed("musl")]),
      "PATH_OUTSIDE ../lib/apk/db/installed is a path outside the image",
      ["musl"],
    ],
    ["a sparse database", tarOf([{ ...installed("evil"), flag: "S" }]), "FILE_UNSUPPORTED lib/apk/db/installed is a sparse file", []],
    [
      "a sparse database by extended header",
      tarOf([{ ...installed("evil"), records: { "GNU.sparse.major": "1", "GNU.sparse.name": "lib/apk/db/installed" } }]),
      "FILE_UNSUPPORTED lib/apk/db/installed is a sparse file",
      [],
    ],
    [
      "control characters in a name",
      tarOf([{ name: "lib/apk/db/installed", content: `${apk("good")}${apk("e\u001b[2Jvil")}` }]),
      "PACKAGE_INVALID lib/apk/db/installed has control characters in its name or version",
      ["good"],
    ],
    [
      "a long name",
      tarOf([{ name: "lib/apk/db/installed", content: apk("e".repeat(5000)) }]),
      "PACKAGE_INVALID lib/apk/db/installed has a name that is too long",
      [],
    ],
    [
      "a large database",
      tarOf([{ name: "lib/apk/db/installed", content: Buffer.alloc(limits.databaseTextBytesMax + 1, "x") }]),
      `FILE_TOO_LARGE lib/apk/db/installed has more than ${limits.databaseTextBytesMax} bytes`,
      [],
    ],
    [
      "a database that is none",
      tarOf([{ name: "var/lib/rpm/rpmdb.sqlite", content: "no" }, installed("musl")]),
      "DATABASE_UNREADABLE var/lib/rpm/rpmdb.sqlite is not SQLite",
      ["musl"],
    ],
  ];
  for (const [title, bytes, expected, packages] of cases) {
    const found = await readBytes(bytes);
    const [reason = "", ...more] = reasonsOf(found);
    if (typeof expected === "string") assert.equal(reason, expected, title);
    else assert.match(reason, expected, title);
    assert.deepEqual(more, [], title);
    assert.deepEqual(packagesOf(found), packages, title);
  }
});

test("devices, pipes and unknown types have no packages and no effect", async () => {
  const others = ["3", "4", "6", "V"].map((flag): DraftEntry => ({ name: `dev/a${flag}`, flag }));
  const found = await readBytes(tarOf([...others, { name: "g", flag: "g", content: "13 path=evil\n" }, installed("musl")]));
  assert.deepEqual([packagesOf(found), reasonsOf(found)], [["musl"], []]);
});

test("a bound that is reached while a layer is read ends it with a problem", async () => {
  const bytes = tarOf([installed("musl"), { name: "big", content: Buffer.alloc(limits.layerCheckBytes * 2) }]);
  const check = (): void => {
    throw new LayerLimit("LAYER_TOO_LARGE", "takes too much memory");
  };
  const found = await readLayer(inPieces(bytes, 1024 * 1024), { check });
  assert.deepEqual([packagesOf(found), reasonsOf(found)], [["musl"], ["LAYER_TOO_LARGE takes too much memory"]]);
});
