// Tests that a common zip reader can read the archives, whatever their number of entries.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { fromBufferPromise } from "yauzl";
import { readZip } from "../parse/zip.fixture.ts";
import { type ZipEntry, zipPieces } from "./zip.ts";

async function* pagesOf(entries: readonly ZipEntry[]): AsyncGenerator<readonly ZipEntry[]> {
  for (let from = 0; from < entries.length; from += 10_000) yield entries.slice(from, from + 10_000);
}

const archiveOf = async (entries: readonly ZipEntry[]): Promise<Buffer> => {
  const pieces: Uint8Array[] = [];
  for await (const piece of zipPieces(pagesOf(entries))) pieces.push(piece);
  return Buffer.concat(pieces);
};

const entryOf = (name: string, content: string): ZipEntry => {
  const bytes = Buffer.from(content);
  return { name, content: bytes, deflated: deflateRawSync(bytes), modifiedMs: Date.UTC(2025, 11, 31, 23, 59, 58) };
};

const readArchive = async (bytes: Buffer): Promise<(readonly [name: string, content: string])[]> =>
  Promise.all((await readZip(bytes)).map(async (entry) => [entry.name, (await entry.read()).bytes.toString("utf8")] as const));

test("each file is read with its name, content, checksum and time", async () => {
  const given = [entryOf("one.json", "{}"), entryOf("über.json", "ü".repeat(100_000)), entryOf("empty.json", "")];
  const archive = await archiveOf(given);
  assert.deepEqual(
    await readArchive(archive),
    given.map(({ name, content }) => [name, Buffer.from(content).toString("utf8")]),
  );
  const [first] = await Array.fromAsync((await fromBufferPromise(archive)).eachEntry());
  assert.equal(first?.getLastModDate({ timezone: "UTC" }).toISOString(), "2025-12-31T23:59:58.000Z");
});

test("an archive may be empty, and beyond 65,535 entries its directory uses 64-bit counts", async () => {
  assert.deepEqual(await readArchive(await archiveOf([])), []);
  const many = Array.from({ length: 70_000 }, (_, index) => entryOf(`${index}.json`, String(index)));
  const zip = await fromBufferPromise(await archiveOf(many));
  assert.equal(zip.entryCount, 70_000);
  const names = new Set<string>();
  for await (const { fileName } of zip.eachEntry()) names.add(fileName);
  assert.equal(names.size, 70_000);
});
