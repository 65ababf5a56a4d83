// A name of top-level functions in more than two modules must mean the same everywhere.

import assert from "node:assert/strict";
import { test } from "node:test";
import { files, isCode, isTest } from "./project-files.ts";
import { functionsOf } from "./source.ts";

const modulesMax = 2;

const modules: readonly string[] = Object.keys((JSON.parse(files.get("modules.json") ?? "{}") as { modules: object }).modules);

/** Names with one meaning everywhere, explained. */
const conventions: ReadonlyMap<string, string> = new Map([]);

/** Returns the longest folder of modules.json that contains the file; otherwise its first folder (bench). */
const moduleOf = (path: string): string =>
  modules.filter((module) => path === module || path.startsWith(`${module}/`)).sort((one, other) => other.length - one.length)[0] ?? path.split("/")[0] ?? path;

interface Place {
  readonly module: string;
  readonly at: string;
  readonly body: string;
}

const placesByName = (all: Iterable<readonly [path: string, content: string]>): Map<string, Place[]> => {
  const found = new Map<string, Place[]>();
  for (const [path, content] of all)
    for (const { name, line, body } of functionsOf(content))
      found.set(name, [...(found.get(name) ?? []), { module: moduleOf(path), at: `${path}:${line}`, body }]);
  return found;
};

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

test("no name is used for different functions in more than two modules", () => {
  assert.ok(found.size > 500, `only ${found.size} names of functions were seen`);
  const sentences = ambiguous(found);
  assert.equal(sentences.length, 0, `\n${sentences.join("\n")}`);
});

test("every convention is still used in several modules", () => {
  for (const name of conventions.keys()) {
    const modules = new Set((found.get(name) ?? []).map(({ module }) => module));
    assert.ok(modules.size > modulesMax, `${name} needs no exception any more: take it from the list`);
  }
});

test("a planted name with two meanings in three modules is found; equal functions or two modules are accepted", () => {
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
