// pip-audit reads the published feed, configured by its own option. Runs if Python exists: the program is installed once in its own directory,
// and the test is skipped without a package registry.

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { openAuthoring } from "../authoring.ts";
import { runImport } from "../story/import.ts";
import { openWorld } from "../world.ts";

const here = import.meta.dirname;
const environment = join(here, "../../node_modules/.cache/scanners/python");
const program = join(environment, "bin/pip-audit");

/** Why pip-audit is missing; false if it is available. */
const missing = (): string | false => {
  if (existsSync(program)) return false;
  if (spawnSync("python3", ["-m", "venv", environment]).status !== 0) return "python3 with venv is not here";
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", join(here, "requirements.txt")];
  return spawnSync(join(environment, "bin/python"), pip, { timeout: 120_000 }).status === 0 ? false : "pip-audit cannot be installed";
};

const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** Runs pip-audit over the requirements. Returns the ID and the fixed versions of each vulnerability, by package. */
const audit = async (folder: string, requirements: string, server: string): Promise<{ readonly code: unknown; readonly found: Json }> => {
  const file = join(folder, "requirements.txt");
  await writeFile(file, requirements);
  const args = ["-r", file, "--disable-pip", "--no-deps", "-f", "json", "-s", "osv", "--osv-url", `${server}/osv/v1/query`];
  const { code, output, errors } = await new Promise<{ code: unknown; output: string; errors: string }>((resolve) => {
    execFile(program, [...args, "--cache-dir", join(folder, "cache"), "--progress-spinner", "off"], (error, output, errors) =>
      resolve({ code: error?.code ?? 0, output, errors }),
    );
  });
  assert.ok(output !== "", errors);
  const { dependencies } = JSON.parse(output) as JsonObject;
  return {
    code,
    found: objects(dependencies).map((each) => [text(each, "name"), objects(each.vulns).map(({ id, fix_versions }) => [id ?? "", fix_versions ?? []])]),
  };
};

test("pip-audit finds affected packages with their fixes, and nothing in unaffected ones", { skip: missing() }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-pip-audit-"));
  const world = await openWorld();
  try {
    const of = (id: string, fixed: string): string =>
      JSON.stringify({
        schema_version: "1.7.0",
        id,
        modified: "2025-01-01T00:00:00Z",
        aliases: [`CVE-2025-${id.slice(-4)}`],
        details: "It goes out.",
        affected: [{ package: { ecosystem: "PyPI", name: "some-lantern" }, ranges: [{ type: "ECOSYSTEM", events: [{ introduced: "0" }, { fixed }] }] }],
      });
    const records = join(folder, "records.jsonl");
    await writeFile(records, `${of("PYSEC-2025-1001", "1.2")}\n${of("PYSEC-2025-1002", "2.0")}\n`);
    await runImport(world, "advisories", [records], { public: true });
    const { code, found } = await audit(folder, "some_lantern==1.5\nquiet-bell==1.0\n", world.url);
    // 1 means findings.
    assert.equal(code, 1);
    assert.deepEqual(found, [
      ["some-lantern", [["PYSEC-2025-1002", ["2.0"]]]],
      ["quiet-bell", []],
    ]);
  } finally {
    await world.close();
    await rm(folder, { recursive: true, force: true });
  }
});

test("pip-audit finds an authored advisory once it is approved, and no longer after an approved false positive", { skip: missing() }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-pip-audit-"));
  const stage = await openAuthoring();
  try {
    const [own, rival] = [await stage.newTenant("scanned"), await stage.newTenant("scanned-rival")];
    const ask = (token: string) =>
      audit(folder, "Some_Lantern==1.5\nquiet-bell==1.0\n", stage.world.url.replace("://", `://_token:${encodeURIComponent(token)}@`));
    const nothing = [
      ["some-lantern", []],
      ["quiet-bell", []],
    ];
    const advisory = text(await stage.createAdvisory(own, { artifactType: "pypi", artifactName: "Some_Lantern", aliases: ["CVE-2026-1"] }), "uid");
    const approve = async (event?: JsonObject): Promise<JsonObject> => stage.review(own, text(await stage.createEvent(own, advisory, event), "uid"));
    const fixed = await stage.createEvent(own, advisory, { fixed: { fixedVersion: "2.0" } });
    assert.deepEqual(await ask(own.author), { code: 0, found: nothing }, "what is pending reaches no scanner");
    await stage.review(own, text(fixed, "uid"));
    const id = "x_SCANNED-ADV-000001";
    const found = [
      ["some-lantern", [[id, ["2.0"]]]],
      ["quiet-bell", []],
    ];
    assert.deepEqual(await ask(own.author), { code: 1, found });
    assert.deepEqual(await ask(rival.author), { code: 0, found: nothing }, "a scanner of another organization finds nothing");
    await approve();
    assert.deepEqual(await ask(own.author), { code: 0, found: nothing }, "an approved false positive is still reported");
    await approve({ truePositiveDetermination: {} });
    assert.equal((await ask(own.author)).code, 1, "a later true positive is reported");
  } finally {
    await stage.close();
    await rm(folder, { recursive: true, force: true });
  }
});
