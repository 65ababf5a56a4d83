// Style rules of the project that a program can check. Each rule is a function from a file to its violations, applied to all
// files, and tested with planted violations, because a rule that finds nothing is worse than none.

import assert from "node:assert/strict";
import { basename, join } from "node:path";
import { test } from "node:test";
import { settingNames } from "#application";
import { binaryFiles, files, isCode, isOurs, isTest } from "./project-files.ts";
import { codeOf, literalsOf, type Token, tokensOf } from "./source.ts";
import { storeForm } from "./tables.ts";

type Rule = (path: string, content: string) => readonly string[];

interface FileRule {
  readonly title: string;
  /** Returns whether the rule applies to a file. */
  readonly about: (path: string) => boolean;
  readonly rule: Rule;
  /** Violating files with the expected message. Strings are split if the rule reads this file too. */
  readonly planted: readonly (readonly [path: string, content: string, violation: RegExp])[];
  readonly fine: readonly (readonly [path: string, content: string])[];
}

const isKernel = (path: string): boolean => path.startsWith("server/kernel/") && isCode(path) && !isTest(path);

const at = (path: string, line: number): string => `${path}:${line}`;

const eachToken =
  (wrong: (token: Token, before: Token | undefined, after: Token | undefined) => string | undefined): Rule =>
  (path, content) =>
    codeOf(content).flatMap((token, index, all) => {
      const why = wrong(token, all[index - 1], all[index + 1]);
      return why === undefined ? [] : [`${at(path, token.line)} ${why}`];
    });

const eachLine =
  (forms: readonly RegExp[], why: string): Rule =>
  (path, content) =>
    content
      .split("\n")
      .flatMap((line, index) => (forms.some((form) => form.test(line)) ? [`${at(path, index + 1)} ${why}: ${line.trim().slice(0, 100)}`] : []));

const isWord = (token: Token | undefined, value: string): boolean => token?.kind === "word" && token.value === value;
const isMark = (token: Token | undefined, value: string): boolean => token?.kind === "mark" && token.value === value;

// Only as a type; a function may be named any.
const noAny = eachToken((token, before, after) => {
  const named = isMark(before, ".") || isMark(after, ":") || isMark(after, "(") || ["const", "let", "function"].some((each) => isWord(before, each));
  return isWord(token, "any") && !named ? "says any: say unknown, and find out what it is" : undefined;
});

const noDefaultExport = eachToken((token, before) =>
  isWord(token, "default") && (isWord(before, "export") || isWord(before, "as"))
    ? "exports a default: a thing has one name, wherever it is imported"
    : undefined,
);

const noEnum = eachToken((token, before, after) =>
  isWord(token, "enum") && !isMark(before, ".") && after?.kind === "word" ? "declares an enum: a union of texts needs no code, and no build" : undefined,
);

const callsOf = (content: string): ReadonlySet<string> =>
  new Set(codeOf(content).flatMap((token, index, all) => (token.kind === "word" && isMark(all[index + 1], "(") ? [token.value] : [])));

const removesFolders: Rule = (path, content) => {
  const calls = callsOf(content);
  const [makes, removes] = [
    ["mkdtemp", "mkdtempSync"],
    ["rm", "rmSync"],
  ].map((names) => names.some((name) => calls.has(name)));
  return makes && !removes ? [`${path} makes a folder in the temporary directory and leaves it there: remove it when the test ends`] : [];
};

