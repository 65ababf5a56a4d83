// Finds which store file owns and reads which tables, and which tables each module uses through the store, from migrations, SQL
// literals and imports of #store. tables.test.ts compares it with modules.json.

import { importsOf, literalsOf } from "./source.ts";

export type Sources = Readonly<Record<string, string>>;

export interface FileTables {
  /** Owned: only this file writes them. */
  readonly owns?: readonly string[];
  /** Other tables in its statements. */
  readonly reads?: readonly string[];
  /** Has generic statements for any table. */
  readonly anyTable?: true;
}

export interface TablePlan {
  readonly files: Readonly<Record<string, FileTables>>;
  /** By module; "*" for generic statements. */
  readonly modules: Readonly<Record<string, readonly string[]>>;
}

interface Use {
  readonly writes: ReadonlySet<string>;
  readonly reads: ReadonlySet<string>;
  readonly anyTable: boolean;
}

/** The folders that may hold SQL: the database module, and the store of each domain. */
export const storeForm = /^server\/(?:db|\w+\/store)\//;
const storeFolderOf = (path: string): string | undefined => storeForm.exec(path)?.[0];
const genericOwner = "server/db/rows.ts";

/** modules.json also counts fixtures and testing.ts as tests. */
const isTest = (path: string): boolean => /\.test\.ts$|\.fixture\.ts$|\/testing\.ts$/.test(path);
const isStoreFile = (path: string): boolean => storeForm.test(path) && path.endsWith(".ts") && !isTest(path);

const name = '(?:only\\s+)?"?([a-z_][a-z0-9_]*|\\$\\{\\})"?';
const writeForms = [
  new RegExp(`\\binsert into\\s+${name}`, "g"),
  new RegExp(`\\bupdate\\s+${name}(?=\\s+(?:(?:as\\s+)?\\w+\\s+)?set\\b)`, "g"),
  new RegExp(`\\bdelete from\\s+${name}`, "g"),
  new RegExp(`\\b(?:merge into|truncate(?: table)?|lock table|alter table|partition of)\\s+${name}`, "g"),
  new RegExp(`\\bcopy\\s+${name}(?=[^;]*\\sfrom\\s)`, "g"),
];
const joinForm = new RegExp(`\\b(?:join|using)\\s+${name}`, "g");
const fromForm = /(?<!\bdelete\s+)\bfrom\s+/g;
const fromItem = new RegExp(`^${name}(?:\\s+(?:as\\s+)?[a-z_]\\w*)?\\s*(,\\s*)?`);

/** Returns all tables after `from`, including comma lists. */
const namesAfterFrom = (text: string): string[] =>
  [...text.matchAll(fromForm)].flatMap((match) => {
    const names: string[] = [];
    let rest = text.slice(match.index + match[0].length);
    for (let item = fromItem.exec(rest); item; item = fromItem.exec(rest)) {
      names.push(item[1] ?? "");
      if (item[2] === undefined) break;
      rest = rest.slice(item[0].length);
    }
    return names;
  });

