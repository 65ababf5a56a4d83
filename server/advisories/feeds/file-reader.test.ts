// Tests reading of files in pieces of any size.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { limits } from "#base/limits.ts";
import { decodeUtf8, FeedFileReader } from "./file-reader.ts";
import { DocumentError } from "./invalid.ts";
import type { FeedFile } from "./feed-file.ts";
import { fc, runs } from "../../../test/property.ts";

const fileOf = (chunks: readonly Uint8Array[]): FeedFile => ({
  name: "",
  label: "file",
  isOfMany: false,
  async *bytes() {
    yield* chunks;
  },
});

const cut = (bytes: Buffer, sizes: readonly number[]): Buffer[] => {
  const chunks: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return [...chunks, bytes.subarray(at)];
};

const linesOf = async (file: FeedFile): Promise<string[]> => {
  const reader = await FeedFileReader.open(file);
  const lines: string[] = [];
  for (let line = await reader.line(); line !== undefined; line = await reader.line()) lines.push(line.toString());
  assert.equal(reader.lineNumber, lines.length + 1);
  await reader.close();
  return lines;
};

const content = fc.array(fc.constantFrom("a", "bc", "\n", "\n\n", "é", "{}"), { maxLength: 40 }).map((parts) => parts.join(""));
const sizes = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 12 });

test("lines do not depend on how a file is cut into pieces, compressed or not", async () => {
  await fc.assert(
    fc.asyncProperty(content, sizes, async (text, pieces) => {
      const expected = text.split("\n");
      if (expected.at(-1) === "") expected.pop();
      const bytes = Buffer.from(text);
      assert.deepEqual(await linesOf(fileOf(cut(bytes, pieces))), expected);
      assert.deepEqual(await linesOf(fileOf(cut(gzipSync(bytes), [10, ...pieces]))), expected);
    }),
    { numRuns: runs(300) },
  );
});

test("after a look at the head, the rest is still the whole file", async () => {
  await fc.assert(
    fc.asyncProperty(content, sizes, fc.integer({ min: 0, max: 30 }), async (text, pieces, length) => {
      const reader = await FeedFileReader.open(fileOf(cut(Buffer.from(text), pieces)));
      await reader.head((start) => start.length >= length);
      assert.equal((await reader.rest()).toString(), text);
    }),
    { numRuns: runs(300) },
  );
});

test("a line or a document beyond its limit is refused before all of it is in memory", async () => {
  let given = 0;
  const endless: FeedFile = {
    name: "",
    label: "endless",
    isOfMany: false,
    async *bytes() {
      for (; ; given++) yield Buffer.alloc(1024 * 1024, "x");
    },
  };
  await assert.rejects(
    FeedFileReader.open(endless).then((reader) => reader.line()),
    DocumentError,
  );
  assert.ok(given * 1024 * 1024 <= limits.feedLineBytesMax + 3 * 1024 * 1024);
  given = 0;
  await assert.rejects(
    FeedFileReader.open(endless).then((reader) => reader.rest()),
    DocumentError,
  );
  assert.ok(given * 1024 * 1024 <= limits.feedDocumentBytesMax + 3 * 1024 * 1024);
});

test("text that is not UTF-8 is refused with its line, and a byte order mark is not part of the text", () => {
  assert.throws(
    () => decodeUtf8(Buffer.from([0x61, 0x0a, 0x62, 0x0a, 0xff])),
    (thrown: unknown) => thrown instanceof DocumentError && thrown.line === 3,
  );
  assert.equal(decodeUtf8(Buffer.from("\ufeff{}")), "{}");
});
