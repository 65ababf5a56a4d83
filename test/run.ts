// Runs the tests with one database server for all files and node's runner. Fails if no test ran, because an empty run must not look like
// success.

import { randomInt } from "node:crypto";
import { globSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { dropDatabase, makeServerRole, makeTemplate, startTestServer } from "./database.ts";
import { seed as fixedSeed } from "./length.ts";
import { runFiles } from "./run-files.ts";
import { importsOf } from "./source.ts";
import { makeTemporaryFolder } from "./temporary-folder.ts";

const help = `Run the tests.

Usage:
  npm test                              all test files
  npm test -- FILE... [OPTION...]       some files, with options of node --test
  npm run test:long [-- FILE...]        the long forms, one file after another

Options:
  --test-name-pattern REGEXP  run the tests whose title matches
  --seed N                    seed of random choices (default: fixed; with the long forms, random)
  --budget-seconds N          with the long forms: stop after this time, and list the files that were left out
  --help                      print this text

The tests start a PostgreSQL server unless DATABASE_URL is set.

Examples:
  npm test -- base/uid.test.ts
  npm test -- test/story/backup.test.ts --test-name-pattern="killed"
`;

const root = join(import.meta.dirname, "..");
const slowestShown = 10;
/** Maximum of a whole `npm test` on two cores (CONTRIBUTING.md). */
const wholeRunMaxSeconds = 600;

const { values, positionals, tokens } = parseArgs({
  options: {
    help: { type: "boolean", default: false },
    long: { type: "boolean", default: false },
    seed: { type: "string" },
    "budget-seconds": { type: "string" },
  },
  allowPositionals: true,
  strict: false,
  tokens: true,
});
const nodeOptions = tokens.flatMap((token) =>
  token.kind === "option" && !["long", "seed", "budget-seconds"].includes(token.name)
    ? [token.value === undefined ? token.rawName : `${token.rawName}=${token.value}`]
    : [],
);
const isLong = values.long === true;
const budgetSeconds = typeof values["budget-seconds"] === "string" ? Number(values["budget-seconds"]) : Number.POSITIVE_INFINITY;

const wholeNumber = (text: string): number => {
  if (!/^\d+$/.test(text)) throw new Error(`a seed is a whole number, not ${JSON.stringify(text)}`);
  return Number(text);
};
const seed = typeof values.seed === "string" ? wholeNumber(values.seed) : isLong && budgetSeconds === Number.POSITIVE_INFINITY ? randomInt(2 ** 31) : fixedSeed;

const hasLongForm = (path: string): boolean =>
  importsOf(readFileSync(path, "utf8")).some(({ specifier = "" }) => /(?:^|\/)(?:test\/|\.\/|\.\.\/)(?:length|property|anywhere)\.ts$/.test(specifier));

/** Searched everywhere: a list of folders would silently omit a new one. */
const allFiles = (): string[] => globSync("*/**/*.test.ts", { cwd: root, exclude: ["node_modules", "dist", ".*"] }).map((path) => join(root, path));
const files = (positionals.length > 0 ? positionals.map((path) => resolve(path)) : allFiles().filter((path) => !isLong || hasLongForm(path))).sort();

const nameOf = (path: string): string => relative(root, path);

const testTimeoutMs = isLong ? 1_800_000 : 180_000;
const options = { testTimeoutMs, fileTimeoutMs: 4 * testTimeoutMs, nodeOptions, write: (text: string) => void process.stdout.write(text) };

const tellSeconds = (title: string, seconds: ReadonlyMap<string, number>): void => {
  const slowest = [...seconds].sort(([, one], [, other]) => other - one).slice(0, slowestShown);
  if (slowest.length < 2) return;
  console.log(`\n${title}:\n${slowest.map(([name, each]) => `  ${each.toFixed(1).padStart(6)} s  ${name}`).join("\n")}`);
};

const tellSlowest = (files: ReadonlyMap<string, number>): void => {
  const named = [...files].map(([path, seconds]) => [nameOf(path), seconds] as const);
  const folders = Map.groupBy(named, ([name]) => dirname(name));
  tellSeconds("The slowest files", new Map(named));
  tellSeconds("The slowest folders, files added up", new Map([...folders].map(([folder, own]) => [folder, own.reduce((sum, [, each]) => sum + each, 0)])));
};

const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interrupted.abort());

