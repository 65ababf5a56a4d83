// scim2-tester from PyPI tests everything that the SCIM service advertises and finds no error. Runs if Python exists: the program is installed
// once in its own directory, and the test is skipped without a package registry.

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { makeOwners, openScimProvider, type ScimProvider } from "../scim.ts";
import { openWorld, type World } from "../world.ts";

const own = join(import.meta.dirname, "scim2-tester");
const environment = join(import.meta.dirname, "../../node_modules/.cache/scim2-tester");
const python = join(environment, "bin/python");
const installed = join(environment, "installed");

/** Why scim2-tester is missing; false if it is available. */
const missing = (): string | false => {
  if (existsSync(installed)) return false;
  if (spawnSync("python3", ["-m", "venv", environment]).status !== 0) return "python3 with venv is not here";
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", join(own, "requirements.txt")];
  if (spawnSync(python, pip, { timeout: 180_000 }).status !== 0) return "scim2-tester cannot be installed";
  return spawnSync("touch", [installed]).status === 0 ? false : "its folder cannot be written";
};

const reason = missing();
let world: World;
let idp: ScimProvider;
before(async () => {
  world = await openWorld();
  await makeOwners(world);
  idp = await openScimProvider(world);
});
after(() => world.close());

interface Finding {
  readonly check: string;
  readonly status: string;
  readonly reason: string;
}

test("scim2-tester finds no error in users, groups and discovery", { skip: reason }, async () => {
  const { stdout } = await promisify(execFile)(python, [join(own, "check.py"), idp.base, idp.token], { timeout: 120_000 });
  const findings = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Finding);
  assert.ok(findings.filter(({ status }) => status === "SUCCESS").length > 100, `${findings.length} checks`);
  assert.deepEqual(
    findings.filter(({ status }) => !["SUCCESS", "SKIPPED", "ACCEPTABLE", "COMPLIANT"].includes(status)),
    [],
  );
});
