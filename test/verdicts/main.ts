// `npm run verdicts -- DIRECTORY`: checks that published records judge every version of every package as the imported ones do. The records
// go into their own Gantry, and its output is fetched over HTTP. judge.py compares both with libraries of Python, Go and Rust, and reads
// OpenVEX as scanners do; all programs are built here once.
//
//   npm run verdicts -- DIRECTORY [--json] [--at-least N]
//
// The server's own evaluation (base/versions) is compared over the same pairs. Exits with 1 if a verdict differs, or if fewer than N pairs
// were compared. Needs python3 with venv, go and cargo.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { judgeVersion } from "#base/versions/affected.ts";
import type { JsonObject } from "#base/json.ts";
import { publish } from "./published.ts";

const { values, positionals } = parseArgs({ options: { json: { type: "boolean" }, "at-least": { type: "string" } }, allowPositionals: true });
const [folder] = positionals;
if (folder === undefined || !existsSync(folder)) {
  console.error("Usage: npm run verdicts -- FOLDER [--json] [--at-least N]");
  process.exit(1);
}

interface Report {
  readonly records: number;
  readonly recordsDifferent: number;
  readonly pairs: number;
  readonly different: number;
  readonly notJudged: number;
  readonly groups: Readonly<Record<string, { readonly pairs: number; readonly different: number; readonly notJudged: number }>>;
  readonly notPublished: readonly string[];
  readonly notRead: readonly string[];
  readonly differences: readonly string[];
}

/** Runs a program to its end; returns its output. */
const run = (program: string, args: readonly string[], options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {}): string => {
  const { status, stdout, stderr, error } = spawnSync(program, args, { ...options, encoding: "utf8", maxBuffer: 2 ** 28 });
  if (error) throw new Error(`${program} is needed to judge and cannot be started: ${error.message}`);
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}:\n${stderr.slice(-4000)}`);
  return stdout;
};

const here = import.meta.dirname;
const cache = join(here, "../../node_modules/.cache/verdicts");

/** Builds the judge's programs if they are missing. */
const prepare = (): { python: string; go: string; rust: string; reader: string } => {
  mkdirSync(cache, { recursive: true });
  const environment = join(cache, "python");
  const python = join(environment, "bin/python");
  if (!existsSync(python)) run("python3", ["-m", "venv", environment]);
  run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", join(here, "requirements.txt")]);
  const go = join(cache, "orders-go");
  run("go", ["build", "-o", go, "."], { cwd: join(here, "orders-go") });
  const reader = join(cache, "reader-go");
  run("go", ["build", "-o", reader, "."], { cwd: join(here, "reader-go") });
  const target = join(cache, "orders-rust");
  run("cargo", ["build", "--quiet", "--release", "--locked"], { cwd: join(here, "orders-rust"), env: { ...process.env, CARGO_TARGET_DIR: target } });
  return { python, go, rust: join(target, "release/orders"), reader };
};

/** Returns where the server's own evaluation differs from the judge's, for versions that its libraries can read. */
const compareEvaluation = (pairsFile: string, folder: string): string[] => {
  const records = new Map<string, JsonObject>();
  const recordOf = (id: string): JsonObject => {
    const found = records.get(id) ?? (JSON.parse(readFileSync(join(folder, "osv", `${id}.json`), "utf8")) as JsonObject);
    records.set(id, found);
    return found;
  };
  return readFileSync(pairsFile, "utf8")
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => {
      const [id, ecosystem, name, version, verdict] = JSON.parse(line) as [string, string, string, string, string];
      const own = judgeVersion(recordOf(id), { ecosystem, name }, version);
      return own.verdict === verdict || verdict === "not judged"
        ? []
        : [`${id}: ${ecosystem} ${name} ${version}: the judge says ${verdict}, the server's evaluation ${own.verdict}`];
    });
};

const started = performance.now();
const output = mkdtempSync(join(tmpdir(), "gantry-verdicts-"));
try {
  const { python, go, rust, reader } = prepare();
  const { summary, leftOut } = await publish([resolve(folder)], output);
  const pairsFile = join(output, "pairs.jsonl");
  const report = JSON.parse(run(python, [join(here, "judge.py"), resolve(folder), output, go, rust, reader, pairsFile])) as Report;
  const evaluatedOtherwise = compareEvaluation(pairsFile, output);
  const seconds = Number(((performance.now() - started) / 1000).toFixed(1));
  const pairsMin = Number(values["at-least"] ?? 1);
  if (values.json) console.log(JSON.stringify({ ...report, evaluatedOtherwise, leftOut, refused: summary.refused, seconds }, null, 2));
  else {
    for (const [group, { pairs, different, notJudged }] of Object.entries(report.groups))
      console.log(`${group}: ${pairs} pairs, ${different} different, ${notJudged} that neither can judge`);
    for (const difference of report.differences) console.log(`  ${difference}`);
    for (const difference of evaluatedOtherwise.slice(0, 20)) console.log(`  ${difference}`);
    for (const each of leftOut.slice(0, 20)) console.log(`  left out: ${each}`);
    if (leftOut.length > 0) console.log(`${leftOut.length} documents are left out, with their reason`);
    for (const refusal of [...report.notRead, ...summary.refused]) console.log(`  not read: ${refusal}`);
    if (report.notPublished.length > 0) console.log(`${report.notPublished.length} records are not published: ${report.notPublished.slice(0, 10).join(" ")} …`);
    console.log(`${evaluatedOtherwise.length} pairs of OSV that the server's own evaluation judges otherwise`);
    console.log(`${report.records} records, ${report.pairs} pairs compared, ${report.different} different in ${report.recordsDifferent} records, ${seconds} s`);
  }
  if (report.pairs < pairsMin) console.error(`Only ${report.pairs} pairs were compared; before there were ${pairsMin}.`);
  if (report.different > 0 || evaluatedOtherwise.length > 0 || report.pairs < pairsMin) process.exitCode = 1;
} finally {
  rmSync(output, { recursive: true, force: true });
}
