import assert from "node:assert/strict";
import { test } from "node:test";
import { endOfLife, namesOfSystem } from "./operating-system.ts";

const releases = (
  [
    ["3.20", "2026-04-01"],
    ["3.2", "2017-05-01"],
    ["9", "true"],
    ["10", ""],
  ] as const
).map(([version, end]) => ({ version, end, releaseDate: "2015-01-01", lts: "", latest: "", broken: false }));

test("the end of life of a release is that of its line, and unknown without one", () => {
  const cases: readonly [version: string, today: string, ...expected: readonly string[]][] = [
    ["3.20.3", "2026-03-31", "SUPPORTED", "2026-04-01"],
    ["3.20.3", "2026-04-01", "ENDED", "2026-04-01"],
    ["3.2.0", "2026-03-31", "ENDED", "2017-05-01"],
    ["9.4", "2026-03-31", "ENDED"],
    ["10", "2026-03-31", "SUPPORTED"],
    ["3.21.0", "2026-03-31", "UNKNOWN"],
    ["", "2026-03-31", "UNKNOWN"],
  ];
  for (const [version, today, state, ...date] of cases) {
    const { endOfLifeState, endOfLifeDate } = endOfLife({ releases }, version, today);
    assert.deepEqual([endOfLifeState, endOfLifeDate], [`END_OF_LIFE_STATE_${state}`, date[0]], version);
  }
  assert.deepEqual(endOfLife(undefined, "3.20.3", "2026-03-31"), { endOfLifeState: "END_OF_LIFE_STATE_UNKNOWN" });
});

test("operating systems are found by the product's name and by their ID, and CentOS Stream is not CentOS", () => {
  const cases: readonly [id: string, name: string, ...names: readonly string[]][] = [
    ["debian", "Debian GNU/Linux 12 (bookworm)", "debian"],
    ["amzn", "Amazon Linux 2023", "amazon-linux", "amzn"],
    ["centos", "CentOS Linux 8", "centos"],
    ["centos", "CentOS Stream 8", "centos-stream"],
  ];
  for (const [id, name, ...names] of cases) assert.deepEqual(namesOfSystem(id, name), names);
});
