// The walls of the house. rooms.json says which room may see which other, and what each may bring in from outside;
// this holds every import of the project against it, and holds itself against planted imports that must be refused.

import assert from "node:assert/strict";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, matchesGlob, posix } from "node:path";
import { test } from "node:test";
import { type Import, importsOf } from "./source.ts";

interface Room {
  /** How other rooms write it: "#store", or "#base/*" where every file is open. Without one nobody may enter. */
  readonly face?: string;
  readonly sees?: readonly string[];
  /** Rooms that exist for it while types are checked, and not when it runs. */
  readonly seesTypesOf?: readonly string[];
  readonly packages?: readonly string[];
  readonly packageTypes?: readonly string[];
  /** Modules of Node, without "node:". */
  readonly node?: readonly string[];
  /** It starts programs, so an import that cannot be seen through is its work. */
  readonly startsByPath?: boolean;
}

interface Plan {
  readonly rooms: Readonly<Record<string, Room>>;
  /** Which modules of a room are its tests, and what they may bring in besides. */
  readonly tests: { readonly files: readonly string[]; readonly packages: readonly string[] };
  /** What stands around the house and may look into every room. Nobody in it looks out. */
  readonly outside: Readonly<Record<string, { readonly packages: readonly string[] }>>;
}

/** Modules by path. */
type Sources = Readonly<Record<string, string>>;

const root = join(import.meta.dirname, "..");
const plan: Plan = JSON.parse(readFileSync(join(root, "rooms.json"), "utf8"));
const aliases: Readonly<Record<string, string>> = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).imports;
const picturePath = join(root, "test", "golden", "rooms.mmd");

const readSources = (): Sources => {
  const folders = [...Object.keys(plan.rooms), ...Object.keys(plan.outside)].map((name) => name.split("/")[0]);
  const paths = globSync(`{${[...new Set(folders)].join(",")}}/**/*.{ts,js,mts,mjs,cts,cjs}`, { cwd: root });
  return Object.fromEntries(paths.filter((path) => !path.endsWith(".d.ts")).sort().map((path) => [path, readFileSync(join(root, path), "utf8")]));
};

// ---- who is where ---------------------------------------------------------------------------------------------

const within = (place: string, path: string): boolean => path === place || path.startsWith(`${place}/`);

const roomOf = (path: string): string | undefined => Object.keys(plan.rooms).find((room) => within(room, path));
const outsideOf = (path: string): string | undefined => Object.keys(plan.outside).find((place) => within(place, path));
const isTest = (path: string): boolean => plan.tests.files.some((form) => matchesGlob(path, form));

/** "@scope/name/inner" and "name/inner" to the package's name. */
const packageOf = (specifier: string): string => specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/");

/** The room behind a face, written exactly as rooms.json has it. */
const roomBehind = (specifier: string): string | undefined =>
  Object.keys(plan.rooms).find((room) => {
    const face = plan.rooms[room]?.face;
    return face !== undefined && (face.endsWith("/*") ? specifier.startsWith(face.slice(0, -1)) : specifier === face);
  });

// ---- the rules ------------------------------------------------------------------------------------------------

/** What an import turns out to be: an arrow to a room, something from outside, or a wrong. */
type Verdict = { readonly arrow?: string; readonly brings?: string; readonly wrong?: string };

const relative = (path: string, specifier: string): Verdict => {
  const target = posix.join(posix.dirname(path), specifier);
  const [from, to] = [roomOf(path), roomOf(target)];
  if (outsideOf(path) !== undefined) return to !== undefined || outsideOf(target) !== undefined ? {} : { wrong: "leads out of the project's rooms" };
  if (from === to) return isTest(target) && !isTest(path) ? { wrong: "is a test, and what runs for users does not lean on tests" } : {};
  if (outsideOf(target) !== undefined) return isTest(path) ? {} : { wrong: "stands outside the house; nobody in it looks out" };
  return { wrong: `goes through a wall: another room is entered by its face${to && plan.rooms[to]?.face ? ` (${plan.rooms[to].face})` : ""}` };
};

const crossing = (path: string, { specifier = "", typesOnly }: Import): Verdict => {
  const to = roomBehind(specifier);
  if (to === undefined) return { wrong: "is no face of a room in rooms.json" };
  const from = roomOf(path);
  if (from === undefined) return {};
  if (from === to) return isTest(path) ? {} : { wrong: "goes out by the room's own door to come in again: import the file itself" };
  const { sees = [], seesTypesOf = [] } = plan.rooms[from] ?? {};
  if (sees.includes(to) || (isTest(path) && seesTypesOf.includes(to))) return { arrow: to };
  if (seesTypesOf.includes(to)) return typesOnly ? { arrow: to } : { wrong: `is more than a type: ${from} sees only the types of ${to} (import type)` };
  return { wrong: `is an arrow that rooms.json does not have: ${from} must not know ${to}` };
};

