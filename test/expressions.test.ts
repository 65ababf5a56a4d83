// No regular expression backtracks: recheck examines those of the sources and the contract, and finds a text that takes more than
// linear time or proves that there is none.
//
// A proof takes up to a second and remains valid, so test/golden/expressions.json lists the proved ones, which the short form
// trusts. New ones are checked at once; `npm run golden` adds them. The long form checks all.

import assert from "node:assert/strict";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { methods } from "#contract/catalog.ts";
import type { MessageFact } from "#contract/facts.ts";
import { shortOrLong } from "./length.ts";
import { codeOf } from "./source.ts";

// The pure JavaScript backend; the others are native programs for some systems.
process.env.RECHECK_BACKEND = "pure";
const { checkSync } = await import("recheck");

const root = join(import.meta.dirname, "..");

/** Expressions that may backtrack, because they read no user input. */
const constantInput: Readonly<Record<string, string>> = {
  "server/db/migration-files.ts /^\\s*--.*$/gm": "reads our own migrations",
};

/** Where expressions are built, and why they are covered here. */
const builtExpressions: Readonly<Record<string, string>> = {
  "base/versions/pep440.ts": "of expressions that stand there; judged as it is built, below",
  "server/advisories/feeds/parse/xml.ts": "of the name of an element that one of our formats asks for",
  "server/advisories/resources/advisory.ts": "of a number of limits.ts; judged as it is built, below",
  "server/docs/highlight.ts": "of the words of a language, over code of our own documents",
  "server/kernel/field-behavior.ts": "of the contract's patterns; each is judged below",
  "server/kernel/schema.ts": "of the name of a column, over the text of an index",
};

interface Expression {
  readonly at: string;
  readonly source: string;
  readonly flags: string;
}

const isOurs = (path: string): boolean => !/\/gen\/|\.d\.ts$|\.test\.ts$|\.fixture\.ts$|\/testing\.ts$/.test(path);
const sources: Readonly<Record<string, string>> = Object.fromEntries(
  globSync("{base,bin,cli,client,contract,server}/**/*.{ts,js}", { cwd: root })
    .filter(isOurs)
    .sort()
    .map((path) => [path, readFileSync(join(root, path), "utf8")]),
);

const literalsOf = (path: string, source: string): Expression[] =>
  codeOf(source)
    .filter(({ kind }) => kind === "pattern")
    .map(({ value, line }) => ({ at: `${path}:${line}`, source: value.slice(1, value.lastIndexOf("/")), flags: value.slice(value.lastIndexOf("/") + 1) }));

const buildersIn = (files: Readonly<Record<string, string>>): string[] =>
  Object.entries(files)
    .filter(([, source]) => codeOf(source).some(({ kind, value }, index, tokens) => kind === "word" && value === "RegExp" && tokens[index + 1]?.value === "("))
    .map(([path]) => path);

/**
 * Deterministic on every machine: bounded by steps instead of time, with a fixed seed. A text that reaches this bound would also
 * reach the default, a hundred times higher.
 */
const bounds = {
  randomSeed: 1,
  timeout: null,
  attackTimeout: null,
  incubationTimeout: null,
  seedingTimeout: null,
  recallTimeout: null,
  attackLimit: 15_000_000,
};

const provedFile = join(root, "test", "golden", "expressions.json");
const proved: ReadonlySet<string> = new Set(JSON.parse(readFileSync(provedFile, "utf8")) as string[]);
const judged = new Map<string, string | undefined>();

const problemOf = ({ source, flags }: Pick<Expression, "source" | "flags">): string | undefined => {
  const key = `/${source}/${flags}`;
  if (shortOrLong(proved.has(key), false)) judged.set(key, undefined);
  if (!judged.has(key)) {
    const found = checkSync(source, flags, bounds);
    const attack = found.status === "vulnerable" ? ` (${found.complexity.summary}: ${found.attack.pattern.slice(0, 200)})` : "";
    judged.set(key, found.status === "safe" ? undefined : `is ${found.status}${attack}`);
  }
  return judged.get(key);
};

