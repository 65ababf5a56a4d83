// Applies mutants one at a time to a copy of the project and runs the tests that should fail. The project itself is never changed.

import { spawn } from "node:child_process";
import { chmodSync, constants, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { type Mutant, mutatedSource, staleReason } from "./mutant.ts";
import { type ReportLine, reportMark } from "./reporter.ts";

/** The result of a mutant. */
export type MutantResult = {
  readonly mutant: Mutant;
  readonly seconds: number;
} & (
  | { readonly outcome: "killed"; readonly file: string; readonly title: string; readonly by: "assertion" | "timeout" | "error" }
  /** No test failed. */
  | { readonly outcome: "survived"; readonly tests: readonly string[] }
  /** Its text no longer occurs exactly once. */
  | { readonly outcome: "stale"; readonly why: string }
  /** Tests failed without proof: the mutant does not load, or a test ended without an assertion. */
  | { readonly outcome: "broken"; readonly why: string }
);

export interface RunMutantsOptions {
  /** The project. */
  readonly root: string;
  /** An empty directory for the copy and the tests' files. */
  readonly temporary: string;
  /** Test files of a mutant, from the project's root. */
  readonly testsOf: (mutant: Mutant) => readonly string[];
  /** Loaded before each test file, from the project's root. */
  readonly preloaded: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly testTimeoutMs: number;
  /** Runs each test file that killed a mutant once without it. */
  readonly confirmsKills: boolean;
  readonly onResult: (result: MutantResult) => void;
  readonly signal: AbortSignal;
}

/** Names in the project's root that no test needs, or that are linked. */
const notCopied: ReadonlySet<string> = new Set(["node_modules", ".git", "dist", "release"]);

const copyProject = (root: string, copy: string): void => {
  mkdirSync(copy);
  for (const name of readdirSync(root)) {
    if (!notCopied.has(name)) cpSync(join(root, name), join(copy, name), { recursive: true, mode: constants.COPYFILE_FICLONE });
  }
  if (existsSync(join(root, "node_modules"))) symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
};

/** Kills processes that a mutant's tests left running, found by a working directory below the temporary one. */
const killLeftProcesses = (temporary: string): void => {
  if (!existsSync("/proc/self")) return;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    try {
      if (readlinkSync(`/proc/${name}/cwd`).startsWith(`${temporary}/`)) process.kill(Number(name), "SIGKILL");
    } catch {
      // It has ended, or belongs to another user.
    }
  }
};

interface FileOutcome {
  readonly passed: number;
  readonly failures: readonly (ReportLine & { readonly is: "failed" })[];
  /** The process's last lines if it ended without a report. */
  readonly complaint: string;
}

/** Runs one test file; ends at the first failure that proves something. */
const runTestFile = (copy: string, path: string, options: RunMutantsOptions): Promise<FileOutcome> =>
  new Promise((resolve) => {
    // The short form with the fixed seed, so that chance does not decide if a mutant is killed.
    const { NODE_TEST_CONTEXT: _nested, GANTRY_TEST_LONG: _long, GANTRY_TEST_SEED: _seed, ...inherited } = process.env;
    const reporterFile = pathToFileURL(join(import.meta.dirname, "reporter.ts")).href;
    // Node requires a default export.
    const reporter = `data:text/javascript,${encodeURIComponent(`export { report as default } from ${JSON.stringify(reporterFile)};`)}`;
    const args = [
      ...options.preloaded.map((name) => `--import=${pathToFileURL(join(copy, name)).href}`),
      `--test-timeout=${options.testTimeoutMs}`,
      `--test-reporter=${reporter}`,
      path,
    ];
    const child = spawn(process.execPath, args, {
      cwd: copy,
      env: { ...inherited, ...options.environment, TMPDIR: join(options.temporary, "tests") },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const failures: (ReportLine & { is: "failed" })[] = [];
    let passed = 0;
    let complaint: string[] = [];
    const end = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // The group has ended.
      }
    };
    options.signal.addEventListener("abort", end);
    const keep = (line: string): void => void (complaint = [...complaint, line].slice(-12));
    createInterface({ input: child.stderr }).on("line", keep);
    createInterface({ input: child.stdout }).on("line", (line) => {
      const at = line.indexOf(reportMark);
      if (at < 0) return keep(line);
      const report = JSON.parse(line.slice(at + reportMark.length)) as ReportLine;
      if (report.is === "passed") passed++;
      else {
        failures.push(report);
        if (report.kind !== "broken") end();
      }
    });
    child.on("close", (status) => {
      options.signal.removeEventListener("abort", end);
      end();
      const isSilent = status !== 0 && failures.length === 0;
      resolve({ passed, failures, complaint: isSilent ? complaint.join("\n") : "" });
    });
  });