const opensWithComment: Rule = (path, content) => {
  const first = path.endsWith(".proto") || path.endsWith(".sql") || path.startsWith(".ci/") ? content.replace(/^#!.*\n/, "") : undefined;
  const opened = first === undefined ? tokensOf(content)[0]?.kind === "comment" : /^\s*(?:\/\/|--|#)/.test(first);
  return opened ? [] : [`${path} does not say what it is for: open it with a comment of one to five lines`];
};

const emptyNames = new Set(["utils", "util", "helpers", "helper", "common", "manager", "service", "impl", "types", "misc", "shared", "lib"]);
const tellingName: Rule = (path) => {
  const name = basename(path).replace(/\..*$/, "");
  return emptyNames.has(name) ? [`${path} could hold anything: name it for the one idea in it`] : [];
};

// Unambiguous code; prose may contain a semicolon.
const codeForms = [
  /^(?:import|export)\b.*["'];?$/,
  /^(?:const|let|var)\s+[\w$[{].*=/,
  /^(?:if|for|while|switch)\s*\(.*\)\s*\{?$/,
  /^return\b.*;$/,
  /^(?:await\s+)?[\w$.]+\(.*\);$/,
  /^[\w$.]+\s*[+-]?=\s.*;$/,
  /^\}(?:\s*else\b.*)?[;)]*$/,
];
const noDeadCode: Rule = (path, content) =>
  tokensOf(content).flatMap(({ kind, value, line }) => {
    // Documentation may contain an example.
    if (kind !== "comment" || value.startsWith("/**")) return [];
    return value.split("\n").flatMap((text, index) => {
      const plain = text
        .replace(/^\s*(?:\/\/|\/\*|\*\/|\*)?/, "")
        .replace(/\*\/\s*$/, "")
        .trim();
      return codeForms.some((form) => form.test(plain))
        ? [`${at(path, line + index)} keeps code in a comment; the history of the project keeps it better: ${plain}`]
        : [];
    });
  });

const openEnds: Rule = (path, content) =>
  tokensOf(content).flatMap(({ kind, value, line }) => {
    if (kind !== "comment") return [];
    if (/\bFIXME\b/.test(value)) return [`${at(path, line)} says FIXME: fix it, or say whose it is with TODO(name or number)`];
    if (/\bTODO\b(?!\([\w#-]+\))/.test(value)) return [`${at(path, line)} has a TODO that is nobody's: TODO(name or number)`];
    if (/@ts-ignore|@ts-nocheck|eslint-disable/.test(value))
      return [`${at(path, line)} silences a check for good: @ts-expect-error or biome-ignore, with the reason`];
    if (/@ts-expect-error\s*$|biome-ignore[^:]*$|biome-ignore[^:]*:\s*$/.test(value.split("\n")[0] ?? ""))
      return [`${at(path, line)} silences a check without saying why`];
    return [];
  });

const everyTestRuns = eachToken((token, before, after) => {
  if (token.kind === "word" && ["only", "skip", "todo"].includes(token.value) && isMark(before, ".") && isMark(after, "("))
    return `leaves tests out (.${token.value}): a test runs, or it is not there`;
  return undefined;
});

const titlesGuarantee: Rule = (path, content) =>
  codeOf(content).flatMap((token, index, all) => {
    const called = isMark(all[index - 1], "(") && (isWord(all[index - 2], "test") || isWord(all[index - 2], "it"));
    const title = called && (token.kind === "text" || token.kind === "template") ? token.value : "";
    return /^should\b|\bshould (?:not |never |always )?(?:be|have|work|return|throw|do|fail|accept|reject|refuse|allow|give|get)\b/.test(title)
      ? [`${at(path, token.line)} hopes ("should"): a title states what is guaranteed`]
      : [];
  });

const noConsole = eachToken((token, before) => (isWord(token, "console") && !isMark(before, ".") ? "writes to the console: the log is handed in" : undefined));

// Split, because this file is checked too.
const machinePaths = [new RegExp(`(?<![\\w.])/(?:${["home", "Users"].join("|")})/[a-z]`), new RegExp(`(?<![\\w.])/${"wo"}rk/`), /\b[A-Z]:\\\\[A-Za-z]/];
const noMachinePath = eachLine(machinePaths, "names a path of one machine");

const registryHosts = [
  ["registry", "npmjs", "org"],
  ["registry", "yarnpkg", "com"],
  ["npm", "pkg", "github", "com"],
  ["pkgs", "dev", "azure", "com"],
  ["jfrog", "io"],
  ["npmmirror", "com"],
];
const noRegistryHost = eachLine(
  [...registryHosts.map((host) => new RegExp(`\\b${host.join("\\.")}\\b`)), new RegExp(`_auth${"Token"}|^\\s*regis${"try"}\\s*=`)],
  "names a package registry; which one is used is the machine's affair",
);

interface LockEntry {
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const portableLock: Rule = (path, content) => {
  const { packages } = JSON.parse(content) as { packages: Readonly<Record<string, LockEntry>> };
  const named = new Set(Object.keys(packages).map((name) => name.replace(/^.*node_modules\//, "")));
  return Object.entries(packages).flatMap(([name, { resolved, integrity, link, dev, optional, optionalDependencies = {} }]) => [
    ...(resolved === undefined
      ? []
      : [`${path}: ${name} is bound to ${resolved.replace(/^(\w+:\/\/[^/]+).*$/, "$1")}: npm install --omit-lockfile-registry-resolved`]),
    // Packages that a registry lacks have no checksum (tools/lock.ts).
    ...(integrity !== undefined || name === "" || link || (dev && optional) ? [] : [`${path}: ${name} has no integrity: nobody would notice another content`]),
    ...Object.keys(optionalDependencies)
      .filter((each) => !named.has(each))
      .map((each) => `${path}: ${each} of ${name || "the project"} is not named, and npm ci refuses that: npm run lock`),
  ]);
};

const declared = [...files]
  .filter(([path]) => /^server\/\w+\/resources\//.test(path))
  .flatMap(([, content]) => [
    ...[...content.matchAll(/^ {2}table: "(\w+)"/gm)].map(([, name = ""]) => name),
    ...[...content.matchAll(/^ {2}message: "[\w.]+\.(\w+)"/gm)].map(([, name = ""]) => name),
  ]);
const resourceNames = new Set(declared);

/** Resources that the kernel still names. This list only shrinks. */
const knownInKernel = new Set([
  // The platform defines the uidp filter in terms of groups.
  "server/kernel/select.ts Group",
  // An error names a group only to callers who may see groups there (decisions: Access).
  "server/kernel/permit.ts groups",
]);

const namesInKernel = (path: string, content: string): { line: number; name: string }[] =>
  codeOf(content)
    .flatMap((token, index, all) => {
      if (isWord(all[index - 1], "from") || !["word", "text", "template"].includes(token.kind)) return [];
      return (token.value.match(/[A-Za-z_]+/g) ?? []).filter((name) => resourceNames.has(name)).map((name) => ({ line: token.line, name }));
    })
    .filter(({ name }) => !knownInKernel.has(`${path} ${name}`));
const kernelKnowsNone: Rule = (path, content) =>
  namesInKernel(path, content).map(
    ({ line, name }) => `${at(path, line)} knows ${name}: the kernel serves every resource alike; code for one resource belongs in its domain`,
  );

const linkForm = /\]\(([^)\s]+)\)/g;
const linksLead: Rule = (path, content) =>
  [...content.matchAll(linkForm)].flatMap(([, target = ""]) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [file = "", anchor] = target.split("#");
    const reached = file === "" ? path : join(path, "..", file);
    const known = files.has(reached) || binaryFiles.has(reached) || [...files.keys()].some((each) => each.startsWith(`${reached.replace(/\/$/, "")}/`));
    if (!known) return [`${path} links to ${target}, which is not there`];
    const headings = [...(files.get(reached) ?? "").matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    );
    return anchor === undefined || headings.includes(anchor) ? [] : [`${path} links to ${target}, which has no such heading`];
  });

/** Random choices in tests follow from the printed seed (test/length.ts). */
const choosesBySeed = eachToken((token, before, after) => {
  if (isWord(token, "random") && isMark(before, ".") && isMark(after, "("))
    return "chooses by a chance that nobody can repeat: randomNumbers of test/length.ts";
  return token.kind === "text" && token.value === "fast-check" && isWord(before, "from")
    ? "takes fast-check past the seed of the run: test/property.ts"
    : undefined;
});

const columnsMax = 160;
const isGeneratedGo = (path: string): boolean => /\.pb(?:\.gw)?\.go$/.test(path);
const shortLines: Rule = (path, content) =>
  (isGeneratedGo(path) ? "" : content)
    .split("\n")
    .flatMap((line, index) => ([...line].length > columnsMax ? [`${at(path, index + 1)} has ${[...line].length} columns; a line ends at ${columnsMax}`] : []));

// The start of a statement, or its middle if preceded by something else. SQL is lower-case.
const statementForms = [
  /^\s*(?:with (?:recursive )?\w+(?: \([\w, ]+\))? as\b|select\s[\s\S]*(?:\sfrom\s|\()|insert into\s|truncate\s|lock table\s)/,
  /^\s*(?:copy \S+ (?:from|to)\s|vacuum\b|notify \w|listen \w|set (?:local|session)\b|begin\b(?:;| isolation| transaction)|commit;|rollback;)/,
  /^\s*update (?:only )?[\w$.{}"]+\s+(?:(?:as )?\w+\s+)?set\b/,
  /^\s*(?:create|alter|drop) (?:unique |temporary |temp )?(?:table|index|view|function|trigger|role|database|schema|extension|sequence|type)\b/,
  /\bselect\s[\s\S]*\sfrom\s+(?:\w+\b|\$\{\}|\()|\binsert into\s+(?:\w+|\$\{\})\s*(?:\(|\$\{\}|select|values)/,
  /\bdelete from\s+(?:\w+|\$\{\})(?:\s+(?:as\s+)?(?:\w+\s+)?(?:where|using|returning)\b|\s*$)/,
];
const noSqlAbove: Rule = (path, content) =>
  literalsOf(content).flatMap(({ value, line }) =>
    statementForms.some((form) => form.test(value))
      ? [`${at(path, line)} holds SQL, which belongs to the file of a store that owns the table: ${value.trim().replace(/\s+/g, " ").slice(0, 80)}`]
      : [],
  );
/** Reads databases that others wrote. */
const foreignSql = "server/registry/contents/databases/rpm-sqlite.ts";
const maySpeakSql = (path: string): boolean => storeForm.test(path) || path === foreignSql || /^(?:server\/postgres|test|bench|tools)\//.test(path);

// Terms that the project no longer uses, with their replacements.
const withdrawnWords: ReadonlyMap<string, string> = new Map([
  ["house", "services, the application, or the architecture"],
  ["room", "a module"],
  ["door", "a transport, a protocol or an endpoint"],
  ["doorway", "the server context"],
  ["quarters", "the data directory, or where PostgreSQL is installed"],
  ["witness", "the access version"],
  ["upkeep", "maintenance"],
  ["particulars", "the resource definition"],
  ["settle", "complete, or what it does"],
  ["takeup", "enqueue, or fan out"],
]);
const singular = (word: string): string => (word === "quarters" || word === "particulars" ? word : word.replace(/(?<=witness)es$|(?<=[a-rt-z])s$/, ""));
const replacementOf = (word: string): string | undefined => withdrawnWords.get(singular(word.toLowerCase()));

/** Splits "takeUpEvents" and "TAKE_UP" into words; a withdrawn compound stays together. */
const partsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .split(/[^A-Za-z0-9]+/)
    .map((part) => part.toLowerCase())
    .flatMap((part, index, all) => [part, ...(part === "take" && all[index + 1] === "up" ? ["takeup"] : [])]);
/** Not a module: "makes room", "there is room". */
const otherRoom = /\b(?:makes?|making|made|keeps?|leaves?|has|have|is|no|more|enough) room\b/gi;
const wordsOf = (text: string): string[] =>
  text
    .replace(otherRoom, "")
    .replace(/\btake-up\b/gi, "takeup")
    .match(/[A-Za-z]+/g) ?? [];

const withdrawn = (path: string, line: number, words: readonly string[]): string[] =>
  words.flatMap((word) => {
    const replacement = replacementOf(word);
    return replacement === undefined ? [] : [`${at(path, line)} says ${JSON.stringify(word)}, a word that was withdrawn: say ${replacement}`];
  });
const eachTextLine = (path: string, line: number, text: string): string[] =>
  text.split("\n").flatMap((each, index) => withdrawn(path, line + index, wordsOf(each)));
const fieldsWords: Rule = (path, content) => [
  ...withdrawn(path, 1, partsOf(path)),
  ...(isCode(path)
    ? tokensOf(content).flatMap(({ kind, value, line }) =>
        kind === "word" ? withdrawn(path, line, partsOf(value)) : kind === "number" || kind === "mark" ? [] : eachTextLine(path, line, value),
      )
    : eachTextLine(path, 1, content)),
];

const fileRules: readonly FileRule[] = [
  {
    title: "nothing has the type any",
    about: isCode,
    rule: noAny,
    planted: [
      ["base/x.ts", "const read = (value: any) => value;", /base\/x\.ts:1 says any/],
      ["base/x.ts", "\nlet list: Array<any>;", /x\.ts:2/],
      ["base/x.ts", "const y = x as any;", /any/],
    ],
    fine: [["base/x.ts", 'const kinds = { any: "any value" }; // any\nawait Promise.any([]);\nconst any = (x: number) => x; any(1);']],
  },
  {
    title: "nothing is a default export",
    about: isCode,
    rule: noDefaultExport,
    planted: [
      ["base/x.ts", "export default 1;", /exports a default/],
      ["base/x.ts", "export { x as default };", /exports a default/],
    ],
    fine: [["base/x.ts", 'import pg from "pg"; switch (a) { default: break; }']],
  },
  {
    title: "nothing is an enum",
    about: isCode,
    rule: noEnum,
    planted: [
      ["base/x.ts", "enum Colour { Red }", /declares an enum/],
      ["base/x.ts", "export const enum Colour { Red }", /declares an enum/],
    ],
    fine: [["base/x.ts", "const x = { enum: field.enum?.names };"]],
  },
  {
    title: "every file opens by saying what it is for",
    about: (path) => isOurs(path) && !isTest(path) && /\.(?:ts|js|sql)$|^\.ci\/|^contract\/proto\/gantry\/.*\.proto$/.test(path),
    rule: opensWithComment,
    planted: [
      ["base/x.ts", "export const x = 1;", /does not say what it is for/],
      ["server/db/migrations/0001_x.sql", "create table x ();", /does not say/],
    ],
    fine: [
      ["bin/x.js", "#!/usr/bin/env node\n// Runs.\n"],
      [".ci/x", "#!/bin/bash\n# Runs.\n"],
    ],
  },
  {
    title: "no file has a name that says nothing",
    about: (path) => isOurs(path) && !path.startsWith("contract/proto/"),
    rule: tellingName,
    planted: [
      ["base/utils.ts", "", /could hold anything/],
      ["server/kernel/types.ts", "", /could hold anything/],
      ["test/helpers.test.ts", "", /could hold anything/],
    ],
    fine: [["base/uid.ts", ""]],
  },
  {
    title: "no comment holds code",
    about: isCode,
    rule: noDeadCode,
    planted: [
      ["base/x.ts", "// const x = 1;", /keeps code in a comment/],
      ["base/x.ts", "/*\n  if (x) {\n  }\n*/", /x\.ts:2/],
      ["base/x.ts", "f();\n// await store.close();", /x\.ts:2/],
    ],
    fine: [["base/x.ts", "// Read once; kept after that. If (and only if) it is there, return it.\n/** const x = 1; */"]],
  },
  {
    title: "no comment leaves an end open that is nobody's",
    about: isCode,
    rule: openEnds,
    planted: [
      ["base/x.ts", `// TO${"DO"} later`, /nobody's/],
      ["base/x.ts", `// FIX${"ME"}`, /fix it/],
      ["base/x.ts", `// @ts-${"ignore"} because`, /for good/],
      ["base/x.ts", `// @ts-expect-${"error"}`, /without saying why/],
      ["base/x.ts", `// biome-${"ignore"} lint/x`, /without saying why/],
    ],
    fine: [["base/x.ts", `// TO${"DO"}(#12) later\n// @ts-expect-${"error"} the driver's types leave it out`]],
  },
  {
    title: "every test runs",
    about: (path) => (isCode(path) && !path.startsWith("server/")) || isTest(path),
    rule: everyTestRuns,
    planted: [
      ["test/x.test.ts", 'test.only("x", () => {});', /leaves tests out/],
      ["test/x.test.ts", 't.skip("x");', /leaves tests out/],
    ],
    fine: [["test/x.test.ts", "const { skip } = request; page.skip + 1;"]],
  },
  {
    title: "what makes a temporary folder removes it",
    about: isCode,
    rule: removesFolders,
    planted: [
      ["test/x.test.ts", 'const folder = await mkdtemp(join(tmpdir(), "gantry-x-"));', /leaves it there/],
      ["test/x.test.ts", 'const folder = mkdtempSync("x"); // rmSync(folder)', /leaves it there/],
    ],
    fine: [["test/x.test.ts", 'const folder = mkdtempSync("x"); after(() => rmSync(folder, { recursive: true }));']],
  },
  {
    title: "every test's title states a guarantee",
    about: isTest,
    rule: titlesGuarantee,
    planted: [["test/x.test.ts", 'test("it should work", () => {});', /hopes/]],
    fine: [["test/x.test.ts", 'test("it works", () => { const should = "should be"; });\ntest("the help says what it should", () => {});']],
  },
  {
    title: "what serves does not write to the console",
    about: (path) => isCode(path) && /^(?:base|contract|server)\//.test(path) && !isTest(path),
    rule: noConsole,
    planted: [["server/db/x.ts", 'console.log("here");', /writes to the console/]],
    fine: [["server/db/x.ts", "settings.console = true; // console.log"]],
  },
  {
    title: "nothing names a path of one machine",
    about: isOurs,
    rule: noMachinePath,
    planted: [
      ["docs/x.md", `cd /${"ho"}me/ann/gantry`, /path of one machine/],
      ["docs/x.md", `see /${"wo"}rk/main`, /docs\/x\.md:1/],
    ],
    fine: [["docs/x.md", "https://example.com/home/ann and ./work/main and /srv/gantry"]],
  },
  {
    title: "nothing names a package registry",
    about: isOurs,
    rule: noRegistryHost,
    planted: [
      ["docs/x.md", `https://${["registry", "npmjs", "org"].join(".")}/pg`, /package registry/],
      [".npmrc", `regis${"try"} = https://example.com`, /package registry/],
    ],
    fine: [["docs/x.md", "https://registry.example.com/v2/"]],
  },
  {
    title: "the lock file holds from every registry",
    about: (path) => path === "package-lock.json",
    rule: portableLock,
    planted: [
      [
        "package-lock.json",
        '{"packages":{"node_modules/x":{"resolved":"https://packages.example/x.tgz","integrity":"sha512-x"}}}',
        /is bound to https:\/\/packages\.example:/,
      ],
      ["package-lock.json", '{"packages":{"node_modules/x":{}}}', /has no integrity/],
      [
        "package-lock.json",
        '{"packages":{"node_modules/x":{"integrity":"sha512-x","optionalDependencies":{"x-linux":"1.0.0"}}}}',
        /x-linux of node_modules\/x is not named/,
      ],
    ],
    fine: [["package-lock.json", '{"packages":{"":{},"node_modules/x":{"integrity":"sha512-x"}}}']],
  },
  {
    title: "the kernel knows no resource",
    about: isKernel,
    rule: kernelKnowsNone,
    planted: [
      ["server/kernel/x.ts", 'const table = "repos";', /knows repos/],
      ["server/kernel/x.ts", "await rows.query(`select uid from role_bindings where uid = ${uid}`);", /knows role_bindings/],
      ["server/kernel/x.ts", "if (fact.short === 'Group') return;", /knows Group/],
    ],
    fine: [["server/kernel/select.ts", 'const groupMessage = "chainguard.platform.iam.v2.Group"; // repos']],
  },
  {
    title: "tests choose by the seed of the run",
    about: (path) => isCode(path) && (isTest(path) || path.startsWith("test/")) && path !== "test/property.ts",
    rule: choosesBySeed,
    planted: [
      ["test/x.test.ts", "if (Math.random() < 0.5) return;", /nobody can repeat/],
      ["server/authn/x.test.ts", 'import fc from "fast-check";', /past the seed/],
    ],
    fine: [["test/x.test.ts", 'import { fc } from "./property.ts"; const random = randomNumbers(); random(); // Math.random()']],
  },
  {
    title: "no line is longer than 160 columns",
    about: (path) => isOurs(path) && !/\.md$|^contract\/public-descriptors\.txt$|^test\/(?:golden|fixtures|releases\/\d[^/]*)\//.test(path),
    rule: shortLines,
    planted: [
      ["base/x.ts", `const x = 1;\n// ${"a comment ".repeat(16)}`, /x\.ts:2 has 163 columns/],
      ["server/db/migrations/0001_x.sql", `-- ${"x".repeat(158)}`, /161 columns/],
      ["contract/proto/gantry/x.proto", "x".repeat(161), /161/],
      ["modules.json", " ".repeat(161), /161/],
    ],
    fine: [["base/x.ts", `${"x".repeat(160)}\n${"€".repeat(160)}`]],
  },
  {
    title: "no SQL stands outside the store",
    about: (path) => isCode(path) && !isTest(path) && !maySpeakSql(path) && !/\/testing\.ts$|\.fixture\.ts$/.test(path),
    rule: noSqlAbove,
    planted: [
      ["server/iam/signin/x.ts", 'rows.query("select id from sessions where id = $1", [id]);', /x\.ts:1 holds SQL.*store/],
      ["server/iam/signin/x.ts", "const found = `\n  select ${list}\n  from ${table} where true`;", /holds SQL/],
      ["server/audit/x.ts", "rows.query(`insert into audit_entries (uid) values ($1)`);", /holds SQL/],
      ["server/audit/x.ts", "rows.query(`update outbox as o set position = $1`);", /holds SQL/],
      ["server/audit/x.ts", 'rows.query("delete from outbox");', /holds SQL/],
      ["server/audit/x.ts", "rows.query(`drop table ${name}`);", /holds SQL/],
      ["server/advisories/feeds/x.ts", "rows.query(`with old as (delete from feeds returning 1) select count(*) from old`);", /holds SQL/],
      ["server/advisories/feeds/x.ts", "const exists = `exists (select 1 from feeds where owner = ${uid})`;", /holds SQL/],
      ["bin/x.js", "client.query('create temporary table x (n int)');", /holds SQL/],
    ],
    fine: [
      [
        "server/iam/signin/x.ts",
        '"select a provider and sign in"; "update the group"; "delete from now on"; "create table"; // select x from y'.replace('; "create table"', ""),
      ],
      ["server/kernel/x.ts", 'const words = ["insert", "update", "delete"]; "Select the file, from any folder."; "created from an invite";'],
      ["server/iam/signin/x.ts", "`set the address`; `begin again`; `commit`;"],
    ],
  },
  {
    title: "code and documents use the field's words",
    about: (path) =>
      (isCode(path) || path.endsWith(".md") || path.endsWith(".sql") || path.startsWith("contract/proto/gantry/") || path === "modules.json") &&
      path !== "test/tidy.test.ts",
    rule: fieldsWords,
    planted: [
      ["base/x.ts", "const houseOf = 1;", /x\.ts:1 says "house"/],
      ["base/x.ts", "export type OpenHouse = string; // fine", /house/],
      ["base/x.ts", "\n// Between the rooms.", /x\.ts:2 says "rooms".*a module/],
      ["base/x.ts", "/**\n * By the other\n * door.\n */", /x\.ts:3 says "door"/],
      ["base/x.ts", 'const takeUpEvents = "x";', /enqueue/],
      ["test/x.test.ts", 'test("a Doorway is open", () => {});', /server context/],
      ["docs/x.md", "Every take-up of events", /fan out/],
      ["docs/x.md", "It settles its witnesses.", /complete/],
      ["server/db/migrations/0001_x.sql", "-- The upkeep forgets it.", /maintenance/],
      ["server/db/quarters.ts", "// Makes it.", /quarters\.ts:1 says/],
    ],
    fine: [
      [
        "base/x.ts",
        'import { x } from "warehouse"; // indoors, allSettled, roommate, a particular case; it makes room\nawait Promise.allSettled([]); settled = 1;',
      ],
    ],
  },
  {
    title: "every link of the documents leads somewhere",
    about: (path) => path.endsWith(".md") && isOurs(path),
    rule: linksLead,
    planted: [
      ["docs/x.md", "[x](nowhere.md)", /which is not there/],
      ["docs/x.md", "[x](../README.md#no-such-heading)", /no such heading/],
    ],
    fine: [["docs/x.md", "[x](../README.md) [y](https://example.com) [z](../server/kernel)"]],
  },
];

for (const { title, about, rule, planted, fine } of fileRules) {
  test(title, () => {
    const concerned = [...files].filter(([path]) => about(path));
    assert.ok(concerned.length > 0, "The rule is about no file at all.");
    const violations = concerned.flatMap(([path, content]) => rule(path, content));
    assert.equal(violations.length, 0, `\n${violations.join("\n")}`);
  });

  test(`${title}: the rule finds planted violations and accepts valid files`, () => {
    for (const [path, content, violation] of planted) {
      assert.ok(about(path), `the rule is not about ${path}`);
      const [first = ""] = rule(path, content);
      assert.match(first, violation, `planted in ${path}: ${content}`);
    }
    for (const [path, content] of fine) assert.deepEqual(rule(path, content), [], `${path}: ${content}`);
  });
}

test("every exception for the kernel is still needed", () => {
  const used = [...files]
    .filter(([path]) => isKernel(path))
    .flatMap(([path, content]) => codeOf(content).flatMap(({ value }) => (value.match(/[A-Za-z_]+/g) ?? []).map((name) => `${path} ${name}`)));
  for (const excuse of knownInKernel) assert.ok(used.includes(excuse), `${excuse} is gone: take it from the list, which only shrinks.`);
  assert.ok(resourceNames.has("repos") && resourceNames.has("Group"), "the names of resources were not found");
});

test("docs/reference/configuration.md lists exactly the existing settings", () => {
  const path = "docs/reference/configuration.md";
  const rows = (files.get(path) ?? "").split("\n").filter((line) => /^\| `(?:GANTRY_|DATABASE_URL|OTEL_)/.test(line));
  const named = rows.flatMap((line) => [...(line.split(" | ")[0] ?? "").matchAll(/`(\w+)`/g)].map(([, name = ""]) => name));
  assert.deepEqual(named.toSorted(), [...settingNames].sort(), `the table of ${path} is not that of server/application/setting-names.ts`);
});

/** Returns missing files named by a document; a bare name is in the folder of the previous one. */
const lostFiles = (content: string): string[] => {
  let folder = "";
  return [...content.matchAll(/`([\w./-]+\.(?:ts|js|json))`/g)].flatMap(([, name = ""]) => {
    // "x.ts" represents any file.
    if (/^x\./.test(name)) return [];
    const path = name.includes("/") ? name : join(folder, name);
    if (name.includes("/")) folder = join(name, "..");
    return files.has(path) ? [] : [path];
  });
};

test("every file named in docs/architecture.md exists", () => {
  const content = files.get("docs/architecture.md") ?? "";
  assert.ok([...content.matchAll(/`[\w./-]+\.ts`/g)].length > 40, "no files were found in it");
  assert.deepEqual(lostFiles(content), []);
  assert.deepEqual(lostFiles("`base/uid.ts`, `time.ts`, `lost.ts`; `server/nowhere.ts` and `x.ts`"), ["base/lost.ts", "server/nowhere.ts"]);
});

/** Returns the numbers that a test cites: "attack 7", "attacks 5 and 22", "(docs/attacks.md, 182 to 185 and 198)". */
const citedAttacks = (content: string): Set<number> => {
  const lists = [...content.matchAll(/(?:\battacks?|attacks\.md,) ((?:\d+(?:, | to | and )?)+)/gi)].map(([, list = ""]) => list);
  const numbers = lists.flatMap((list) => [...list.matchAll(/\d+/g)].map(([number]) => Number(number)));
  const ranges = lists.flatMap((list) => [...list.matchAll(/(\d+) to (\d+)/g)].map(([, from, to]) => [Number(from), Number(to)] as const));
  return new Set([...numbers, ...ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index))]);
};

/** Returns the rows of which no named test file cites the number, or exists. */
const untestedAttacks = (page: string, contentOf: (path: string) => string | undefined): string[] =>
  [...page.matchAll(/^\| (\d+) \|.*\| ([^|]*) \|$/gm)].flatMap(([, number = "", tests = ""]) => {
    const paths = [...tests.matchAll(/\]\(\.\.\/([^)]+)\)/g)].map(([, path = ""]) => path);
    return paths.some((path) => citedAttacks(contentOf(path) ?? "").has(Number(number))) ? [] : [`${number}: ${paths.join(", ")}`];
  });

test("each row of docs/attacks.md names a test file, and one of them cites the row's number", () => {
  const page = files.get("docs/attacks.md") ?? "";
  assert.ok((page.match(/^\| \d+ \|/gm) ?? []).length > 290, "the rows were not found");
  assert.deepEqual(
    untestedAttacks(page, (path) => files.get(path)),
    [],
  );
  const planted = "| 1 | a | b | [x](../x.test.ts) |\n| 2 | a | b | [x](../x.test.ts), [y](../y.test.ts) |\n| 5 | a | b | c |\n";
  assert.deepEqual(
    untestedAttacks(planted, (path) => (path === "x.test.ts" ? "// attacks 2 to 4" : undefined)),
    ["1: x.test.ts", "5: "],
  );
});

test("every decision and attack cited in a comment exists in the documents", () => {
  const headings = (path: string): string[] => [...(files.get(path) ?? "").matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading);
  const decisions = headings("docs/decisions/README.md");
  const attacks = new Set([...(files.get("docs/attacks.md") ?? "").matchAll(/^\| (\d+) \|/gm)].map(([, number = ""]) => number));
  let cited = 0;
  const lost = [...files]
    .filter(([path]) => (isCode(path) || path.endsWith(".sql")) && path !== "test/tidy.test.ts")
    .flatMap(([path, content]) => [
      ...[...content.matchAll(/\bdecisions: ([A-Z][a-z]*[ A-Za-z]*)/g)].flatMap(([, rest = ""]) => {
        cited++;
        return decisions.some((heading) => rest.startsWith(heading))
          ? []
          : [`${path} cites "decisions: ${rest}", and docs/decisions/README.md has no such heading`];
      }),
      ...[...content.matchAll(/\battack (\d+)/gi)].flatMap(([, number = ""]) => {
        cited++;
        return attacks.has(number) ? [] : [`${path} cites attack ${number}, and docs/attacks.md does not have it`];
      }),
    ]);
  assert.ok(cited > 20, `only ${cited} citations were found`);
  assert.equal(lost.length, 0, `\n${[...new Set(lost)].join("\n")}`);
});
