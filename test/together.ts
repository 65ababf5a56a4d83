// Runs several test files in one process, one after another, each as one test with the file's tests as subtests. Loading the
// server and compiling it takes more CPU time than the tests of most files (run-files.ts).

import { registerHooks } from "node:module";
import { test } from "node:test";
import { restartChance } from "./length.ts";
import { recordDeclared, runDeclared } from "./recorded.ts";

const recorded = new URL("recorded.ts", import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "node:test" && context.parentURL !== recorded ? { url: recorded, format: "module-typescript", shortCircuit: true } : next(specifier, context),
});

export interface TogetherOptions {
  readonly testTimeoutMs: number;
  readonly fileTimeoutMs: number;
}

const restoreEnvironment = (kept: Readonly<NodeJS.ProcessEnv>): void => {
  for (const name of Object.keys(process.env)) if (!(name in kept)) delete process.env[name];
  Object.assign(process.env, kept);
};

/** @param files each with the name that its test gets */
export const runTogether = async (
  files: readonly (readonly [name: string, load: () => Promise<unknown>])[],
  { testTimeoutMs, fileTimeoutMs }: TogetherOptions,
): Promise<void> => {
  const environment = { ...process.env };
  // A test that waits for nothing fails at its time limit; node would end the process, and the files left with it.
  const staysAlive = setInterval(() => {}, fileTimeoutMs);
  for (const [name, load] of files) {
    restoreEnvironment(environment);
    await test(name, { timeout: fileTimeoutMs }, async (file) => {
      restartChance();
      await runDeclared(file, await recordDeclared(load), testTimeoutMs);
    });
  }
  clearInterval(staysAlive);
};