/** Without the shared server, whose template has the original migrations, a test file starts its own and migrates it. */
const withOwnServer = (options: RunMutantsOptions): RunMutantsOptions => ({
  ...options,
  environment: { ...options.environment, GANTRY_TEST_DATABASE_URL: undefined, GANTRY_TEST_SERVER_URL: undefined, GANTRY_TEST_TEMPLATE: undefined },
});

/** Runs the tests of one mutant in the copy. */
const judge = async (copy: string, mutant: Mutant, given: RunMutantsOptions): Promise<MutantResult> => {
  const options = mutant.file.startsWith("server/db/migrations/") ? withOwnServer(given) : given;
  const start = performance.now();
  const done = <T extends object>(outcome: T) => ({ mutant, seconds: (performance.now() - start) / 1000, ...outcome });
  const why = staleReason(options.root, mutant);
  if (why !== undefined) return done({ outcome: "stale", why });
  const tests = options.testsOf(mutant);
  if (tests.length === 0) return done({ outcome: "stale", why: "no test file is named" });
  const path = join(copy, mutant.file);
  const original = readFileSync(path);
  writeFileSync(path, mutatedSource(options.root, mutant));
  const broken: string[] = [];
  try {
    // Whole files, since a test may depend on earlier ones and fail alone without the mutant.
    for (const test of tests) {
      mkdirSync(join(options.temporary, "tests"), { recursive: true });
      chmodSync(join(options.temporary, "tests"), 0o1777);
      const { passed, failures, complaint } = await runTestFile(copy, test, options);
      killLeftProcesses(options.temporary);
      for (const { kind, title, message } of failures) {
        if (kind !== "broken") return done({ outcome: "killed", file: test, title, by: kind });
        broken.push(`${test}: ${title}: ${message}`);
      }
      if (complaint !== "") broken.push(`${test}: ${complaint}`);
      else if (passed === 0 && failures.length === 0) broken.push(`${test}: no test ran`);
      if (options.signal.aborted) return done({ outcome: "broken", why: "interrupted" });
    }
  } finally {
    writeFileSync(path, original);
    rmSync(join(options.temporary, "tests"), { recursive: true, force: true, maxRetries: 5 });
  }
  return broken.length > 0 ? done({ outcome: "broken", why: broken.join("\n").slice(0, 2000) }) : done({ outcome: "survived", tests });
};

/** Test files that fail without any mutant, by path, each run once; their failures prove nothing. */
type Baseline = Map<string, Promise<string | undefined>>;

const baselineFailure = async (copy: string, path: string, options: RunMutantsOptions): Promise<string | undefined> => {
  mkdirSync(join(options.temporary, "tests"), { recursive: true });
  chmodSync(join(options.temporary, "tests"), 0o1777);
  const { failures, complaint } = await runTestFile(copy, path, options);
  killLeftProcesses(options.temporary);
  rmSync(join(options.temporary, "tests"), { recursive: true, force: true, maxRetries: 5 });
  return failures[0] ? `${failures[0].title}: ${failures[0].message}` : complaint || undefined;
};

/** Counts a kill only if the test file passes without the mutant. */
const confirm = async (copy: string, result: MutantResult, baseline: Baseline, options: RunMutantsOptions): Promise<MutantResult> => {
  if (result.outcome !== "killed" || !options.confirmsKills) return result;
  const { mutant, seconds, file } = result;
  const failure = baseline.get(file) ?? baselineFailure(copy, file, options);
  baseline.set(file, failure);
  const why = await failure;
  return why === undefined ? result : { mutant, seconds, outcome: "broken", why: `${file} fails without the mutant, too: ${why}` };
};

/** Runs the mutants, several at once on larger machines; returns the results in the mutants' order. */
export const runMutants = async (mutants: readonly Mutant[], options: RunMutantsOptions): Promise<readonly MutantResult[]> => {
  const results = new Map<Mutant, MutantResult>();
  const baseline: Baseline = new Map();
  const left = [...mutants];
  const lanes = Math.min(mutants.length, Math.max(1, Math.floor(availableParallelism() / 2)));
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const temporary = join(options.temporary, String(lane));
      mkdirSync(temporary, { mode: 0o755 });
      const copy = join(temporary, "project");
      copyProject(options.root, copy);
      for (let mutant = left.shift(); mutant !== undefined && !options.signal.aborted; mutant = left.shift()) {
        const own = { ...options, temporary };
        const result = await confirm(copy, await judge(copy, mutant, own), baseline, own);
        results.set(mutant, result);
        options.onResult(result);
      }
    }),
  );
  return mutants.flatMap((mutant) => results.get(mutant) ?? []);
};
