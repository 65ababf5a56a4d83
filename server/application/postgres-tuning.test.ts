// Sizing of the embedded PostgreSQL.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readMachine, readTuning, tuningFor, tuningText } from "./postgres-tuning.ts";

const gib = 1024;

const machines = [
  ["a small container", { memoryMb: 256, diskMb: 5 * gib }, "shared_buffers=32MB,work_mem=4MB,maintenance_work_mem=64MB,max_wal_size=256MB"],
  ["a small machine", { memoryMb: gib, diskMb: 50 * gib }, "shared_buffers=128MB,work_mem=4MB,maintenance_work_mem=64MB,max_wal_size=1024MB"],
  ["a common machine", { memoryMb: 8 * gib, diskMb: 100 * gib }, "shared_buffers=1024MB,work_mem=16MB,maintenance_work_mem=256MB,max_wal_size=2048MB"],
  ["a large machine", { memoryMb: 256 * gib, diskMb: 10_000 * gib }, "shared_buffers=1024MB,work_mem=32MB,maintenance_work_mem=512MB,max_wal_size=4096MB"],
] as const;

for (const [name, machine, expected] of machines) {
  test(`the parameters of ${name} follow its memory and disk`, () => assert.equal(tuningText(tuningFor(machine)), expected));
}

test("written parameters can be read back, and other names and units are refused", () => {
  const tuning = tuningFor({ memoryMb: gib, diskMb: 50 * gib });
  assert.deepEqual(readTuning(tuningText(tuning).split(",")), tuning);
  assert.deepEqual(readTuning(["work_mem=8MB"]), { work_mem: "8MB" });
  for (const wrong of ["fsync=off", "work_mem", "work_mem=8", "work_mem=8mb", "work_mem=-8MB", "work_mem=8MB -c fsync=off"])
    assert.throws(() => readTuning([wrong]), { message: /^must contain parameters such as shared_buffers=2GB/ });
});

test("memory is detected, and a missing directory counts with its parent's disk", () => {
  const { memoryMb, diskMb } = readMachine("/nowhere/at/all");
  assert.ok(memoryMb > 0 && diskMb > 0);
});
