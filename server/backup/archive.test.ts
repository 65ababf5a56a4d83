// Reading the members of a backup file.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { packTar } from "modern-tar";
import { Fault } from "#base/fault.ts";
import { shortOrLong } from "../../test/length.ts";
import { type Member, readArchive } from "./archive.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-archive-"));
});
after(() => rm(folder, { recursive: true, force: true }));

test("a reader that stops in the middle of a large backup gets its own error, and nothing is thrown afterwards", async (t) => {
  const path = join(folder, "large.tar");
  const memberOf = (name: string, body: Uint8Array) => ({ header: { name, size: body.byteLength, type: "file" as const }, body });
  const blobs = Array.from({ length: 40 }, (_, at) => memberOf(`blobs/sha256/00/${String(at).padStart(64, "0")}`, randomBytes(100_000)));
  await writeFile(path, await packTar([memberOf("backup.json", randomBytes(3000)), ...blobs]));
  // Any later uncaught error would also fail the test.
  const thrown: unknown[] = [];
  const note = (cause: unknown): void => void thrown.push(cause);
  process.prependListener("uncaughtExceptionMonitor", note);
  t.after(() => process.removeListener("uncaughtExceptionMonitor", note));
  for (let turn = 0; turn < shortOrLong(10, 100); turn++) {
    const stops = async ({ content }: Member): Promise<void> => {
      for await (const _ of content);
      // Meanwhile more is read ahead.
      for (let count = 0; count < 2 * turn; count++) await stat(path);
      throw new Fault("FAILED_PRECONDITION", "enough was read");
    };
    await assert.rejects(readArchive(path, stops), /enough was read/);
  }
  assert.deepEqual(thrown, []);
});

test("a file that is no backup is reported as such", async () => {
  const path = join(folder, "other");
  for (const content of ["", "# A text, which is no archive\n".repeat(100), randomBytes(5000)]) {
    await writeFile(path, content);
    await assert.rejects(
      readArchive(path, async () => {}),
      { name: "Fault", message: "the backup is incomplete: it does not begin with a member of one; is it another file?" },
    );
  }
});
