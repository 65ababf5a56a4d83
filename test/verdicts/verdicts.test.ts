// Published records keep their verdicts: the output of the hand-written records (test/fixtures/verdicts) agrees with hand-written verdicts
// (told.ts) on every version. `npm run verdicts` does the same with any directory of records.

import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { judgeVersion } from "#base/versions/affected.ts";
import { rustsecAffectedEvents } from "#base/versions/cargo-requirement.ts";
import { parse } from "yaml";
import { isObject, type Json, type JsonObject, part, text, texts } from "#base/json.ts";
import { evaluate } from "./naive.ts";
import { publish } from "./published.ts";
import { told } from "./told.ts";

const fixtures = join(import.meta.dirname, "../fixtures/verdicts");

/** The minimum number of compared pairs of version and package; raise it when a change compares more. */
const pairsMin = 363;
/** The number of known differences; lower it to 0 as they are fixed. */
const knownDifferences = 0;
/** The same for statements in OpenVEX and CSAF documents and fixes in a secdb, without OSV input. */
const statementsMin = { openvex: 12, "vex repository": 12, csaf: 2, secdb: 19 };
const knownStatementDifferences = 0;

let folder = "";
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-verdicts-"));
  await publish([fixtures], folder);
});
after(() => rm(folder, { recursive: true, force: true }));

const readJson = async (path: string): Promise<JsonObject | undefined> => {
  const content = await readFile(path, "utf8").catch(() => undefined);
  return content === undefined ? undefined : (JSON.parse(content) as JsonObject);
};

interface Case {
  readonly id: string;
  /** For example "PyPI django". */
  readonly named: string;
  readonly version: string;
  readonly sign: string;
  readonly line: readonly string[];
}

const cases: readonly Case[] = Object.entries(told).flatMap(([id, packages]) =>
  Object.entries(packages).flatMap(([named, line]) => {
    const versions = line.split(" ").map((each) => each.slice(1));
    return line.split(" ").map((each) => ({ id, named, version: each.slice(1), sign: each.slice(0, 1), line: versions }));
  }),
);

const signs: Readonly<Record<string, string>> = { affected: "+", unaffected: "-", "not judged": "?" };

test("the hand-written verdicts equal the schema's evaluation and the server's", async () => {
  const records = new Map<string, JsonObject>();
  for (const name of await readdir(fixtures)) {
    const record = name.endsWith(".json") ? await readJson(join(fixtures, name)) : undefined;
    if (record) records.set(String(record.id), record);
  }
  let compared = 0;
  for (const { id, named, version, sign, line } of cases) {
    const record = records.get(id);
    if (!record) continue;
    compared++;
    assert.equal(evaluate(record, named, version, line), sign, `${id}: ${named} ${version}`);
    const [ecosystem, name] = [named.slice(0, named.lastIndexOf(" ")), named.slice(named.lastIndexOf(" ") + 1)];
    // The caller decides about withdrawn records.
    if (sign !== "w") assert.equal(signs[judgeVersion(record, { ecosystem, name }, version).verdict], sign, `${id}: ${named} ${version}`);
  }
  assert(compared > 150, `only ${compared} were compared`);
});