const foreign = (path: string, { specifier = "", typesOnly }: Import): Verdict => {
  const from = roomOf(path);
  const room = from === undefined ? undefined : plan.rooms[from];
  if (isBuiltin(specifier)) {
    const name = specifier.replace(/^node:/, "");
    if (!specifier.startsWith("node:")) return { wrong: `is Node's own: write node:${name}` };
    if (room === undefined || isTest(path)) return {};
    return room.node?.includes(name) ? { brings: specifier } : { wrong: `is not for ${from}, which may use ${room.node?.map((each) => `node:${each}`).join(", ") || "nothing of Node's"}` };
  }
  const name = packageOf(specifier);
  const extra = isTest(path) ? plan.tests.packages : (plan.outside[outsideOf(path) ?? ""]?.packages ?? []);
  if (extra.includes(name)) return {};
  if (room?.packages?.includes(name)) return { brings: name };
  if (room?.packageTypes?.includes(name)) return typesOnly ? { brings: name } : { wrong: `is more than a type: ${from} uses only the types of ${name} (import type)` };
  return { wrong: `is not for ${from ?? outsideOf(path)}, which may use ${room?.packages?.join(", ") || extra.join(", ") || "no package"}` };
};

const judge = (path: string, each: Import): Verdict => {
  const { specifier } = each;
  if (specifier === undefined) return plan.rooms[roomOf(path) ?? ""]?.startsByPath ? {} : { wrong: "cannot be seen through: import by a plain text" };
  if (specifier.startsWith(".")) return relative(path, specifier);
  if (specifier.startsWith("/") || specifier.startsWith("file:")) return { wrong: "is a path of one machine" };
  return specifier.startsWith("#") ? crossing(path, each) : foreign(path, each);
};

interface Survey {
  /** One sentence for each import that breaks a rule. */
  readonly wrongs: readonly string[];
  /** Modules of each room, tests aside; of each place outside all of them. */
  readonly counts: ReadonlyMap<string, number>;
  /** "from > to" between rooms, tests aside. */
  readonly arrows: ReadonlySet<string>;
  /** Those of the arrows that types alone walk. */
  readonly typeArrows: ReadonlySet<string>;
  /** "room + what it brings in". */
  readonly brought: ReadonlySet<string>;
}

const survey = (sources: Sources): Survey => {
  const wrongs: string[] = [];
  const counts = new Map<string, number>();
  const arrows = new Set<string>();
  const firm = new Set<string>();
  const brought = new Set<string>();
  for (const [path, source] of Object.entries(sources)) {
    const room = roomOf(path);
    const place = room ?? outsideOf(path);
    if (place === undefined) {
      wrongs.push(`${path} is in no room: give it one, or give rooms.json a new one.`);
      continue;
    }
    if (!isTest(path) || room === undefined) counts.set(place, (counts.get(place) ?? 0) + 1);
    for (const each of importsOf(source)) {
      const { arrow, brings, wrong } = judge(path, each);
      if (wrong !== undefined) wrongs.push(`${path}:${each.line} imports ${each.specifier === undefined ? "something" : JSON.stringify(each.specifier)}, which ${wrong}.`);
      if (room === undefined || isTest(path)) continue;
      if (brings !== undefined) brought.add(`${room} + ${brings}`);
      if (arrow === undefined) continue;
      arrows.add(`${room} > ${arrow}`);
      if (!each.typesOnly) firm.add(`${room} > ${arrow}`);
    }
  }
  return { wrongs, counts, arrows, brought, typeArrows: new Set([...arrows].filter((arrow) => !firm.has(arrow))) };
};

/** A way from a room back to itself, or undefined. */
const findCycle = (arrows: Iterable<string>): string[] | undefined => {
  const next = new Map<string, string[]>();
  for (const arrow of arrows) {
    const [from = "", to = ""] = arrow.split(" > ");
    next.set(from, [...(next.get(from) ?? []), to]);
  }
  const done = new Set<string>();
  const walk = (room: string, way: readonly string[]): string[] | undefined => {
    if (way.includes(room)) return [...way.slice(way.indexOf(room)), room];
    if (done.has(room)) return undefined;
    for (const other of next.get(room) ?? []) {
      const cycle = walk(other, [...way, room]);
      if (cycle) return cycle;
    }
    done.add(room);
    return undefined;
  };
  for (const room of next.keys()) {
    const cycle = walk(room, []);
    if (cycle) return cycle;
  }
  return undefined;
};

