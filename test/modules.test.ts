// Module boundaries: modules.json defines which modules and packages each module may import. All imports are checked, and planted
// violations must be refused.

import assert from "node:assert/strict";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, matchesGlob, posix } from "node:path";
import { test } from "node:test";
import { type Import, importsOf } from "./source.ts";

interface Module {
  /** Import name: "#store", or "#base/*" if every file is public. Without one, other modules cannot import it. */
  readonly entry?: string;
  readonly sees?: readonly string[];
  readonly seesTypesOf?: readonly string[];
  readonly packages?: readonly string[];
  /** Node's modules, without "node:". */
  readonly node?: readonly string[];
  /** Starts programs by path, so dynamic imports are allowed. */
  readonly startsByPath?: boolean;
}

interface Plan {
  readonly modules: Readonly<Record<string, Module>>;
  /** Patterns of test files, and the additional packages that they may import. */
  readonly tests: { readonly files: readonly string[]; readonly packages: readonly string[] };
  /** Folders outside the modules that may import all of them; nothing imports from there. */
  readonly outside: Readonly<Record<string, { readonly packages: readonly string[] }>>;
}

type Sources = Readonly<Record<string, string>>;

const root = join(import.meta.dirname, "..");
const plan: Plan = JSON.parse(readFileSync(join(root, "modules.json"), "utf8"));
const aliases: Readonly<Record<string, string>> = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).imports;
const picturePath = join(root, "test", "golden", "modules.mmd");

const readSources = (): Sources => {
  const folders = [...Object.keys(plan.modules), ...Object.keys(plan.outside)].map((name) => name.split("/")[0]);
  const paths = globSync(`{${[...new Set(folders)].join(",")}}/**/*.{ts,js,mts,mjs,cts,cjs}`, { cwd: root });
  return Object.fromEntries(
    paths
      .filter((path) => !path.endsWith(".d.ts"))
      .sort()
      .map((path) => [path, readFileSync(join(root, path), "utf8")]),
  );
};

const isWithin = (folder: string, path: string): boolean => path === folder || path.startsWith(`${folder}/`);

const moduleOf = (path: string): string | undefined => Object.keys(plan.modules).find((module) => isWithin(module, path));
const outsideOf = (path: string): string | undefined => Object.keys(plan.outside).find((folder) => isWithin(folder, path));
const isTest = (path: string): boolean => plan.tests.files.some((form) => matchesGlob(path, form));

const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");

/** Returns the module of an entry, as written in modules.json. */
const moduleBehind = (specifier: string): string | undefined =>
  Object.keys(plan.modules).find((module) => {
    const entry = plan.modules[module]?.entry;
    return entry !== undefined && (entry.endsWith("/*") ? specifier.startsWith(entry.slice(0, -1)) : specifier === entry);
  });

/** Classification of an import: an edge to a module, an external import, or a violation. */
type Verdict = { readonly arrow?: string; readonly brings?: string; readonly wrong?: string };

const relative = (path: string, specifier: string): Verdict => {
  const target = posix.join(posix.dirname(path), specifier);
  const [from, to] = [moduleOf(path), moduleOf(target)];
  if (outsideOf(path) !== undefined) return to !== undefined || outsideOf(target) !== undefined ? {} : { wrong: "leads out of the project's modules" };
  if (from === to) return isTest(target) && !isTest(path) ? { wrong: "is a test, and what runs for users does not lean on tests" } : {};
  if (outsideOf(target) !== undefined) return isTest(path) ? {} : { wrong: "stands outside of what is served; nothing in it imports from there" };
  return { wrong: `goes around an entry: another module is imported by its entry${to && plan.modules[to]?.entry ? ` (${plan.modules[to].entry})` : ""}` };
};

const crossing = (path: string, { specifier = "", typesOnly }: Import): Verdict => {
  const to = moduleBehind(specifier);
  if (to === undefined) return { wrong: "is no entry of a module in modules.json" };
  const from = moduleOf(path);
  if (from === undefined) return {};
  if (from === to) return isTest(path) ? {} : { wrong: "is the entry of its own module: import the file itself" };
  const { sees = [], seesTypesOf = [] } = plan.modules[from] ?? {};
  if (sees.includes(to) || (isTest(path) && seesTypesOf.includes(to))) return { arrow: to };
  if (seesTypesOf.includes(to)) return typesOnly ? { arrow: to } : { wrong: `is more than a type: ${from} sees only the types of ${to} (import type)` };
  return { wrong: `is an arrow that modules.json does not have: ${from} must not know ${to}` };
};

