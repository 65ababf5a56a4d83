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

let recording: Declared | undefined;

/** Returns what a file declares while `load` loads it. */
export const recordDeclared = async (load: () => Promise<unknown>): Promise<Declared> => {
  const declared: Declared = { tests: [], before: [], after: [], beforeEach: [], afterEach: [] };
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

export const { mock } = runner;