test("each hand-written record has verdicts, and each verdict has a record", async () => {
  const contents = await Promise.all((await readdir(fixtures)).filter((name) => name !== "secdb.json").map((name) => readFile(join(fixtures, name), "utf8")));
  const ids = contents.flatMap((content) => [...content.matchAll(/"?\b(?:ghsa_)?id"?\s*[:=]\s*"?([A-Za-z0-9-]+)/g)].map(([, id = ""]) => id)).sort();
  // Commits alone do not decide about any version.
  assert.deepEqual(
    ids.filter((id) => id !== "OSV-2025-9012"),
    Object.keys(told).sort(),
  );
});

test("the published verdict on every version equals that of the imported records", async () => {
  const different: string[] = [];
  let pairs = 0;
  for (const { id, named, version, sign, line } of cases) {
    const record = await readJson(join(folder, "osv", `${id}.json`));
    // A format omits what it cannot express.
    if (!record) continue;
    pairs++;
    const found = evaluate(record, named, version, line);
    if (found !== sign) different.push(`${id}: ${named} ${version} is ${sign} and was published as ${found}`);
  }
  assert(pairs >= pairsMin, `only ${pairs} pairs were compared`);
  assert.equal(different.length, knownDifferences, `${different.length} differ:\n${different.join("\n")}`);
});

/** Returns one of the lists of a record's [versions]. */
const listOf = (content: string, key: string): string[] =>
  [...(new RegExp(`^${key} = \\[(.*)\\]$`, "m").exec(content)?.[1] ?? "").matchAll(/"([^"]*)"/g)].map(([, each = ""]) => each);

test("ranges from RustSec's expressions match the hand-written verdicts", async () => {
  let compared = 0;
  for (const { id, named, version, sign, line } of cases.filter((each) => each.id.startsWith("RUSTSEC-"))) {
    const content = await readFile(join(fixtures, `${id}.md`), "utf8");
    const made = rustsecAffectedEvents(listOf(content, "patched"), listOf(content, "unaffected"));
    assert("events" in made);
    const [ecosystem = "", name = ""] = named.split(" ");
    const events: Json[] = made.events.map((event) => ({ ...event }));
    const record = { affected: [{ package: { ecosystem, name }, ranges: [{ type: "SEMVER", events }] }] };
    assert.equal(evaluate(record, named, version, line), sign, `${id}: ${version}`);
    assert.equal(signs[judgeVersion(record, { ecosystem, name }, version).verdict], sign, `${id}: ${version}`);
    compared++;
  }
  assert(compared > 40, `only ${compared} were compared`);
});

const purlTypes: Readonly<Record<string, string>> = {
  Go: "golang",
  PyPI: "pypi",
  npm: "npm",
  RubyGems: "gem",
  Maven: "maven",
  NuGet: "nuget",
  Packagist: "composer",
  Hex: "hex",
  "crates.io": "cargo",
  Wolfi: "apk/wolfi",
};

/** Returns the package URL of "PyPI django" in a version, as the documents write it. */
const purlOf = (named: string, version: string): string => {
  const at = named.lastIndexOf(" ");
  const path = named.slice(at + 1).split(named.startsWith("Maven ") ? ":" : "/");
  return `pkg:${purlTypes[named.slice(0, at)] ?? "none"}/${path.map(encodeURIComponent).join("/")}@${encodeURIComponent(version)}`;
};

interface Statement {
  readonly names: readonly string[];
  readonly isAffected: boolean;
  readonly purl: string;
}

const list = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

const openVexStatements = (document: JsonObject): Statement[] =>
  list(document.statements)
    .sort((one, other) => (text(one, "timestamp") < text(other, "timestamp") ? -1 : 1))
    .flatMap((statement) =>
      list(statement.products)
        .filter(() => text(statement, "status") !== "under_investigation")
        .map((product) => ({
          names: [text(part(statement, "vulnerability"), "name"), ...texts(part(statement, "vulnerability"), "aliases")],
          isAffected: text(statement, "status") === "affected",
          purl: text(part(product, "identifiers"), "purl") || text(product, "@id"),
        })),
    );

const csafGroups: Readonly<Record<string, boolean>> = {
  known_affected: true,
  first_affected: true,
  last_affected: true,
  known_not_affected: false,
  fixed: false,
  first_fixed: false,
};

/** Returns every product of a tree with its package URL, at any depth. */
const productsIn = (value: Json | undefined, found = new Map<string, string>()): Map<string, string> => {
  if (Array.isArray(value)) for (const each of value) productsIn(each, found);
  else if (isObject(value)) {
    const id = text(value, "product_id");
    if (id !== "") found.set(id, text(part(value, "product_identification_helper"), "purl") || found.get(id) || "");
    for (const each of Object.values(value)) productsIn(each, found);
  }
  return found;
};

const csafStatements = (document: JsonObject): Statement[] => {
  const purls = productsIn(document.product_tree);
  return list(document.vulnerabilities).flatMap((vulnerability) =>
    Object.entries(part(vulnerability, "product_status")).flatMap(([group, products]) =>
      (Array.isArray(products) && csafGroups[group] !== undefined ? products : []).map((product) => ({
        names: [text(vulnerability, "cve"), ...list(vulnerability.ids).map((each) => text(each, "text"))],
        isAffected: csafGroups[group] === true,
        purl: purls.get(String(product)) ?? "",
      })),
    ),
  );
};

/** The statements on a case: some readers take the first match, others the last. */
type Said = (each: Case) => readonly boolean[];

/** Returns the matching statements; one without a version applies to all versions. */
const fitting = (statements: readonly Statement[], { id, named, version }: Case): boolean[] => {
  const fits = statements.filter(({ names, purl }) => {
    const bare = purl.split("?")[0] ?? "";
    return names.includes(id) && (bare === purlOf(named, version) || `${bare}@${encodeURIComponent(version)}` === purlOf(named, version));
  });
  return [...fits.slice(0, 1), ...fits.slice(-1)].map(({ isAffected }) => isAffected);
};

const documentsIn = async (kind: string): Promise<JsonObject[]> => {
  const found = await Promise.all((await readdir(join(folder, kind))).map((name) => readJson(join(folder, kind, name))));
  return found.filter((document) => document !== undefined);
};

/** As Trivy looks it up: one document per package, by its package URL alone. */
const repositoryStatements = async (): Promise<ReadonlyMap<string, readonly Statement[]>> => {
  const index = await readJson(join(folder, "vex/index.json"));
  const packages = await Promise.all(
    list(index?.packages).map(
      async (entry): Promise<[string, Statement[]]> => [
        text(entry, "id"),
        openVexStatements((await readJson(join(folder, "vex", text(entry, "location")))) ?? {}),
      ],
    ),
  );
  return new Map(packages);
};

/** Returns the aliases of our hand-written records, by ID. */
const aliasesOf = async (): Promise<ReadonlyMap<string, readonly string[]>> =>
  new Map((await documentsIn("osv")).map((record) => [text(record, "id"), [text(record, "id"), ...texts(record, "upstream")]]));

/** Returns the fixed versions by "package name". */
const secdbFixes = (document: JsonObject | undefined): Map<string, Set<string>> => {
  const fixes = new Map<string, Set<string>>();
  for (const entry of list(document?.packages)) {
    for (const [version, names] of Object.entries(part(part(entry, "pkg"), "secfixes"))) {
      for (const name of Array.isArray(names) ? names.flatMap((each) => String(each).split(/\s+/)) : []) {
        const named = `${text(part(entry, "pkg"), "name")} ${name}`;
        fixes.set(named, (fixes.get(named) ?? new Set()).add(version));
      }
    }
  }
  return fixes;
};

const readSaid = async (): Promise<Readonly<Record<keyof typeof statementsMin, Said>>> => {
  const openvex = (await documentsIn("openvex")).flatMap(openVexStatements);
  const csaf = (await documentsIn("csaf")).flatMap(csafStatements);
  const [repository, aliases] = [await repositoryStatements(), await aliasesOf()];
  const fixes = secdbFixes(await readJson(join(folder, "secdb/wolfi/security.json")));
  return {
    openvex: (each) => fitting(openvex, each),
    "vex repository": (each) => fitting(repository.get(purlOf(each.named, "").replace(/@$/, "")) ?? [], each),
    csaf: (each) => fitting(csaf, each),
    secdb: ({ id, named, version, line }) => {
      const found = named.startsWith("Wolfi ")
        ? (aliases.get(id) ?? []).flatMap((name) => [...(fixes.get(`${named.slice("Wolfi ".length)} ${name}`) ?? [])])
        : [];
      // The hand-written order contains every bound.
      return found.map((fixed) => fixed !== "0" && line.indexOf(version) < line.indexOf(fixed));
    },
  };
};

test("OpenVEX, CSAF, the VEX repository and a secdb agree with the imported records, whichever statement a reader takes", async () => {
  const different: string[] = [];
  for (const [kind, said] of Object.entries(await readSaid())) {
    let statements = 0;
    for (const each of cases) {
      const { id, named, version, sign } = each;
      const answers = said(each);
      if (answers.length > 0) statements++;
      for (const isAffected of answers)
        if ((sign === "+") !== isAffected) different.push(`${id} in ${kind}: ${named} ${version} is ${sign}, and is ${isAffected ? "" : "not "}affected`);
    }
    const least = new Map(Object.entries(statementsMin)).get(kind) ?? 0;
    assert(statements >= least, `only ${statements} statements of ${kind} were compared`);
  }
  assert.equal(different.length, knownStatementDifferences, `${different.length} differ:\n${different.join("\n")}`);
});

test("an imported secdb is exported unchanged, and its YAML form equals it for another reader", async () => {
  const source = await readJson(join(fixtures, "secdb.json"));
  assert.deepEqual(await readJson(join(folder, "secdb/alpine/v3.99/main.json")), source);
  const twin = await readFile(join(folder, "secdb/alpine/v3.99/main.yaml"), "utf8");
  for (const version of ["1.1", "1.2"] as const) assert.deepEqual(parse(twin, { version }), source);
});