const foreign = (path: string, { specifier = "" }: Import): Verdict => {
  const from = moduleOf(path);
  const module = from === undefined ? undefined : plan.modules[from];
  if (isBuiltin(specifier)) {
    const name = specifier.replace(/^node:/, "");
    if (!specifier.startsWith("node:")) return { wrong: `is Node's own: write node:${name}` };
    if (module === undefined || isTest(path)) return {};
    return module.node?.includes(name)
      ? { brings: specifier }
      : { wrong: `is not for ${from}, which may use ${module.node?.map((each) => `node:${each}`).join(", ") || "nothing of Node's"}` };
  }
  const name = packageOf(specifier);
  const extra = isTest(path) ? plan.tests.packages : (plan.outside[outsideOf(path) ?? ""]?.packages ?? []);
  if (extra.includes(name)) return {};
  if (module?.packages?.includes(name)) return { brings: name };
  return { wrong: `is not for ${from ?? outsideOf(path)}, which may use ${module?.packages?.join(", ") || extra.join(", ") || "no package"}` };
};

const judge = (path: string, each: Import): Verdict => {
  const { specifier } = each;
  if (specifier === undefined) return plan.modules[moduleOf(path) ?? ""]?.startsByPath ? {} : { wrong: "cannot be seen through: import by a plain text" };
  if (specifier.startsWith(".")) return relative(path, specifier);
  if (specifier.startsWith("/") || specifier.startsWith("file:")) return { wrong: "is a path of one machine" };
  return specifier.startsWith("#") ? crossing(path, each) : foreign(path, each);
};

interface Survey {
  /** One sentence per violation. */
  readonly wrongs: readonly string[];
  /** Files per module or outside folder, without tests. */
  readonly counts: ReadonlyMap<string, number>;
  /** "from > to" between modules, without tests. */
  readonly arrows: ReadonlySet<string>;
  /** Edges used only by types. */
  readonly typeArrows: ReadonlySet<string>;
  /** "module + external import". */
  readonly brought: ReadonlySet<string>;
}

const survey = (sources: Sources): Survey => {
  const wrongs: string[] = [];
  const counts = new Map<string, number>();
  const arrows = new Set<string>();
  const firm = new Set<string>();
  const brought = new Set<string>();
  for (const [path, source] of Object.entries(sources)) {
    const module = moduleOf(path);
    const area = module ?? outsideOf(path);
    if (area === undefined) {
      wrongs.push(`${path} is in no module: give it one, or give modules.json a new one.`);
      continue;
    }
    if (!isTest(path) || module === undefined) counts.set(area, (counts.get(area) ?? 0) + 1);
    for (const each of importsOf(source)) {
      const { arrow, brings, wrong } = judge(path, each);
      if (wrong !== undefined)
        wrongs.push(`${path}:${each.line} imports ${each.specifier === undefined ? "something" : JSON.stringify(each.specifier)}, which ${wrong}.`);
      if (module === undefined || isTest(path)) continue;
      if (brings !== undefined) brought.add(`${module} + ${brings}`);
      if (arrow === undefined) continue;
      arrows.add(`${module} > ${arrow}`);
      if (!each.typesOnly) firm.add(`${module} > ${arrow}`);
    }
  }
  return { wrongs, counts, arrows, brought, typeArrows: new Set([...arrows].filter((arrow) => !firm.has(arrow))) };
};

const findCycle = (arrows: Iterable<string>): string[] | undefined => {
  const next = new Map<string, string[]>();
  for (const arrow of arrows) {
    const [from = "", to = ""] = arrow.split(" > ");
    next.set(from, [...(next.get(from) ?? []), to]);
  }
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (done.has(node)) return undefined;
    for (const other of next.get(node) ?? []) {
      const cycle = visit(other, [...path, node]);
      if (cycle) return cycle;
    }
    done.add(node);
    return undefined;
  };
  for (const node of next.keys()) {
    const cycle = visit(node, []);
    if (cycle) return cycle;
  }
  return undefined;
};

/** Returns the file of an import within the project; undefined for packages and Node's modules. */
const targetOf = (path: string, specifier: string): string | undefined => {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(path), specifier);
  if (!specifier.startsWith("#")) return undefined;
  const [alias, target] = Object.entries(aliases).find(([key]) => (key.endsWith("/*") ? specifier.startsWith(key.slice(0, -1)) : specifier === key)) ?? [
    "",
    "",
  ];
  return posix.normalize(target.replace("*", specifier.slice(alias.length - 1)));
};