const createForm = /\bcreate table (?:if not exists )?"?([a-z_][a-z0-9_]*)"?(?!\s+partition of)(?=[\s(])/g;
const namesIn = (forms: readonly RegExp[], text: string): string[] => forms.flatMap((form) => [...text.matchAll(form)].map(([, found = ""]) => found));

/** Returns every table created by a migration or a store file. */
export const tablesOf = (sources: Sources): ReadonlySet<string> => {
  const tables = new Set<string>();
  for (const [path, content] of Object.entries(sources).sort(([one], [other]) => (one < other ? -1 : 1))) {
    if (!storeForm.test(path) || isTest(path)) continue;
    const texts = path.endsWith(".sql") ? [content.replace(/--[^\n]*/g, "")] : literalsOf(content).map(({ value }) => value);
    for (const text of texts) {
      for (const table of namesIn([createForm], text)) tables.add(table);
      if (!path.endsWith(".sql")) continue;
      for (const [, table = ""] of text.matchAll(/\bdrop table (?:if exists )?(\w+)/g)) tables.delete(table);
      for (const [, from = "", to = ""] of text.matchAll(/\balter table (?:only )?(\w+) rename to (\w+)/g)) if (tables.delete(from)) tables.add(to);
    }
  }
  return tables;
};

const useOf = (content: string, tables: ReadonlySet<string>): Use => {
  const [writes, reads] = [new Set<string>(), new Set<string>()];
  let anyTable = false;
  for (const { value } of literalsOf(content)) {
    const written = [...namesIn(writeForms, value), ...namesIn([createForm], value)];
    const read = [...namesIn([joinForm], value), ...namesAfterFrom(value), value];
    // "from ${…}" may be a subquery; writes and locks of any table are explicit.
    anyTable ||= written.includes("${}");
    for (const each of written) if (tables.has(each)) writes.add(each);
    for (const each of read) if (tables.has(each)) reads.add(each);
  }
  return { writes, reads, anyTable };
};

const resourceTables = (sources: Sources): ReadonlySet<string> =>
  new Set(
    Object.entries(sources)
      .filter(([path]) => /^server\/\w+\/resources\//.test(path))
      .flatMap(([, content]) => [...content.matchAll(/^ {2}table: "(\w+)"/gm)].map(([, table = ""]) => table)),
  );

/** Returns whether the file is named like the table: access-version.ts or access-versions.ts for access_versions. */
const isNamedAs = (path: string, table: string): boolean => {
  const name = `${storeFolderOf(path) ?? ""}${table.replaceAll("_", "-")}`;
  return path === `${name}.ts` || `${path.replace(/\.ts$/, "")}s` === name;
};

const exportForm = /^export (?:async )?(?:const|function\*?|class) (\w+)/gm;

/** The files that the entry of a folder re-exports from, by exported name. */
const filesOfNames = (folder: string, sources: Sources): Map<string, string> =>
  new Map(
    importsOf(sources[`${folder}index.ts`] ?? "").flatMap(({ specifier = "", values }) => {
      const path = `${folder}${specifier.replace(/^\.\//, "")}`;
      // `export * from` names nothing: all of the file's exports.
      const names = values.length > 0 ? values : [...(sources[path] ?? "").matchAll(exportForm)].map(([, name = ""]) => name);
      return names.map((name) => [name, path] as const);
    }),
  );

/** "server/iam/store/" to "#iam/store". */
const aliasOf = (folder: string): string => `#${folder.replace(/^server\//, "").replace(/\/$/, "")}`;

const moduleOf = (path: string, modules: readonly string[]): string | undefined =>
  modules.filter((module) => path === module || path.startsWith(`${module}/`)).sort((one, other) => other.length - one.length)[0];

const sorted = (values: Iterable<string>): string[] => [...new Set(values)].sort();

/** Returns the expected content of modules.json and violations. `declared` names owners of tables that nothing writes. */
export const planTables = (
  sources: Sources,
  modules: readonly string[],
  declared: TablePlan["files"] = {},
): { readonly plan: TablePlan; readonly violations: readonly string[] } => {
  const tables = tablesOf(sources);
  const ofResources = resourceTables(sources);
  const uses = new Map(Object.entries(sources).flatMap(([path, content]) => (isStoreFile(path) ? [[path, useOf(content, tables)] as const] : [])));
  const violations: string[] = [];

  const ownerOf = (table: string): string | undefined => {
    const writers = [...uses].filter(([, { writes }]) => writes.has(table)).map(([path]) => path);
    if (writers.length > 1) violations.push(`${table} is written by ${writers.join(" and ")}: one file owns a table, and the others call its functions.`);
    if (writers.length > 0) return writers[0];
    const readers = [...uses].filter(([, { reads }]) => reads.has(table)).map(([path]) => path);
    const said = readers.find((path) => declared[path]?.owns?.includes(table)) ?? readers.find((path) => isNamedAs(path, table));
    if (said !== undefined || ofResources.has(table)) return said ?? genericOwner;
    violations.push(`${table} is owned by no file of the store: none writes it.`);
    return undefined;
  };
  const owners = new Map(sorted(tables).map((table) => [table, ownerOf(table)] as const));
  const ownedBy = (path: string): string[] => [...owners].filter(([, owner]) => owner === path).map(([table]) => table);

  const files = Object.fromEntries(
    [...uses].sort().flatMap(([path, { writes, reads, anyTable }]): [string, FileTables][] => {
      const owns = ownedBy(path);
      const others = sorted([...reads, ...writes]).filter((table) => !owns.includes(table));
      if (owns.length === 0 && others.length === 0 && !anyTable) return [];
      return [[path, { ...(owns.length > 0 ? { owns } : {}), ...(others.length > 0 ? { reads: others } : {}), ...(anyTable ? { anyTable: true } : {}) }]];
    }),
  );

  const folders = new Set(Object.keys(sources).flatMap((path) => storeFolderOf(path) ?? []));
  const entries = new Map([...folders].map((folder) => [aliasOf(folder), filesOfNames(folder, sources)]));
  const used = new Map<string, Set<string>>();
  for (const [path, content] of Object.entries(sources)) {
    const module = moduleOf(path, modules);
    if (module === undefined || storeForm.test(path) || isTest(path)) continue;
    for (const { specifier, values } of importsOf(content)) {
      const fileOf = entries.get(specifier ?? "");
      if (fileOf === undefined) continue;
      for (const value of values) {
        const file = fileOf.get(value) ?? "";
        const { owns, reads = [], anyTable } = files[file] ?? {};
        // The file with generic statements owns tables of resources without their own file.
        const own = file === genericOwner ? [] : (owns ?? (anyTable ? [] : reads));
        const touched = [...own, ...(anyTable ? ["*"] : [])];
        used.set(module, new Set([...(used.get(module) ?? []), ...touched]));
      }
    }
  }
  const byModule = Object.fromEntries([...used].flatMap(([module, names]) => (names.size > 0 ? [[module, sorted(names)]] : [])));
  return { plan: { files, modules: byModule }, violations };
};
