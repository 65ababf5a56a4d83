// Runs several test files in one process, one after another, each as a test with the file's path as its title. In a process of its
// own, a file takes a second of CPU time for its imports, and its code runs before V8 has optimized it (measured).
//
// node's runner gives all files of a process one root with one set of hooks. The files therefore import a substitute for node:test,
// which keeps their tests and hooks until the file's turn.

import { registerHooks } from "node:module";
import { relative } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";

interface GroupOptions {
  /** Folder to which titles are relative. */
  readonly root: string;
  /** A slower test fails by name. */
  readonly testTimeoutMs: number;
  /** A slower file fails. */
  readonly fileTimeoutMs: number;
}

const hooks = ["before", "after", "beforeEach", "afterEach"] as const;

type Registered = (context: TestContext) => unknown;

/** The tests and hooks of a file. */
type Own = Readonly<Record<"tests" | (typeof hooks)[number], Registered[]>>;

const files = new Map<string, Own>();

/** Returns the lists that the substitute of a file adds to. */
export const ownOf = (url: string): Own => {
  const own = files.get(url) ?? { tests: [], before: [], after: [], beforeEach: [], afterEach: [] };
  files.set(url, own);
  return own;
};

/** End of the path of a file's substitute, which node reports as the place of its tests. */
export const substituteEnd = "#node-test";

const substituteFor = (url: string, testTimeoutMs: number): string => `
  import { ownOf } from ${JSON.stringify(import.meta.url)};
  const own = ownOf(${JSON.stringify(url)});
  export const test = (title, ...rest) => {
    const [run, options] = rest.reverse();
    own.tests.push((context) => context.test(title, { timeout: ${testTimeoutMs}, ...options }, run));
  };
  ${hooks.map((name) => `export const ${name} = (hook) => own.${name}.push(hook);`).join("\n  ")}`;

const end = encodeURIComponent(substituteEnd);

/** Runs files by their URLs, each with the function that imports it. */
export const runGroup = async (
  members: Readonly<Record<string, () => Promise<unknown>>>,
  { root, testTimeoutMs, fileTimeoutMs }: GroupOptions,
): Promise<void> => {
  const urls = new Set(Object.keys(members));
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === "node:test" && urls.has(context.parentURL ?? "")
        ? { url: context.parentURL + end, format: "module", shortCircuit: true }
        : next(specifier, context),
    load: (url, context, next) =>
      url.endsWith(end) ? { source: substituteFor(url.slice(0, -end.length), testTimeoutMs), format: "module", shortCircuit: true } : next(url, context),
  });
  // A file may wait for what keeps no process alive. The time limits end what never comes.
  const alive = setInterval(() => {}, testTimeoutMs);
  for (const [url, load] of Object.entries(members))
    await test(relative(root, fileURLToPath(url)), { timeout: fileTimeoutMs }, async (context) => {
      await load();
      const { tests, before, after, beforeEach, afterEach } = ownOf(url);
      for (const hook of after) context.after(hook);
      for (const hook of beforeEach) context.beforeEach(hook);
      for (const hook of afterEach) context.afterEach(hook);
      // node would run them at once, and not wait for them.
      for (const hook of before) await hook(context);
      for (const run of tests) await run(context);
    });
  clearInterval(alive);
};
