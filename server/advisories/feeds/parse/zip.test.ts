// Tests that untrusted archives are read correctly or refused.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inflateRawSync } from "node:zlib";
import { fc, runs } from "../../../../test/property.ts";
import { limits } from "#base/limits.ts";
import { DocumentError } from "../invalid.ts";
import { readZip, zipArchive, type ZipFixtureEntry } from "./zip.fixture.ts";

const unpackAll = async (bytes: Buffer): Promise<[string, string][]> => {
  const found: [string, string][] = [];
  for (const { name, read } of await readZip(bytes)) found.push([name, (await read()).bytes.toString()]);
  return found;
};

const refusedWith =
  (reason: RegExp) =>
  (thrown: unknown): boolean =>
    thrown instanceof DocumentError && thrown.line === 1 && reason.test(thrown.message) && !thrown.message.includes("\n");

test("files of an archive are read in the directory's order, stored or deflated, without directories and paths outside of it", async () => {
  const archive = zipArchive([
    { name: "b/", content: "" },
    { name: "b/two.json", content: "{}" },
    { name: "a.yaml", content: "a: é", method: 0 },
    { name: "../../etc/passwd", content: "x" },
    { name: "b/../../x", content: "x" },
    { name: "/etc/passwd", content: "x" },
    { name: "C:/x", content: "x" },
    { name: "..\\x", content: "x" },
    { name: "empty", content: "" },
  ]);
  assert.deepEqual(await unpackAll(archive), [
    ["b/two.json", "{}"],
    ["a.yaml", "a: é"],
    ["empty", ""],
  ]);
});

test("an archive of more than 65,535 entries is read to its end", async () => {
  const entries = Array.from({ length: 70_000 }, (_, index) => ({ name: String(index), content: "", method: 0 }));
  assert.equal((await readZip(zipArchive(entries))).length, 70_000);
});

const bomb = "x".repeat(40 * 1024 * 1024);
const wrong: readonly (readonly [string, readonly ZipFixtureEntry[], RegExp])[] = [
  ["an encrypted entry", [{ name: "a", content: "secret", flags: 1 }], /^is encrypted$/],
  ["an entry that is packed in another way", [{ name: "a", content: "x", method: 14 }], /^is packed in a way that is not known$/],
  ["an entry that says that it is too long", [{ name: "a", content: bomb }], /^cannot be unpacked: it is longer than 33554432 bytes$/],
  ["an entry that is longer than it says", [{ name: "a", content: bomb, unpackedBytes: 10 }], /^cannot be unpacked: too many bytes/],
  ["an entry that is shorter than it says", [{ name: "a", content: "abc", unpackedBytes: 10 }], /^cannot be unpacked: not enough bytes/],
  ["an entry of another content than its checksum", [{ name: "a", content: "abc", checksum: 7 }], /^cannot be unpacked: its checksum/],
  ["an entry that is stored in another size", [{ name: "a", content: "abc", method: 0, unpackedBytes: 10 }], /^is not a complete zip archive: /],
];

for (const [title, entries, reason] of wrong)
  test(`attack 61: ${title} is refused with no more memory than one entry may take`, async () => {
    const archive = zipArchive(entries);
    const before = process.memoryUsage.rss();
    await assert.rejects(unpackAll(archive), refusedWith(reason));
    assert.ok(process.memoryUsage.rss() - before < 2 * limits.feedDocumentBytesMax);
  });

test("attack 61: an archive with entries that are too large in total is refused before unpacking, even if they share their bytes", async () => {
  const part = "x".repeat(limits.feedDocumentBytesMax);
  const more = Array.from({ length: 40 }, (_, index) => ({ name: `${index}`, content: "", unpackedBytes: part.length, isOverlapping: true }));
  const started = performance.now();
  await assert.rejects(readZip(zipArchive([{ name: "a", content: part }, ...more])), refusedWith(/^is not a complete zip archive: unpacked it is longer than/));
  assert.ok(performance.now() - started < 5_000);
});

test("attack 61: an archive of too many entries is refused before any is read", async () => {
  const archive = zipArchive([{ name: "a", content: "" }], limits.feedArchiveEntriesMax + 1);
  await assert.rejects(readZip(archive), refusedWith(/^is not a complete zip archive: it has more than 5000000 entries$/));
});

test("attack 61: reading thousands of empty entries yields to other work at least every hundred entries", async () => {
  const entries = Array.from({ length: 5_000 }, (_, index) => ({ name: String(index), content: "", method: 0 }));
  const archive = zipArchive(entries);
  let [turns, entriesSince, entriesMost] = [0, 0, 0];
  let ended = false;
  const takeTurn = (): void => {
    turns++;
    entriesSince = 0;
    if (!ended) setImmediate(takeTurn);
  };
  setImmediate(takeTurn);
  const found = await readZip(archive);
  assert.ok(turns >= found.length / 100, `${turns} turns for ${found.length} entries`);
  for (const { read } of found) {
    await read();
    entriesMost = Math.max(entriesMost, ++entriesSince);
  }
  ended = true;
  assert.ok(entriesMost <= 100, `${entriesMost} entries in one turn`);
});

test("compressed bytes are reused only if they are exactly the entry's content and compressed well", async () => {
  const content = "it goes out, ".repeat(20);
  const noise = Buffer.from(Array.from({ length: 1_000 }, (_, index) => ((index * index * 7 + index) % 256) ^ (((index * 31) >> 3) % 256)));
  const found = await readZip(
    zipArchive([
      { name: "one", content },
      { name: "stored", content, method: 0 },
      { name: "behind", content, behind: Buffer.from("more") },
      { name: "noise", content: noise },
    ]),
  );
  const deflated = new Map<string, string | undefined>();
  for (const { name, read } of found) {
    const entry = await read();
    deflated.set(name, entry.deflated && inflateRawSync(entry.deflated).toString());
  }
  assert.deepEqual(
    [...deflated],
    [
      ["one", content],
      ["stored", undefined],
      ["behind", undefined],
      ["noise", undefined],
    ],
  );
});

const small = zipArchive([
  { name: "one.json", content: '{"a": 1}' },
  { name: "two.yaml", content: "b: 2\n".repeat(100) },
]);

test("a truncated or empty archive is refused", async () => {
  for (let length = 0; length < small.length; length++)
    await assert.rejects(unpackAll(small.subarray(0, length)), refusedWith(/^is not a complete zip archive: /));
});

test("a corrupted archive yields original content, less of it, or a refusal", async () => {
  const contents = new Set(["", '{"a": 1}', "b: 2\n".repeat(100)]);
  await fc.assert(
    fc.asyncProperty(fc.nat(small.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
      const changed = Buffer.from(small);
      changed[at] = (changed[at] ?? 0) ^ change;
      const found = await unpackAll(changed).catch((thrown: unknown) => {
        assert.ok(refusedWith(/./)(thrown), String(thrown));
        return [];
      });
      for (const [, content] of found) assert.ok(contents.has(content));
    }),
    { numRuns: runs(2_000) },
  );
});
