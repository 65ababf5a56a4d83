// Tests prepared archives on real temporary files with fake content.

import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Archives, type ArchivesOptions, openArchives, type PreparedArchive } from "./archives.ts";

let scratch: string;

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-archives-"));
});
after(async () => {
  await rm(scratch, { recursive: true, force: true });
});

interface Records {
  state: string;
  content: string;
}

interface Opened {
  readonly archives: Archives;
  readonly records: Records;
  readonly made: string[];
  readonly logged: string[];
}

const open = (given: Partial<ArchivesOptions> = {}): Opened => {
  const records = { state: "1", content: "one" };
  const made: string[] = [];
  const logged: string[] = [];
  const archives = openArchives({
    readState: async () => records.state,
    async *pieces(ecosystem) {
      made.push(ecosystem);
      yield Buffer.from(`${ecosystem} ${records.content}`);
    },
    folder: join(scratch, "archives"),
    clock: () => Date.parse("2026-01-01T00:00:00Z"),
    log: (event) => void logged.push(event),
    ...given,
  });
  return { archives, records, made, logged };
};

const contentOf = async (archive: PreparedArchive | undefined): Promise<string> => {
  assert(archive);
  const pieces = await archive.read(0, archive.sizeBytes);
  assert(pieces);
  return Buffer.concat(await Array.fromAsync(pieces)).toString();
};

const change = (records: Records, state: string): void => void Object.assign(records, { state, content: state });

test("an archive is built once per state, even under concurrent requests, and one at a time", async () => {
  let atOnce = 0;
  let most = 0;
  const begun: string[] = [];
  const { archives } = open({
    async *pieces(ecosystem) {
      begun.push(ecosystem);
      most = Math.max(most, ++atOnce);
      await new Promise((resolve) => setImmediate(resolve));
      yield Buffer.from(ecosystem);
      atOnce--;
    },
  });
  const found = await Promise.all(["npm", "npm", "Go", "npm", "Go"].map((ecosystem) => archives.find(ecosystem)));
  assert.deepEqual(await Promise.all(found.map(contentOf)), ["npm", "npm", "Go", "npm", "Go"]);
  assert.deepEqual([begun, most], [["npm", "Go"], 1]);
  await archives.close();
});

test("an archive of a past state is never returned, and one that changes while it is built is discarded", async () => {
  const { archives, records } = open();
  assert.equal(await contentOf(await archives.find("npm")), "npm one");
  change(records, "2");
  assert.equal(await contentOf(await archives.find("npm")), "npm 2");
  await archives.close();
  const moving = open({
    async *pieces() {
      yield Buffer.from("half of one, ");
      change(moving.records, `${moving.records.state}+`);
      yield Buffer.from("half of another");
    },
  });
  assert.equal(await moving.archives.find("npm"), undefined);
  await moving.archives.close();
});

test("unchanged bytes keep their ETag and time in a new state, and changed bytes get a new ETag and a later second", async () => {
  const { archives, records } = open();
  const first = await archives.find("npm");
  records.state = "2";
  const same = await archives.find("npm");
  assert.deepEqual([same?.etag, same?.modifiedMs, same?.hash], [first?.etag, first?.modifiedMs, first?.hash]);
  change(records, "3");
  const other = await archives.find("npm");
  assert.notEqual(other?.etag, first?.etag);
  assert((other?.modifiedMs ?? 0) >= (first?.modifiedMs ?? 0) + 1000);
  await archives.close();
});

test("a reader of a replaced archive reads it to its end", async () => {
  const long = "x".repeat(1024 * 1024);
  const { archives, records } = open({
    async *pieces() {
      yield Buffer.from(`${records.state}${long}`);
    },
  });
  const archive = await archives.find("npm");
  assert(archive);
  const pieces = await archive.read(0, archive.sizeBytes);
  assert(pieces);
  records.state = "2";
  assert.equal(((await contentOf(await archives.find("npm"))) ?? "")[0], "2");
  assert.equal(Buffer.concat(await Array.fromAsync(pieces)).toString(), `1${long}`);
  assert.equal(await archive.read(0, 1), undefined);
  await archives.close();
});

test("archive files have no name at any time, even on failure, so a killed server leaves none behind", async () => {
  const names: string[] = [];
  const { archives, logged } = open({
    async *pieces() {
      yield Buffer.from("half");
      names.push(...(await readdir(join(scratch, "archives"))));
      throw new Error("the disk is gone");
    },
  });
  assert.equal(await archives.find("npm"), undefined);
  assert.deepEqual([names, await readdir(join(scratch, "archives")), logged], [[], [], ["archive.failed"]]);
  await archives.close();
});

test("archives stay within their disk quota: the least recently read are deleted, and one that is too large is not kept", async () => {
  let bytes = 40;
  const { archives, made } = open({
    bytesMax: 100,
    async *pieces(ecosystem) {
      made.push(ecosystem);
      yield Buffer.alloc(bytes);
    },
  });
  const find = async (...ecosystems: string[]): Promise<void> => {
    for (const each of ecosystems) assert(await archives.find(each));
  };
  await find("npm", "Go", "npm", "PyPI");
  assert.deepEqual(made, ["npm", "Go", "PyPI"]);
  await find("npm", "PyPI");
  assert.deepEqual(made, ["npm", "Go", "PyPI"]);
  await find("Go");
  assert.deepEqual(made, ["npm", "Go", "PyPI", "Go"]);
  bytes = 101;
  assert.equal(await archives.find("Maven"), undefined);
  await archives.close();
});

test("after a change, archives are rebuilt without a request once the records are stable", async () => {
  const { archives, records, made } = open();
  await archives.find("npm");
  await archives.refresh();
  change(records, "2");
  await archives.refresh();
  change(records, "3");
  await archives.refresh();
  assert.deepEqual(made, ["npm"]);
  await archives.refresh();
  assert.deepEqual(made, ["npm", "npm"]);
  assert.equal(await contentOf(await archives.find("npm")), "npm 3");
  assert.deepEqual(made, ["npm", "npm"]);
  await archives.close();
});

test("a request does not wait for an archive beyond its limit", async () => {
  const gate = Promise.withResolvers<void>();
  const { archives } = open({
    waitMs: 1,
    async *pieces() {
      yield Buffer.from("half");
      await gate.promise;
    },
  });
  assert.equal(await archives.find("npm"), undefined);
  gate.resolve();
  await archives.close();
});
