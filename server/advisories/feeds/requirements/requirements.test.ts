// Lists of libraries, held against what the ecosystems' own readers conclude of the same files, and what is refused of them.

import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { formatOfFile, readRequirements, type RequirementFormat } from "./index.ts";

const data = join(import.meta.dirname, "../../../../../shared/data/requirements");

const formats: Readonly<Record<string, RequirementFormat>> = {
  maven: "INPUT_FORMAT_MAVEN_GAV_LIST",
  poetry: "INPUT_FORMAT_POETRY_LOCK",
  requirements: "INPUT_FORMAT_REQUIREMENTS_TXT",
  uv: "INPUT_FORMAT_UV_LOCK",
};

// Made by test/requirements/conclude.py with pip 26.3 on all files of the folder.
const concluded = JSON.parse(readFileSync(join(import.meta.dirname, "../../../../test/requirements/concluded.json"), "utf8")) as Record<
  string,
  [string, string][]
>;

const sorted = (pairs: readonly (readonly [string, string])[]): string[] => [...new Set(pairs.map((pair) => JSON.stringify(pair)))].sort();

const formatOf = (file: string): RequirementFormat => formats[file.split("/")[0] ?? ""] ?? assert.fail(file);

test("every file gives the names and exact versions that its ecosystem's own reader concludes", {
  skip: !existsSync(data) && "shared/data is not here",
}, async () => {
  const files = globSync("*/*", { cwd: data }).sort();
  assert.deepEqual(files, Object.keys(concluded).sort());
  let exact = 0;
  for (const file of files) {
    const found = await readRequirements(formatOf(file), readFileSync(join(data, file), "utf8"), "content");
    const named = found.filter(({ name }) => name !== "").map(({ name, version }) => [name, version] as const);
    assert.deepEqual(sorted(named), sorted(concluded[file] ?? []), file);
    // Nobody is asked for what has no exact version.
    assert.ok(
      found.every(({ version, problem }) => version !== "" || problem !== ""),
      file,
    );
    exact += found.filter(({ problem }) => problem === "").length;
  }
  assert.ok(exact > 400, String(exact));
});

test("a file's name says its format, however its folder is called", { skip: !existsSync(data) && "shared/data is not here" }, () => {
  for (const file of globSync("*/*", { cwd: data })) assert.equal(formatOfFile(file.split("/").at(-1) ?? ""), formatOf(file), file);
  assert.equal(formatOfFile("requirements/base.txt"), "INPUT_FORMAT_REQUIREMENTS_TXT");
  assert.equal(formatOfFile("requirements-dev.txt"), "INPUT_FORMAT_REQUIREMENTS_TXT");
  assert.equal(formatOfFile("notes.txt"), undefined);
});

const refusal = async (format: RequirementFormat, content: string): Promise<string> => {
  try {
    await readRequirements(format, content, "content");
  } catch (thrown) {
    const detail = thrown instanceof Fault ? thrown.details.find(({ kind }) => kind === "fields") : undefined;
    if (detail?.kind === "fields") return detail.violations.map(({ field, description }) => `${field}: ${description}`).join("\n");
    throw thrown;
  }
  return "is taken";
};

const [pip, poetry, uv, maven] = ["requirements", "poetry", "uv", "maven"].map((name) => formats[name] ?? assert.fail()) as [
  RequirementFormat,
  RequirementFormat,
  RequirementFormat,
  RequirementFormat,
];

const lines = (count: number): string => Array.from({ length: count }, (_, index) => `a${index}==1`).join("\n");