/** "from > to" between files, including types and tests. */
const fileArrows = (all: Sources): string[] =>
  Object.entries(all).flatMap(([path, source]) =>
    importsOf(source).flatMap(({ specifier = "" }) => {
      const target = targetOf(path, specifier);
      return target === undefined ? [] : [`${path} > ${target}`];
    }),
  );

/** Returns a sentence per import cycle; each is cut at its last edge to find the next. */
const fileCycles = (arrows: readonly string[]): string[] => {
  const left = new Set(arrows);
  const sentences: string[] = [];
  for (let cycle = findCycle(left); cycle !== undefined; cycle = findCycle(left)) {
    sentences.push(`${cycle.join(" > ")}: these files import each other in a circle; what both need goes into a file below both.`);
    left.delete(cycle.slice(-2).join(" > "));
  }
  return sentences;
};

/** Returns unused permissions of modules.json, which would invite new imports. */
const unused = ({ arrows, brought }: Survey): string[] =>
  Object.entries(plan.modules).flatMap(([module, { sees = [], seesTypesOf = [], packages = [], node = [] }]) => [
    ...[...sees, ...seesTypesOf]
      .filter((to) => !arrows.has(`${module} > ${to}`))
      .map((to) => `modules.json lets ${module} see ${to}, and it does not: take the arrow out.`),
    ...[...packages, ...node.map((name) => `node:${name}`)]
      .filter((name) => !brought.has(`${module} + ${name}`))
      .map((name) => `modules.json lets ${module} use ${name}, and it does not: take it out.`),
  ]);

const draw = ({ arrows, typeArrows }: Survey): string => {
  const short = (module: string): string => module.replace(/^server\//, "").replace(/\.ts$/, "");
  const lines = [...arrows].sort().map((arrow) => {
    const [from = "", to = ""] = arrow.split(" > ");
    return `  ${short(from)} ${typeArrows.has(arrow) ? "-.->" : "-->"} ${short(to)}`;
  });
  return `%% Who imports whom, tests aside; dotted: types alone. Drawn by test/modules.test.ts (npm run golden).\ngraph TD\n${lines.join("\n")}\n`;
};

const sources = readSources();
const found = survey(sources);

const none = (sentences: readonly string[]): void => assert.equal(sentences.length, 0, `\n${sentences.join("\n")}`);

test("every import of the project is allowed by modules.json", () => {
  none(found.wrongs);
});

test("the modules have no import cycle", () => {
  const cycle = findCycle(found.arrows);
  assert.equal(cycle, undefined, `The modules ${cycle?.join(" > ")} go round in a circle; one of these arrows has to go.`);
});

test("the files have no import cycle, including type imports", () => {
  const arrows = fileArrows(sources);
  assert.ok(arrows.length > 1000, `only ${arrows.length} imports between files were seen`);
  none(fileCycles(arrows));
});

test("modules.json allows nothing unused", () => {
  none(unused(found));
});

test("every module has files, and every import on its own line is found", () => {
  for (const module of Object.keys(plan.modules))
    assert.ok((found.counts.get(module) ?? 0) > 0, `No module of ${module} was seen; its rules hold for nothing.`);
  assert.ok((found.counts.get("test") ?? 0) > 0, "No module of test was seen.");
  // A second, simpler parser: in this format each import ends a line.
  let lines = 0;
  for (const [path, source] of Object.entries(sources)) {
    const seen = importsOf(source).map(({ specifier }) => specifier);
    for (const [, specifier] of source.matchAll(/^(?:import|export|\}) .*?(?:from |^import )"([^"\n]+)";$/gm)) {
      lines++;
      assert.ok(seen.includes(specifier), `${path} imports ${specifier}, and source.ts did not see it.`);
    }
  }
  assert.ok(lines > 500, `only ${lines} imports were seen`);
});

test("the import names in package.json are exactly the module entries", () => {
  const entries = Object.entries(plan.modules).flatMap(([module, { entry }]) => (entry === undefined ? [] : [[entry, module] as const]));
  const expected = Object.fromEntries(entries.map(([entry, module]) => [entry, entry.endsWith("/*") ? `./${module}/*` : `./${module}/index.ts`]));
  assert.deepEqual({ ...aliases }, expected);
});