const problemsIn = (files: Readonly<Record<string, string>>): string[] =>
  Object.entries(files).flatMap(([path, source]) =>
    literalsOf(path, source)
      .filter((found) => !(`${path} /${found.source}/${found.flags}` in constantInput))
      .flatMap((found) => {
        const problem = problemOf(found);
        return problem === undefined ? [] : [`${found.at} /${found.source}/${found.flags} ${problem}`];
      }),
  );

test("no regular expression of the sources takes more than linear time on any text", () => {
  const problems = problemsIn(sources);
  assert.deepEqual(problems, []);
  assert.ok(judged.size > 100, `only ${judged.size} were found`);
});

const messagesOf = (message: MessageFact, seen = new Set<MessageFact>()): Set<MessageFact> => {
  if (seen.has(message)) return seen;
  seen.add(message);
  for (const field of message.fields) if (field.message) messagesOf(field.message, seen);
  return seen;
};

test("no pattern of the contract takes more than linear time when matched against a whole text", () => {
  const messages = methods.flatMap(({ input }) => [...messagesOf(input)]);
  const patterns = new Map(
    messages.flatMap(({ name, fields }) => fields.flatMap((field) => (field.pattern ? [[field.pattern, `${name}.${field.name}`] as const] : []))),
  );
  assert.ok(patterns.size > 5);
  for (const [pattern, at] of patterns) assert.equal(problemOf({ source: `^(?:${pattern})$`, flags: "u" }), undefined, `${at}: ${pattern}`);
});

test("expressions are built only in known places, and are linear", async () => {
  assert.deepEqual(buildersIn(sources), Object.keys(builtExpressions));
  // Captures expressions built at load time by replacing the constructor.
  const built: RegExp[] = [];
  const Original = globalThis.RegExp;
  globalThis.RegExp = new Proxy(Original, {
    construct(target, [pattern, flags]: [string | RegExp, string?]) {
      const made = new target(pattern, flags);
      built.push(made);
      return made;
    },
  });
  try {
    await import("../base/versions/pep440.ts");
    await import("../server/advisories/resources/advisory.ts");
  } finally {
    globalThis.RegExp = Original;
  }
  const ours = built.filter(({ source }) => source.includes("preview") || source.startsWith("^cve-"));
  assert.equal(ours.length, 2);
  for (const { source, flags } of ours) assert.equal(problemOf({ source, flags }), undefined, source);
});

test("the proved expressions are exactly those of the sources and the contract", () => {
  const found = [...judged].flatMap(([key, problem]) => (problem === undefined ? [key] : [])).sort();
  if (process.env.GANTRY_GOLDEN === "accept") writeFileSync(provedFile, `${JSON.stringify(found, undefined, 2)}\n`);
  else assert.deepEqual([...proved].sort(), found, "npm run golden");
});

test("every exception is still needed", () => {
  for (const entry of Object.keys(constantInput)) {
    const [, path = "", source = "", flags = ""] = /^(\S+) \/(.*)\/([a-z]*)$/.exec(entry) ?? [];
    assert.ok(
      literalsOf(path, sources[path] ?? "").some((found) => found.source === source && found.flags === flags),
      `${entry} does not stand there any more`,
    );
    assert.notEqual(problemOf({ source, flags }), undefined, `${entry} is linear`);
  }
});

test("an expression that backtracks or is built from text is found anywhere", () => {
  const planted = {
    "server/a.ts": "export const one = (text: string) => text.replace(/\\/+$/, '');",
    "server/b.ts": "const two = `${/(a+)+b/.test(x) ? 1 : 2}`;",
    "base/c.ts": "const three = [/^\\s*(.*?)\\s*$/u];",
    "base/d.ts": "const four = text.match(/<!--[\\s\\S]*?-->/g) ?? /fine/;",
    "base/e.ts": '// /(a+)+b/ in a comment, and "/(a+)+b/" in a text\nconst five = 4 / 2 / 1;',
  };
  assert.deepEqual(
    problemsIn(planted).map((line) => line.split(" ")[0]),
    ["server/a.ts:1", "server/b.ts:1", "base/c.ts:1", "base/d.ts:1"],
  );
  assert.deepEqual(buildersIn({ "a.ts": "const a = new RegExp(b);", "b.ts": "const a = RegExp(`${b}`);", "c.ts": "const a: RegExp = /x/;" }), ["a.ts", "b.ts"]);
});
