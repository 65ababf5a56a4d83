// Runs the tests: one database server for all files, then node's own runner over them.
//
//   node test/run.ts                    every *.test.ts of the project
//   node test/run.ts FILE… [--OPTION…]  these files; options go to node --test
//
// The server is an embedded one, or DATABASE_URL where that is set. Fails when no test ran: a runner that finds
// nothing must not look like success.

import { spawn } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { dropDatabase, makeTemplate, startTestServer } from "./database.ts";

const rooms = ["base", "bench", "bin", "cli", "contract", "server", "test", "tools"];

const given = process.argv.slice(2);
const options = given.filter((argument) => argument.startsWith("--"));
const named = given.filter((argument) => !argument.startsWith("--"));
const root = join(import.meta.dirname, "..");
const files = named.length > 0 ? named : globSync(`{${rooms.join(",")}}/**/*.test.ts`, { cwd: root }).sort();

const run = async (environment: NodeJS.ProcessEnv): Promise<number> => {
  const reports = mkdtempSync(join(tmpdir(), "gantry-report-"));
  const report = join(reports, "report.tap");
  const child = spawn(
    process.execPath,
    [
      "--test",
      // Half of the work is PostgreSQL's, on the same cores.
      `--test-concurrency=${Math.max(2, Math.floor(availableParallelism() / 2))}`,
      // A hung test fails by name instead of hanging the run.
      "--test-timeout=180000",
      "--test-reporter=spec",
      "--test-reporter-destination=stdout",
      "--test-reporter=tap",
      `--test-reporter-destination=${report}`,
      ...options,
      ...files,
    ],
    { cwd: named.length > 0 ? process.cwd() : root, env: environment, stdio: "inherit" },
  );
  // Ctrl-C reaches the runner by itself; we wait for it and then clean up.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  const code = await new Promise<number>((done, fail) => {
    child.once("error", fail);
    child.once("close", (status) => done(status ?? 1));
  });
  try {
    // A file in which there is no test counts as one with node, under its own path.
    const results = [...(existsSync(report) ? readFileSync(report, "utf8") : "").matchAll(/^ *(?:not )?ok \d+ - (.*)$/gm)].map(([, title = ""]) => title);
    const ran = results.filter((title) => !/# (SKIP|TODO)/i.test(title) && !/\.test\.ts$/.test(title)).length;
    if (ran > 0) return code;
    console.error("No test ran.");
    return 1;
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
};

const main = async (): Promise<number> => {
  if (files.length === 0) {
    console.error("There are no test files.");
    return 1;
  }
  // A server that a test starts must not find the operator's own database.
  const { DATABASE_URL: databaseUrl, ...environment } = process.env;
  const own = databaseUrl ? undefined : await startTestServer();
  try {
    const { url, template } = await makeTemplate(own ? own.url : (databaseUrl ?? ""));
    try {
      return await run({ ...environment, GANTRY_TEST_DATABASE_URL: url, GANTRY_TEST_TEMPLATE: template });
    } finally {
      if (!own) await dropDatabase(url, template);
    }
  } finally {
    await own?.embedded.stop();
    if (own) rmSync(own.directory, { recursive: true, force: true });
  }
};

process.exitCode = await main();