/** For each rule, a module that violates it and the expected message. */
const planted: readonly (readonly [rule: string, path: string, source: string, violation: RegExp])[] = [
  ["an arrow that is not there", "server/db/planted.ts", 'import { list } from "#kernel";', /server\/db must not know server\/kernel/],
  ["types count as well", "server/db/planted.ts", 'import type { Kernel } from "#kernel";', /server\/db must not know server\/kernel/],
  ["upwards", "base/planted.ts", 'import { methods } from "#contract/catalog.ts";', /base must not know contract/],
  ["sideways", "server/transport/planted.ts", 'import { openStore } from "#db";', /transport must not know server\/db/],
  ["a type's arrow that carries more", "server/transport/planted.ts", 'import { makeServe } from "#kernel";', /sees only the types/],
  ["a value beside a type", "server/transport/planted.ts", 'import { makeServe, type Call } from "#kernel";', /sees only the types/],
  ["around the entry", "server/kernel/planted.ts", 'import { listRows } from "../db/list.ts";', /goes around an entry.*#db/],
  ["around the entry by a type", "server/kernel/verbs/planted.ts", 'import type { Row } from "../../store/handle.ts";', /goes around an entry/],
  [
    "around the entry over several lines",
    "server/kernel/planted.ts",
    'import {\n  type Row,\n  listRows,\n} from "../db/list.ts";',
    /planted\.ts:1 .*goes around an entry/,
  ],
  ["around the entry by an export", "server/kernel/planted.ts", 'export * from "../db/list.ts";', /goes around an entry/],
  ["around the entry by an export of names", "server/kernel/planted.ts", 'export { listRows } from "../db/list.ts";', /goes around an entry/],
  ["around the entry at run time", "server/kernel/planted.ts", 'const store = await import("../db/list.ts");', /goes around an entry/],
  ["around the entry for its effect", "server/kernel/planted.ts", 'import "../db/list.ts";', /goes around an entry/],
  [
    "behind a comment and a text",
    "server/kernel/planted.ts",
    '/* from "#base/x" */ const a = `${"`"}`; import { listRows } from "../db/list.ts";',
    /goes around an entry/,
  ],
  ["out of the project", "test/planted.ts", 'import { other } from "../../other/index.ts";', /leads out of the project/],
  ["from what runs into the tests", "server/kernel/planted.ts", 'import { openWorld } from "../../test/world.ts";', /nothing in it imports from there/],
  ["a test under what runs", "server/authn/planted.ts", 'import { serve } from "./testing.ts";', /does not lean on tests/],
  ["past the entry", "server/kernel/planted.ts", 'import { listRows } from "#db/list.ts";', /is no entry/],
  ["an entry that is not there", "server/kernel/planted.ts", 'import { help } from "#helpers";', /is no entry/],
  ["its own entry", "server/kernel/planted.ts", 'import { resource } from "#kernel";', /its own module/],
  ["a client that knows the server", "cli/login/planted.ts", 'import { readSettings } from "#application";', /cli\/login must not know server\/application/],
  ["a composition root that knows a client", "server/application/planted.ts", 'import { signIn } from "#login";', /must not know cli\/login/],
  ["a module that knows the command line", "server/application/planted.ts", 'import { runCommand } from "../../cli/program.ts";', /goes around an entry/],
  ["the driver in the command line", "cli/commands/planted.ts", 'import pg from "pg";', /"pg", which is not for cli/],
  ["the driver above the store", "server/kernel/planted.ts", 'import pg from "pg";', /"pg", which is not for server\/kernel/],
  ["messages in the store", "server/db/planted.ts", 'import { create } from "@bufbuild/protobuf";', /is not for server\/db/],
  ["messages in the kernel", "server/kernel/planted.ts", 'import { create } from "@bufbuild/protobuf";', /which is not for server\/kernel/],
  ["tokens outside of authn", "server/transport/planted.ts", 'import { jwtVerify } from "jose";', /"jose", which is not for server\/transport/],
  ["a part of a package", "server/outbox/planted.ts", 'import { x } from "undici/types.js";', /is not for server\/outbox/],
  ["what only tests may use", "server/authn/planted.ts", 'import fc from "fast-check";', /"fast-check", which is not for/],
  ["what nobody may use", "server/authn/planted.test.ts", 'import express from "express";', /"express", which is not for/],
  ["Node in base", "base/planted.ts", 'import { hash } from "node:crypto";', /nothing of Node's/],
  ["Node in the contract", "contract/planted.ts", 'import { readFileSync } from "node:fs";', /nothing of Node's/],
  ["files in the kernel", "server/kernel/planted.ts", 'import { readFile } from "node:fs/promises";', /is not for server\/kernel/],
  ["Node without its name", "server/db/planted.ts", 'import { join } from "path";', /write node:path/],
  ["required", "server/kernel/planted.ts", 'const { Client } = require("pg");', /"pg", which is not for/],
  ["resolved", "server/kernel/planted.ts", 'const where = import.meta.resolve("pg");', /"pg", which is not for/],
  ["Node's own by its function", "server/kernel/planted.ts", 'const { readFileSync } = process.getBuiltinModule("node:fs");', /is not for server\/kernel/],
  ["what cannot be seen through", "server/kernel/planted.ts", "const module = await import(name);", /cannot be seen through/],
  ["a machine's path", "server/kernel/planted.ts", 'import { x } from "/srv/x.js";', /path of one machine/],
  ["no module at all", "server/attic/planted.ts", "export const x = 1;", /is in no module/],
];

for (const [rule, path, source, violation] of planted) {
  test(`a planted violation is refused: ${rule}`, () => {
    const { wrongs } = survey({ [path]: source });
    assert.equal(wrongs.length, 1, `expected one violation, got ${JSON.stringify(wrongs)}`);
    assert.match(wrongs[0] ?? "", violation);
    assert.ok(wrongs[0]?.startsWith(path), "the violation names the file");
  });
}

test("a planted module cycle and an unused edge are found", () => {
  assert.deepEqual(findCycle(["a > b", "b > c", "c > a", "a > c"]), ["a", "b", "c", "a"]);
  assert.equal(findCycle(["a > b", "b > c", "a > c"]), undefined);
  const idle = unused(survey({ "server/outbox/planted.ts": 'import type { Write } from "#db";' }));
  assert.ok(idle.includes("modules.json lets server/outbox see base, and it does not: take the arrow out."));
  assert.ok(!idle.some((sentence) => sentence.includes("server/outbox see server/db")));
});

test("planted file cycles are found: by types, through an entry, over three files, and several at once", () => {
  const store = { "server/db/index.ts": 'export { listRows } from "./list.ts";', "server/db/list.ts": 'import type { Row } from "./rows.ts";' };
  const cyclesOf = (more: Sources): string[] => fileCycles(fileArrows({ ...store, ...more }));
  assert.deepEqual(cyclesOf({}), []);
  assert.match(
    cyclesOf({ "server/db/rows.ts": 'import type { Page } from "./list.ts";' }).join(),
    /^server\/db\/list\.ts > server\/db\/rows\.ts > server\/db\/list\.ts: /,
  );
  assert.match(cyclesOf({ "server/db/rows.ts": 'import { listRows } from "#db";' }).join(), /index\.ts > .*list\.ts > .*rows\.ts > .*index\.ts: /);
  const circles = { "base/a.ts": 'import "./b.ts";', "base/b.ts": 'import type { A } from "#base/a.ts";', "test/c.ts": 'export * from "./c.ts";' };
  assert.equal(cyclesOf(circles).length, 2);
  assert.deepEqual(cyclesOf({ "base/a.ts": 'import "./b.ts"; import { x } from "jose";', "base/b.ts": 'import { y } from "node:fs";' }), []);
});

test("the module diagram is current", () => {
  const picture = draw(found);
  if (process.env.GANTRY_GOLDEN === "accept") writeFileSync(picturePath, picture);
  assert.equal(readFileSync(picturePath, "utf8"), picture, "The modules have changed. If that is meant:  npm run golden");
});

test("the README of each domain lists its modules with their entries and importers", () => {
  const domains = [...new Set(Object.keys(plan.modules).flatMap((module) => /^server\/(\w+)\/\w+$/.exec(module)?.[1] ?? []))];
  assert.equal(domains.length, 6);
  for (const domain of domains) {
    const text = readFileSync(join(root, "server", domain, "README.md"), "utf8");
    const rows = [...text.matchAll(/^\| `(\w+)` \| [^|]+ \| `([^`]+)` \| ([^|]*) \|$/gm)].map(([, name = "", entry = "", importers = ""]) => [
      `server/${domain}/${name}`,
      entry,
      [...importers.matchAll(/`([^`]+)`/g)].map(([, importer = ""]) => `server/${importer}`).sort(),
    ]);
    const expected = Object.entries(plan.modules)
      .filter(([module]) => module.startsWith(`server/${domain}/`))
      .map(([module, { entry = "" }]) => [
        module,
        entry,
        Object.keys(plan.modules)
          .filter((other) => [...(plan.modules[other]?.sees ?? []), ...(plan.modules[other]?.seesTypesOf ?? [])].includes(module))
          .sort(),
      ]);
    assert.deepEqual(new Map(rows.map((row) => [row[0], row])), new Map(expected.map((row) => [row[0], row])), `server/${domain}/README.md`);
  }
});
