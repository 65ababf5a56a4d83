// Base scores as published by the NVD.

import assert from "node:assert/strict";
import { test } from "node:test";
import { cvssBaseScore } from "./cvss.ts";

const published: readonly (readonly [vector: string, score: number, version: string])[] = [
  ["CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", 9.8, "3.1"],
  ["CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H", 10, "3.1"],
  ["CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:U/C:H/I:H/A:H", 8.8, "3.1"],
  ["CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:L/I:N/A:N", 5.3, "3.1"],
  ["CVSS:3.0/AV:N/AC:H/PR:N/UI:N/S:U/C:L/I:L/A:N", 4.8, "3.0"],
  ["CVSS:3.1/AV:L/AC:L/PR:H/UI:N/S:C/C:L/I:L/A:L", 5.7, "3.1"],
  ["CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N", 6.1, "3.1"],
  ["CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:N", 0, "3.1"],
  ["AV:N/AC:L/Au:N/C:P/I:N/A:N", 5, "2.0"],
  ["AV:N/AC:M/Au:N/C:P/I:P/A:P", 6.8, "2.0"],
  ["AV:L/AC:L/Au:N/C:C/I:C/A:C", 7.2, "2.0"],
  ["AV:L/AC:L/Au:N/C:P/I:P/A:P", 4.6, "2.0"],
];

test("the base score of a vector equals the published one", () => {
  for (const [vector, score, version] of published) assert.deepEqual(cvssBaseScore(vector), { score, version }, vector);
});

test("a text that is not a supported CVSS vector has no score", () => {
  for (const vector of ["", "high", "CVSS:4.0/AV:N/AC:L", "CVSS:3.1/AV:N", "CVSS:3.1/AV:constructor/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", "AV:N/AC:L"])
    assert.equal(cvssBaseScore(vector), undefined, vector);
});