const secondsSinceStart = (): number => performance.now() / 1000;

const runShort = async (): Promise<boolean> => {
  const { ran, failed, seconds } = await runFiles(files, { ...options, signal: interrupted.signal });
  tellSlowest(seconds);
  if (positionals.length === 0) {
    const took = Math.round(secondsSinceStart());
    console.log(
      `\n${took} s in all${took > wholeRunMaxSeconds ? `; on two cores it was to be under ${wholeRunMaxSeconds} s: give what is slow a long form` : ""}`,
    );
  }
  if (ran === 0) console.error("No test ran.");
  return ran > 0 && !failed && !interrupted.signal.aborted;
};

/** Runs one file after another within the budget. With a budget, each day starts at another file, so that all get their turn. */
const runLong = async (): Promise<boolean> => {
  console.log(`${files.length} files have a long form:\n${files.map((path) => `  ${nameOf(path)}`).join("\n")}`);
  const first = Number.isFinite(budgetSeconds) ? Math.floor(Date.now() / 86_400_000) % files.length : 0;
  const left = [...files.slice(first), ...files.slice(0, first)];
  const all = new Map<string, number>();
  const failures: string[] = [];
  const withoutTest: string[] = [];
  while (left[0] !== undefined && !interrupted.signal.aborted) {
    const seconds = budgetSeconds - secondsSinceStart();
    if (seconds <= 0) break;
    const overtime = new AbortController();
    const late = Number.isFinite(seconds) ? setTimeout(() => overtime.abort(), seconds * 1000) : undefined;
    console.log(`\n▸ ${nameOf(left[0])}`);
    const outcome = await runFiles([left[0]], { ...options, signal: AbortSignal.any([interrupted.signal, overtime.signal]) });
    clearTimeout(late);
    // A failure before the file was cut off counts.
    if (outcome.failed) failures.push(nameOf(left[0]));
    if (overtime.signal.aborted || interrupted.signal.aborted) {
      console.log(`\n${nameOf(left[0])}: ended by ${overtime.signal.aborted ? "the budget" : "a signal"} after ${outcome.ran} tests`);
      break;
    }
    for (const [path, each] of outcome.seconds) all.set(path, each);
    if (outcome.ran === 0) withoutTest.push(nameOf(left[0]));
    left.shift();
  }
  tellSlowest(all);
  if (left.length > 0) console.log(`\nLeft out, for want of time: ${left.map(nameOf).join(", ")}`);
  if (failures.length > 0) console.error(`\nFailed: ${failures.join(", ")}. Again: npm run test:long -- --seed ${seed} ${failures.join(" ")}`);
  if (withoutTest.length > 0) console.error(`\nNo test ran in ${withoutTest.join(", ")}.`);
  return failures.length === 0 && withoutTest.length === 0 && !interrupted.signal.aborted;
};

const main = async (): Promise<boolean> => {
  if (values.help === true) {
    process.stdout.write(help);
    return true;
  }
  if (files.length === 0) {
    console.error(isLong ? "No test has a long form." : "There are no test files.");
    return false;
  }
  console.log(`The seed of what tests choose by chance: ${seed}${isLong ? "" : " (npm test -- --seed N takes another)"}`);
  // Servers started by tests must not use the operator's database.
  const { DATABASE_URL: databaseUrl } = process.env;
  delete process.env.DATABASE_URL;
  const temporary = makeTemporaryFolder();
  process.env.TMPDIR = temporary;
  const own = databaseUrl ? undefined : await startTestServer();
  try {
    const given = databaseUrl ?? "";
    const { url, serverUrl, template } = await makeTemplate(own?.url ?? given, own?.serverUrl ?? (await makeServerRole(given)));
    try {
      Object.assign(process.env, {
        GANTRY_TEST_DATABASE_URL: url,
        GANTRY_TEST_SERVER_URL: serverUrl,
        GANTRY_TEST_TEMPLATE: template,
        GANTRY_TEST_SEED: String(seed),
      });
      if (isLong) process.env.GANTRY_TEST_LONG = "1";
      return await (isLong ? runLong() : runShort());
    } finally {
      if (!own) await dropDatabase(url, template);
    }
  } finally {
    await own?.embedded.stop();
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
  }
};

process.exitCode = (await main()) ? 0 : 1;