/** What rooms.json allows and nobody does. An arrow that is not walked is an invitation. */
const unused = ({ arrows, brought }: Survey): string[] =>
  Object.entries(plan.rooms).flatMap(([room, { sees = [], seesTypesOf = [], packages = [], packageTypes = [], node = [] }]) => [
    ...[...sees, ...seesTypesOf].filter((to) => !arrows.has(`${room} > ${to}`)).map((to) => `rooms.json lets ${room} see ${to}, and it does not: take the arrow out.`),
    ...[...packages, ...packageTypes, ...node.map((name) => `node:${name}`)]
      .filter((name) => !brought.has(`${room} + ${name}`))
      .map((name) => `rooms.json lets ${room} use ${name}, and it does not: take it out.`),
  ]);

const draw = ({ arrows, typeArrows }: Survey): string => {
  const short = (room: string): string => room.replace(/^server\//, "").replace(/\.ts$/, "");
  const lines = [...arrows].sort().map((arrow) => {
    const [from = "", to = ""] = arrow.split(" > ");
    return `  ${short(from)} ${typeArrows.has(arrow) ? "-.->" : "-->"} ${short(to)}`;
  });
  return `%% Who imports whom, tests aside; dotted: types alone. Drawn by test/rooms.test.ts (npm run golden).\ngraph TD\n${lines.join("\n")}\n`;
};

// ---- the tests ------------------------------------------------------------------------------------------------

const sources = readSources();
const found = survey(sources);

const none = (sentences: readonly string[]): void => assert.equal(sentences.length, 0, `\n${sentences.join("\n")}`);

test("every import of the project keeps to the walls of rooms.json", () => {
  none(found.wrongs);
});

test("no room can be reached from itself through others", () => {
  const cycle = findCycle(found.arrows);
  assert.equal(cycle, undefined, `The rooms ${cycle?.join(" > ")} go round in a circle; one of these arrows has to go.`);
});

test("rooms.json allows nothing that nobody does", () => {
  none(unused(found));
});

test("every room holds modules, and each import that stands on a line of its own is seen", () => {
  for (const room of Object.keys(plan.rooms)) assert.ok((found.counts.get(room) ?? 0) > 0, `No module of ${room} was seen; the walls around it guard nothing.`);
  assert.ok((found.counts.get("test") ?? 0) > 0, "No module of test was seen.");
  // A second, simpler reader: as this project formats its imports, each ends a line.
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

test("every short name of package.json is the face of a room, and the other way round", () => {
  const faces = Object.entries(plan.rooms).flatMap(([room, { face }]) => (face === undefined ? [] : [[face, room] as const]));
  const expected = Object.fromEntries(faces.map(([face, room]) => [face, face.endsWith("/*") ? `./${room}/*` : `./${room}/index.ts`]));
  assert.deepEqual({ ...aliases }, expected);
});

/** Each rule once: a module that breaks it, and the words that it must be answered with. */
const planted: readonly (readonly [rule: string, path: string, source: string, reproach: RegExp])[] = [
  ["an arrow that is not there", "server/store/planted.ts", 'import { list } from "#kernel";', /server\/store must not know server\/kernel/],
  ["types count as well", "server/store/planted.ts", 'import type { Kernel } from "#kernel";', /server\/store must not know server\/kernel/],
  ["upwards", "base/planted.ts", 'import { methods } from "#contract/catalog.ts";', /base must not know contract/],
  ["sideways", "server/transport/planted.ts", 'import { openStore } from "#store";', /transport must not know server\/store/],
  ["a type's arrow that carries more", "server/transport/planted.ts", 'import { makeServe } from "#kernel";', /sees only the types/],
  ["a value beside a type", "server/transport/planted.ts", 'import { makeServe, type Call } from "#kernel";', /sees only the types/],
  ["through the wall", "server/kernel/planted.ts", 'import { listRows } from "../store/list.ts";', /goes through a wall.*#store/],
  ["through the wall by a type", "server/kernel/verbs/planted.ts", 'import type { Row } from "../../store/handle.ts";', /goes through a wall/],
  ["through the wall over several lines", "server/kernel/planted.ts", 'import {\n  type Row,\n  listRows,\n} from "../store/list.ts";', /planted\.ts:1 .*goes through a wall/],
  ["through the wall by an export", "server/kernel/planted.ts", 'export * from "../store/list.ts";', /goes through a wall/],
  ["through the wall by an export of names", "server/kernel/planted.ts", 'export { listRows } from "../store/list.ts";', /goes through a wall/],
  ["through the wall at run time", "server/kernel/planted.ts", 'const store = await import("../store/list.ts");', /goes through a wall/],
  ["through the wall for its effect", "server/kernel/planted.ts", 'import "../store/list.ts";', /goes through a wall/],
  ["behind a comment and a text", "server/kernel/planted.ts", '/* from "#base/x" */ const a = `${"`"}`; import { listRows } from "../store/list.ts";', /goes through a wall/],
  ["out of the project", "test/planted.ts", 'import { other } from "../../other/index.ts";', /leads out of the project/],
  ["out of the house", "server/kernel/planted.ts", 'import { openWorld } from "../../test/world.ts";', /nobody in it looks out/],
  ["a test under what runs", "server/authn/planted.ts", 'import { serve } from "./testing.ts";', /does not lean on tests/],
  ["past the face", "server/kernel/planted.ts", 'import { listRows } from "#store/list.ts";', /is no face/],
  ["a face that is not there", "server/kernel/planted.ts", 'import { help } from "#helpers";', /is no face/],
  ["its own face", "server/kernel/planted.ts", 'import { resource } from "#kernel";', /own door/],
  ["the driver above the store", "server/kernel/planted.ts", 'import pg from "pg";', /"pg", which is not for server\/kernel/],
  ["messages in the store", "server/store/planted.ts", 'import { create } from "@bufbuild/protobuf";', /is not for server\/store/],
  ["messages in the kernel", "server/kernel/planted.ts", 'import { create } from "@bufbuild/protobuf";', /only the types/],
  ["tokens outside of authn", "server/transport/planted.ts", 'import { jwtVerify } from "jose";', /"jose", which is not for server\/transport/],
  ["a part of a package", "server/outbox/planted.ts", 'import { x } from "undici/types.js";', /is not for server\/outbox/],
  ["what only tests may use", "server/authn/planted.ts", 'import fc from "fast-check";', /"fast-check", which is not for/],
  ["what nobody may use", "server/authn/planted.test.ts", 'import express from "express";', /"express", which is not for/],
  ["Node in base", "base/planted.ts", 'import { hash } from "node:crypto";', /nothing of Node's/],
  ["Node in the contract", "contract/planted.ts", 'import { readFileSync } from "node:fs";', /nothing of Node's/],
  ["files in the kernel", "server/kernel/planted.ts", 'import { readFile } from "node:fs/promises";', /is not for server\/kernel/],
  ["Node without its name", "server/store/planted.ts", 'import { join } from "path";', /write node:path/],
  ["required", "server/kernel/planted.ts", 'const { Client } = require("pg");', /"pg", which is not for/],
  ["resolved", "server/kernel/planted.ts", 'const where = import.meta.resolve("pg");', /"pg", which is not for/],
  ["what cannot be seen through", "server/kernel/planted.ts", "const room = await import(name);", /cannot be seen through/],
  ["a machine's path", "server/kernel/planted.ts", 'import { x } from "/srv/x.js";', /path of one machine/],
  ["no room at all", "server/attic/planted.ts", "export const x = 1;", /is in no room/],
];

for (const [rule, path, source, reproach] of planted) {
  test(`planted and refused: ${rule}`, () => {
    const { wrongs } = survey({ [path]: source });
    assert.equal(wrongs.length, 1, `expected one reproach, got ${JSON.stringify(wrongs)}`);
    assert.match(wrongs[0] ?? "", reproach);
    assert.ok(wrongs[0]?.startsWith(path), "the reproach names the file");
  });
}

test("planted and found: a circle of rooms, and an arrow that nobody walks", () => {
  assert.deepEqual(findCycle(["a > b", "b > c", "c > a", "a > c"]), ["a", "b", "c", "a"]);
  assert.equal(findCycle(["a > b", "b > c", "a > c"]), undefined);
  const bare = unused(survey({ "server/outbox/planted.ts": 'import type { Write } from "#store";' }));
  assert.ok(bare.includes("rooms.json lets server/outbox see base, and it does not: take the arrow out."));
  assert.ok(!bare.some((sentence) => sentence.includes("server/outbox see server/store")));
});

test("the picture of the rooms is current", () => {
  const picture = draw(found);
  if (process.env.GANTRY_GOLDEN === "accept") writeFileSync(picturePath, picture);
  assert.equal(readFileSync(picturePath, "utf8"), picture, "The rooms have changed. If that is meant:  npm run golden");
});
