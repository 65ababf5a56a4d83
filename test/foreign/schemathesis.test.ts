// schemathesis derives requests from the OpenAPI documents alone: no response is a server error or undocumented, and no allowed request is
// refused. Runs if Python exists: the program is installed once in its own directory, and the test is skipped without a package registry. The
// long form takes about forty seconds with a random seed.
// To repeat a finding, use its printed curl command, or `--seed N` with the run's printed seed (test/length.ts). The curl command is exact.
// The seed finds the operation again, but depends on machine speed and on concurrent changes. Only findings fail: health checks and 429, 503
// or 504 responses do not, and no time is asserted.

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { methods } from "#contract/catalog.ts";
import { folder, openStage } from "../conformance/stage.ts";
import { seed, shortOrLong } from "../length.ts";
import { fetchDocument, judgeOf } from "../openapi/document.ts";
import { restRequest } from "../client.ts";

const own = join(import.meta.dirname, "schemathesis");
const environment = join(import.meta.dirname, "../../node_modules/.cache/schemathesis");
const program = join(environment, "bin/schemathesis");

/** Why schemathesis is missing; false if it is available. */
const missing = (): string | false => {
  if (existsSync(program)) return false;
  if (spawnSync("python3", ["-m", "venv", environment]).status !== 0) return "python3 with venv is not here";
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", join(own, "requirements.txt")];
  return spawnSync(join(environment, "bin/python"), pip, { timeout: 180_000 }).status === 0 ? false : "schemathesis cannot be installed";
};

const reason = missing();
const stage = await openStage();
after(() => stage.close());

/** Returns path values of existing resources, by verb and path of the document. */
const existingThings = async (): Promise<Record<string, Readonly<Record<string, string>>>> => {
  const judge = judgeOf(await fetchDocument(stage.world.url, "/openapi.json"));
  const place = await folder(stage);
  const found: Record<string, Readonly<Record<string, string>>> = {};
  for (const method of methods) {
    const [http] = method.http;
    if (!http?.template.includes("=**}") || method.givesFile || !stage.answers(method)) continue;
    const { verb, path, body } = restRequest(method, await stage.request(method, { place }));
    const { operation, inPath } = judge.describe(verb, path.replace(/\/(?=$|\?)/, ""), body);
    found[`${verb} ${operation.path}`] = inPath;
  }
  return found;
};

const runOnce = (document: string, maxSeconds: number, token: string, existing: object): Promise<{ readonly status: number; readonly output: string }> =>
  new Promise((resolve) => {
    const url = stage.world.url;
    const named = [
      "--phases",
      "examples,fuzzing",
      "--max-time",
      String(maxSeconds),
      "--workers",
      "2",
      "--continue-on-failure",
      "--seed",
      String(seed),
      "--no-color",
    ];
    const args = ["--config-file", join(own, "schemathesis.toml"), "run", document, "--url", url, "-H", `Authorization: Bearer ${token}`, ...named];
    const settings = {
      cwd: own,
      env: { ...process.env, GANTRY_EXISTING: JSON.stringify(existing), PYTHONDONTWRITEBYTECODE: "1" },
      maxBuffer: 64 * 1024 * 1024,
    };
    const child = execFile(program, args, settings, (_error, stdout, stderr) => resolve({ status: child.exitCode ?? -1, output: stdout + stderr }));
  });

const started = /Test cases:\s+[1-9]\d* generated/;

/** Retries with more time if a loaded machine only managed to read the document. */
const run: typeof runOnce = async (document, maxSeconds, token, existing) => {
  let made = await runOnce(document, maxSeconds, token, existing);
  for (let times = 2; times <= 16 && !started.test(made.output); times *= 2) made = await runOnce(document, maxSeconds * times, token, existing);
  return made;
};

for (const [address, seconds] of shortOrLong<readonly (readonly [string, number])[]>(
  [["/openapi.json", 4]],
  [
    ["/openapi.json", 28],
    ["/openapi/v1.json", 9],
  ],
)) {
  test(`a request that ${address} allows is never refused and always gets a documented response`, { skip: reason }, async () => {
    const existing = address === "/openapi.json" ? await existingThings() : {};
    const { status, output } = await run(`${stage.world.url}${address}`, seconds, await stage.operator(), existing);
    assert.match(output, started, output);
    // Its health checks, which fail if it generates too little, do not matter.
    assert.ok(status === 0 || status === 1, output.slice(0, 100_000));
    assert.doesNotMatch(output, /^Failures:/m, output.slice(0, 100_000));
  });
}

// It starts the program again, which takes as long as the short form has.
if (shortOrLong(false, true))
  test("schemathesis finds a planted contradiction between document and server", {
    skip: reason || shortOrLong<string | false>("in the long form", false),
  }, async (context) => {
    const document = await fetchDocument(stage.world.url, "/openapi/ping.json");
    const wrong = JSON.stringify(document).replace('"PingResponse":{"type":"object"', '"PingResponse":{"type":"integer"');
    assert.notEqual(wrong, JSON.stringify(document));
    const file = join(await mkdtemp(join(tmpdir(), "gantry-schemathesis-")), "ping.json");
    context.after(() => rm(join(file, ".."), { recursive: true }));
    await writeFile(file, wrong);
    const { status, output } = await run(file, 2, "", {});
    assert.equal(status, 1, output);
    assert.match(output, /Response violates schema/);
  });
