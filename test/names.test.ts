// One word, one meaning: a name that functions at the top of files have in more than two modules stands for one thing
// everywhere, or it fails here with the list of where it stands.

import assert from "node:assert/strict";
import { test } from "node:test";
import { files, isCode, isTest } from "./project-files.ts";
import { functionsOf } from "./source.ts";

const modulesMax = 2;

const modules: readonly string[] = Object.keys((JSON.parse(files.get("modules.json") ?? "{}") as { modules: object }).modules);

/** Verbs and nouns that mean the same wherever they stand, each with what that is. */
const conventions: ReadonlyMap<string, string> = new Map([]);

/** The longest folder of modules.json around a file; its first folder where there is none (bench). */
const moduleOf = (path: string): string =>
  modules.filter((module) => path === module || path.startsWith(`${module}/`)).sort((one, other) => other.length - one.length)[0] ?? path.split("/")[0] ?? path;

interface Place {
  readonly module: string;
  readonly at: string;
  readonly body: string;
}

/** Where functions of each name stand. */
const placesByName = (all: Iterable<readonly [path: string, content: string]>): Map<string, Place[]> => {
  const found = new Map<string, Place[]>();
  for (const [path, content] of all)
    for (const { name, line, body } of functionsOf(content))
      found.set(name, [...(found.get(name) ?? []), { module: moduleOf(path), at: `${path}:${line}`, body }]);
  return found;
};

/** One sentence for each name that stands for different functions in too many modules. */
const ambiguous = (names: ReadonlyMap<string, readonly Place[]>): string[] =>
  [...names]
    .filter(([name, places]) => {
      const modules = new Set(places.map(({ module }) => module));
      const meanings = new Set(places.map(({ body }) => body));
      return modules.size > modulesMax && meanings.size > 1 && !conventions.has(name);
    })
    .map(
      ([name, places]) => `${name} stands for ${places.length} functions; give each a name that says what it does: ${places.map(({ at }) => at).join(", ")}`,
    );

const sources = [...files].filter(([path]) => isCode(path) && !isTest(path) && !/^test\/|\.fixture\.ts$|\/testing\.ts$/.test(path));
const found = placesByName(sources);

test("no name stands for different functions in more than two modules", () => {
  assert.ok(found.size > 500, `only ${found.size} names of functions were seen`);
  const sentences = ambiguous(found);
  assert.equal(sentences.length, 0, `\n${sentences.join("\n")}`);
});

test("what is excepted by convention still stands in several modules", () => {
  for (const name of conventions.keys()) {
    const modules = new Set((found.get(name) ?? []).map(({ module }) => module));
    assert.ok(modules.size > modulesMax, `${name} needs no exception any more: take it from the list`);
  }
});

test("planted and found: one name, three modules, two meanings; the same function, or two modules alone, are left alone", () => {
  const planted = (bodies: readonly string[]): string[] =>
    ambiguous(
      placesByName(
        ["server/store/x.ts", "server/kernel/x.ts", "base/x.ts", "base/y.ts"].slice(0, bodies.length).map((path, index) => [path, bodies[index] ?? ""]),
      ),
    );
  assert.match(
    planted([
      "const keyOf = (x: string) => x;",
      "\nexport const keyOf = async (y: string): Promise<number> => read(y);",
      "function keyOf() { return 1; }",
    ]).join(),
    /^keyOf stands for 3 functions.*server\/store\/x\.ts:1, server\/kernel\/x\.ts:2, base\/x\.ts:1$/,
  );
  assert.equal(planted(["const a = x => x;", "const a: F = (x) => x;", "const a = <T>(x: T): T => x;"]).length, 1);
  const same = "const keyOf = (x: string): string => x; // here";
  assert.deepEqual(planted([same, same, "const keyOf = (x: string): string =>\n  x;"]), []);
  assert.deepEqual(planted([same, "const keyOf = () => 1;"]), []);
  assert.deepEqual(planted(["const x = { keyOf: () => 1 };", "const keyOf = 1;", "{ const keyOf = () => 2; }", "class A { keyOf() {} }"]), []);
});
