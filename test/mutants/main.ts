// npm run mutants: removes the defences that docs/attacks.md names, one at a time, and reports which test fails.
//
//   npm run mutants                          every mutant of test/mutants/entries
//   npm run mutants -- --only 11,24          those of these rows
//   npm run mutants -- --sample 5 --seed 7   five random ones (default seed: random, printed)
//   --unconfirmed                            skips running each killing test file without a mutant
//
// Exits with 1 if no test notices a removed defence, or if the text that a mutant replaces has changed.

import { randomInt } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { isObject, type Json, text, texts } from "#base/json.ts";
import { dropDatabase, makeServerRole, makeTemplate, startTestServer } from "../database.ts";
import { mutants as allMutants } from "./entries/index.ts";
import { type Mutant, readAttackRows, rowsWithoutMutant } from "./mutant.ts";
import { type MutantResult, runMutants } from "./run-mutants.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    sample: { type: "string" },
    seed: { type: "string" },
    unconfirmed: { type: "boolean", default: false },
    /** For this program's own tests: another project, and a JSON file with its mutants. */
    project: { type: "string" },
    entries: { type: "string" },
  },
});

const wholeNumber = (name: string, text: string): number => {
  if (!/^\d+$/.test(text)) throw new Error(`--${name}: must be a whole number, not ${JSON.stringify(text)}`);
  return Number(text);
};

const readEntries = (path: string): readonly Mutant[] => {
  const list: Json = JSON.parse(readFileSync(path, "utf8")) as Json;
  return (Array.isArray(list) ? list : []).filter(isObject).map((entry) => ({
    attack: Number(entry.attack),
    file: text(entry, "file"),
    find: text(entry, "find"),
    replace: text(entry, "replace"),
    ...(Array.isArray(entry.tests) ? { tests: texts(entry, "tests") } : {}),
  }));
};

/** Returns `count` of them, chosen by the seed. */
const sampleOf = <T>(all: readonly T[], count: number, seed: number): readonly T[] => {
  const left = [...all];
  let state = seed >>> 0;
  return Array.from({ length: Math.min(count, all.length) }, () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return left.splice(state % left.length, 1);
  }).flat();
};

const describe = (result: MutantResult): string => {
  const { mutant, seconds } = result;
  const head = `${result.outcome.padEnd(8)} ${String(mutant.attack).padStart(4)}  ${mutant.file} (${seconds.toFixed(1)} s)`;
  if (result.outcome === "killed") return `${head}\n               ${result.file}: ${result.title}${result.by === "assertion" ? "" : ` [${result.by}]`}`;
  if (result.outcome === "survived") return `${head}\n               no test failed in ${result.tests.join(", ")}`;
  return `${head}\n               ${result.why.replaceAll("\n", "\n               ")}`;
};

/** Runs work with the tests' shared database server: the caller's, or a new one. */
const withTestServer = async <T>(work: (environment: Record<string, string | undefined>) => Promise<T>): Promise<T> => {
  if (process.env.GANTRY_TEST_DATABASE_URL) return work({});
  const { DATABASE_URL: databaseUrl } = process.env;
  delete process.env.DATABASE_URL;
  const own = databaseUrl ? undefined : await startTestServer();
  try {
    const given = databaseUrl ?? "";
    const { url, serverUrl, template } = await makeTemplate(own?.url ?? given, own?.serverUrl ?? (await makeServerRole(given)));
    try {
      return await work({ GANTRY_TEST_DATABASE_URL: url, GANTRY_TEST_SERVER_URL: serverUrl, GANTRY_TEST_TEMPLATE: template, DATABASE_URL: undefined });
    } finally {
      if (!own) await dropDatabase(url, template);
    }
  } finally {
    await own?.embedded.stop();
    if (own) rmSync(own.directory, { recursive: true, force: true, maxRetries: 5 });
  }
};

const main = async (): Promise<boolean> => {
  const isOther = values.project !== undefined;
  const root = resolve(values.project ?? join(import.meta.dirname, "../.."));
  const mutants = values.entries === undefined ? allMutants : readEntries(values.entries);
  const rows = readAttackRows(root);
  const testsByRow = new Map(rows.map(({ number, tests }) => [number, tests]));
  const only = values.only?.split(",").map((number) => wholeNumber("only", number));
  const unknown = only?.find((number) => !mutants.some(({ attack }) => attack === number));
  if (unknown !== undefined) throw new Error(`--only ${unknown}: this row has no mutant`);
  const wanted = only ? mutants.filter(({ attack }) => only.includes(attack)) : mutants;
  const seed = values.seed === undefined ? randomInt(2 ** 31) : wholeNumber("seed", values.seed);
  const chosen = values.sample === undefined ? wanted : sampleOf(wanted, wholeNumber("sample", values.sample), seed);
  if (values.sample !== undefined) console.log(`Seed: ${seed}`);
  if (chosen.length === 0) throw new Error("there is no mutant to run");

  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interrupted.abort());
  const temporary = realpathSync(mkdtempSync(join(tmpdir(), "gantry-mutants-")));
  // PostgreSQL runs as an ordinary user if root runs the tests.
  chmodSync(temporary, 0o755);
  try {
    const run = (environment: Record<string, string | undefined>): Promise<readonly MutantResult[]> =>
      runMutants(chosen, {
        root,
        temporary,
        testsOf: ({ attack, tests }) => tests ?? testsByRow.get(attack) ?? [],
        preloaded: isOther ? [] : ["test/without-promise-hooks.ts", "test/own-imports.ts"],
        environment,
        testTimeoutMs: 180_000,
        confirmsKills: !values.unconfirmed,
        onResult: (result) => console.log(describe(result)),
        signal: interrupted.signal,
      });
    const results = await (isOther ? run({}) : withTestServer(run));
    const count = (outcome: MutantResult["outcome"]): number => results.filter((result) => result.outcome === outcome).length;
    const without = rowsWithoutMutant(rows, mutants);
    console.log(
      `\n${results.length} mutants: ${count("killed")} killed, ${count("survived")} survived, ${count("stale")} stale, ${count("broken")} broken` +
        `\n${without.length} of ${rows.length} rows of docs/attacks.md have no mutant: ${without.join(", ")}`,
    );
    return !interrupted.signal.aborted && results.length === chosen.length && count("killed") === results.length;
  } finally {
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
  }
};

process.exitCode = (await main()) ? 0 : 1;
