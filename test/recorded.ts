// Replaces node:test in processes that run several test files (together.ts). What a file declares while it loads is recorded;
// calls at any other time reach node's runner.

import * as runner from "node:test";
import type { TestContext, TestFn, TestOptions } from "node:test";

type Hook = (context?: TestContext) => unknown;

export interface DeclaredTest {
  readonly name: string;
  readonly options: TestOptions;
  readonly body: TestFn | undefined;
}

export interface Declared {
  readonly tests: DeclaredTest[];
  readonly before: Hook[];
  readonly after: Hook[];
  readonly beforeEach: Hook[];
  readonly afterEach: Hook[];
}

const noTests = (): Declared => ({ tests: [], before: [], after: [], beforeEach: [], afterEach: [] });

let recording: Declared | undefined;

/** Returns what a file declares while `load` loads it. */
export const recordDeclared = async (load: () => Promise<unknown>): Promise<Declared> => {
  const declared = noTests();
  recording = declared;
  try {
    await load();
  } finally {
    recording = undefined;
  }
  return declared;
};

const hook =
  (name: "before" | "after" | "beforeEach" | "afterEach", outsideLoading: (run: () => unknown) => void) =>
  (run: Hook): void => {
    if (recording) recording[name].push(run);
    else outsideLoading(run);
  };

export const before = hook("before", runner.before);
export const after = hook("after", runner.after);
export const beforeEach = hook("beforeEach", runner.beforeEach);
export const afterEach = hook("afterEach", runner.afterEach);

export function test(name: string, body?: TestFn): Promise<void>;
export function test(name: string, options: TestOptions, body?: TestFn): Promise<void>;
export function test(name: string, second: TestOptions | TestFn | undefined, third?: TestFn): Promise<void> {
  const [options, body] = typeof second === "function" ? [{}, second] : [second ?? {}, third];
  if (!recording) return runner.test(name, options, body);
  recording.tests.push({ name, options, body });
  return Promise.resolve();
}

/** A suite is recorded as a test with subtests, which run one after another. */
export const suite = (name: string, options: TestOptions, declare: () => void): void => {
  const around = recording;
  if (!around) throw new Error("a suite within a test is not recorded");
  const declared = noTests();
  recording = declared;
  declare();
  recording = around;
  around.tests.push({ name, options, body: (context) => runDeclared(context, declared) });
};

/** Runs what was declared within a test. */
export const runDeclared = async (context: TestContext, declared: Declared, timeout?: number): Promise<void> => {
  for (const run of declared.beforeEach) context.beforeEach(run);
  for (const run of declared.afterEach) context.afterEach(run);
  for (const run of declared.after) context.after(run);
  // node would not wait for them in a test that has begun.
  for (const run of declared.before) await run(context);
  for (const { name, options, body } of declared.tests) await context.test(name, { ...(timeout === undefined ? {} : { timeout }), ...options }, body);
};

export const { mock } = runner;