test("what is no list of its format is refused with the line and the reason", async () => {
  for (const [format, content, wanted] of [
    [pip, "", "content: line 1: it requires no library"],
    [pip, "# a comment\n\n--no-index\n", "content: line 1: it requires no library"],
    [pip, "a==1\nb==\u00012", "content: line 2: must not contain control characters"],
    [pip, `a==1\n\n${"b".repeat(1_025)}==1`, "content: line 3: must have at most 1024 characters"],
    [pip, lines(limits.requestItemsMax + 1), "content: line 2001: exceeds the maximum of 2000 requirements in one list"],
    [poetry, "package = 3", "content: line 1: package must be a list of tables"],
    [poetry, '[[package]]\nversion = "1"', "content: line 1: the package has no name"],
    [poetry, '[[package]]\nname = "a"\nversion = "1"\n[[package]]\nname = "b"', "content: line 4: the package has no version"],
    [poetry, '[[package]]\nname = "../a"\nversion = "1"', "content: line 1: the package name is not a valid Python package name"],
    [uv, '[[package]]\nname = "a"\nversion = "1"\nsource = "git"', "content: line 1: the package's source must be a table"],
    [uv, "[[package]", "content: line 1: not valid TOML: expected end of table array declaration"],
    [maven, '<!DOCTYPE project [<!ENTITY x "y">]>\n<project/>', "content: line 1: must not have a document type or entities"],
    [maven, "<metadata/>", "content: line 1: is XML, but no POM: it has no project"],
    [maven, "<project><dependencies>", "content: line 1: not valid XML: it ends within an element"],
  ] as const)
    assert.equal(await refusal(format, content), wanted, JSON.stringify(content.slice(0, 60)));
  assert.equal(await refusal(pip, lines(limits.requestItemsMax)), "is taken");
});

test("names of prototypes are names, in every format", async () => {
  for (const [format, content] of [
    [pip, "constructor==1\nhasOwnProperty==2"],
    [poetry, '[[package]]\nname = "constructor"\nversion = "1"\n[[package]]\nname = "hasOwnProperty"\nversion = "2"'],
    [maven, "g:constructor:1\ng:__proto__:2"],
  ] as const) {
    const found = await readRequirements(format, content, "content");
    assert.equal(found.filter(({ problem }) => problem === "").length, 2, format);
  }
  assert.match(await refusal(poetry, "__proto__ = 1\n[constructor.prototype]\npackage = 1"), /it requires no library/);
});

test("a POM's properties that name each other without end stay short and are no version", async () => {
  const bomb = Array.from({ length: 30 }, (_, index) => `<p${index + 1}>\${p${index}}\${p${index}}</p${index + 1}>`).join("");
  const dependency = (version: string): string => `<dependency><groupId>g</groupId><artifactId>a</artifactId><version>${version}</version></dependency>`;
  const pom = (properties: string, version: string): string =>
    `<project><properties>${properties}</properties><dependencies>${dependency(version)}</dependencies></project>`;
  const [found] = await readRequirements(maven, pom(`<p0>1</p0>${bomb}`, "${p5}"), "content");
  assert.equal(found?.version, "1".repeat(32));
  for (const version of ["${p30}", "${long}${long}"]) {
    const long = `<long>${"1".repeat(100_000)}</long>`;
    const [endless] = await readRequirements(maven, pom(`<p0>1</p0>${bomb}${long}`, version), "content");
    assert.deepEqual([endless?.version, (endless?.text.length ?? 0) < 300], ["", true]);
  }
  const [circle] = await readRequirements(maven, pom("<a>${b}</a><b>${a}</b>", "${a}"), "content");
  assert.deepEqual([circle?.version, circle?.problem], ["", "has its version not in this file, or names no exact one"]);
});

test("what logs in somewhere is not kept of a requirement", async () => {
  const found = await readRequirements(
    pip,
    "a @ https://user:secret@example.com/a.zip?token=secret\n-e git+https://secret@example.com/b.git#egg=b\nhttps://u:secret@example.com/c.whl",
    "content",
  );
  assert.equal(found.length, 3);
  assert.doesNotMatch(JSON.stringify(found), /secret/);
  assert.deepEqual(
    found.map(({ name }) => name),
    ["a", "b", ""],
  );
});

test("Maven artifacts are read as tools print them", async () => {
  const found = await readRequirements(
    maven,
    "[INFO]    org.example:lib:jar:1.0:compile\norg.example:classified:jar:linux:2.0:test\norg.example:ranged:[1,2)\norg.example:exact:[3]\norg.example:none",
    "content",
  );
  assert.deepEqual(
    found.map(({ name, version }) => [name, version]),
    [
      ["org.example:lib", "1.0"],
      ["org.example:classified", "2.0"],
      ["org.example:ranged", ""],
      ["org.example:exact", "3"],
      ["org.example:none", ""],
    ],
  );
});
