// Checks that the database has what the contract requires, so that the start fails and not a request. Migrations are written by hand;
// the required tables, columns and indexes follow from the contract.
//
//   column         each field that has no other source; its type, and whether it may be null (shape.ts writes and reads it)
//   uid            unique: (uid)
//   unique         (parent, field, …)
//   parent         (parent, …) with the uid; by name, if that is sortable
//   order, filter  (root, field, uid) for each sortable field and each filter with an index (store/list.ts: query plans of a page)
//   in root        (uid) of the rows without a parent, if a List can filter by them
//   list field     a GIN index, if a filter searches its entries
//   reference      (field, …), if a deletion searches rows that refer to it
//   counted        the triggers that keep the count, and a quota in base/limits.ts
//
// An index may have more keys after these, and a table more indexes.

import { Fault } from "#base/fault.ts";
import { organizationQuotas } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { FieldFact, MethodFact } from "#contract/facts.ts";
import {
  addColumnStatement,
  addPrimaryKeyStatement,
  type Catalogue,
  type CatalogueColumn,
  type CatalogueIndex,
  type CatalogueTable,
  countTriggers,
  createCountTriggerStatement,
  createIndexStatement,
  quotaNameOf,
} from "#db";
import type { Resource } from "./context.ts";
import { emptyParamOf } from "./shape.ts";

type StoredResource = Resource & { readonly table: string };

const isStored = (resource: Resource): resource is StoredResource => resource.table !== undefined;

export interface RequiredIndex {
  readonly purpose: string;
  readonly columns: readonly string[];
  readonly statement: string;
  readonly serves: (index: CatalogueIndex) => boolean;
}

export interface SchemaFindings {
  /** Sentences, each naming the table and what to do. */
  readonly mismatches: readonly string[];
  readonly unfinished: readonly string[];
}

const rootKey = "left(uid, 40)";
const parentKey = "left(uid, -17)";
/** Collation of the columns after the parent in an index; it sorts like "C" (0001_initial.sql says why). */
const collationBehindParent = "POSIX";
const behindParent = (column: string): string => `${column} collate "${collationBehindParent}"`;

const findField = ({ fact }: Resource, name: string): FieldFact | undefined => fact.byName.get(name);

const listsOf = ({ operations }: Resource): readonly MethodFact[] =>
  operations.filter(({ rpc, input }) => rpc.startsWith("List") && input.byName.has("page_token"));

const hasCreate = (resource: Resource): boolean => resource.operations.some(({ rpc }) => rpc === `Create${resource.fact.short}`);

const quotaProblems = ({ fact }: Resource, table: string): string[] =>
  fact.resource?.counted && !(quotaNameOf(table) in organizationQuotas)
    ? [`${fact.short} is counted, and base/limits.ts has no quota ${quotaNameOf(table)}: say there how many an organization may have`]
    : [];

/** Returns gaps in the contract that leave storage undefined. */
const contractProblems = (resource: StoredResource, resources: readonly Resource[]): string[] => {
  const { fact, table, operations, parentMessage, otherParentMessage } = resource;
  const problems: string[] = [];
  if (!fact.resource)
    problems.push(`the message ${fact.name} has the table ${table}, but not the option gantry.annotations.v1.resource: give it one, if only {}`);
  for (const { name, input } of operations) {
    const parent = input.byName.get("parent");
    if (parent?.refersTo !== "") continue;
    const harm = `a ${fact.short} could be made below what does not exist, and would stay in ${table} when its parent is deleted`;
    problems.push(`the parent of ${name} does not say refers_to: ${harm}; name the parent's message there`);
  }
  const create = operations.find(({ rpc }) => rpc === `Create${fact.short}`);
  if (create && !create.input.byName.has("parent") && parentMessage === "") {
    problems.push(`${create.name} has no parent: give its request the field parent with refers_to, or the uid of ${fact.short} the option lies_below`);
  }
  for (const message of [parentMessage, otherParentMessage]) {
    if (message !== "" && !resources.some((other) => other.fact.name === message && isStored(other)))
      problems.push(`${fact.short} lies below ${message}, which has no table: name the message of a resource with one`);
  }
  for (const { refersTo, deletedWithReference, inUseAs, name } of fact.fields) {
    if (!deletedWithReference && inUseAs === "") continue;
    if (!resources.some((other) => other.fact.name === refersTo && isStored(other)))
      problems.push(`${fact.short}.${name} says what the deletion of a ${refersTo} does, which has no table: name the message of a resource with one`);
  }
  return [...problems, ...quotaProblems(resource, table)];
};

const scalarTypes: Readonly<Record<string, string>> = {
  bool: "boolean",
  int32: "integer",
  int64: "bigint",
  double: "double precision",
  timestamp: "timestamp(3) with time zone",
};

const columnTypeOf = ({ shape, kind }: FieldFact): string => (shape !== "one" || kind === "message" ? "jsonb" : (scalarTypes[kind] ?? "text"));

const isNullWhenAbsent = (field: FieldFact): boolean => emptyParamOf(field) === null;

/** Required of clients, or set by the server. */
const isAlwaysThere = ({ required, sortable, outputOnly, minItems }: FieldFact): boolean => required || sortable || outputOnly || minItems > 0;

const columnDeclaration = (field: FieldFact): string => {
  const type = columnTypeOf(field);
  if (type === "text" && !isNullWhenAbsent(field)) return `text collate "C" not null default ''`;
  if (isNullWhenAbsent(field)) return `${type.replace("timestamp(3) with time zone", "timestamptz(3)")}${isAlwaysThere(field) ? " not null" : ""}`;
  return `${type} not null default ${type === "boolean" ? "false" : "0"}`;
};

/** Texts that are compared, sorted or unique sort by bytes, whatever the database's collation. */
const isCompared = (resource: Resource, field: FieldFact): boolean =>
  field.name === "uid" ||
  field.sortable ||
  field.deletedWithReference ||
  field.inUseAs !== "" ||
  (resource.fact.resource?.unique.includes(field.name) ?? false) ||
  columnFiltersOf(resource).some(({ column, indexed }) => column === field.name && indexed);

interface ColumnFilter {
  readonly column: string;
  readonly comparison: "equal" | "after" | "include";
  readonly indexed: boolean;
}

const columnFiltersOf = (resource: Resource): ColumnFilter[] =>
  listsOf(resource).flatMap(({ input }) =>
    input.fields.flatMap(({ filter }) =>
      // "parent" is the uid without its last segment, and uses the parent's index.
      filter && filter.comparison !== "own" && filter.column !== "parent"
        ? [{ column: filter.column, comparison: filter.comparison, indexed: filter.indexed || findField(resource, filter.column)?.sortable === true }]
        : [],
    ),
  );

const columnProblem = (resource: Resource, field: FieldFact, column: CatalogueColumn, table: CatalogueTable): string | undefined => {
  const where = `the column ${column.name} of the table ${table.name}`;
  const type = columnTypeOf(field);
  // Values that the server generates may have a narrower type that reads as the same text.
  const fits = column.type === type || (column.type === "uuid" && field.outputOnly && field.kind === "string" && !field.sortable);
  if (!fits) return `${where} is ${column.type}, and ${resource.fact.short}.${field.name} needs ${type}: change its type in a migration`;
  const isText = type === "text" && field.kind !== "enum";
  if (isText && isCompared(resource, field) && column.collation !== "C")
    return `${where} sorts by the collation ${column.collation}, and ${resource.fact.short}.${field.name} must sort by its bytes: declare it collate "C"`;
  // If the uid may be null, rows without one are in no list.
  const mustNotBeNull = (field.name === "uid" && hasCreate(resource)) || (field.sortable && table.columns.get("uid")?.nullable === false);
  if (mustNotBeNull && column.nullable) return `${where} may be null, and a list by ${field.name} would leave out such rows: declare it not null`;
  if (!column.nullable && hasCreate(resource) && isNullWhenAbsent(field) && !isAlwaysThere(field))
    return `${where} is not null, and ${resource.fact.short}.${field.name} may be absent: let it be null`;
  if (column.nullable && resource.fact.resource?.unique.includes(field.name))
    return `${where} may be null, and nulls are never alike, though ${resource.fact.short} is unique by it: declare it not null`;
  return undefined;
};

const fieldsWithoutColumn = (resource: Resource): ReadonlySet<FieldFact | undefined> =>
  new Set([
    ...[...Object.keys(resource.hydrate ?? {}), ...(resource.computedFields?.names ?? []), ...(resource.methodFields ?? [])].map((name) =>
      findField(resource, name),
    ),
    ...resource.fact.fields.filter(({ inputOnly, shownOnce }) => inputOnly || shownOnce),
  ]);

const columnProblems = (resource: Resource, table: CatalogueTable): string[] => {
  const { fact } = resource;
  const problems: string[] = [];
  const elsewhere = fieldsWithoutColumn(resource);
  for (const field of fact.fields) {
    const column = table.columns.get(field.name);
    const problem = column && columnProblem(resource, field, column, table);
    if (problem !== undefined) problems.push(problem);
    if (column || elsewhere.has(field)) continue;
    const statement = addColumnStatement(table.name, field.name, columnDeclaration(field));
    problems.push(`the table ${table.name} has no column ${field.name}, and ${fact.short}.${field.name} no other source: ${statement}`);
  }
  for (const { name, nullable, filledByItself } of table.columns.values()) {
    if (nullable || filledByItself || fact.byName.has(name) || !hasCreate(resource)) continue;
    problems.push(
      `the column ${name} of the table ${table.name} is no field of ${fact.short}, so that a create leaves it out: give it a default, or let it be null`,
    );
  }
  for (const { column: name, comparison } of columnFiltersOf(resource)) {
    const column = table.columns.get(name);
    if (!column && !fact.byName.has(name)) problems.push(`the table ${table.name} has no column ${name}, which a filter of ${fact.short} compares: add it`);
    if (column && comparison === "include" && (column.type !== "boolean" || column.nullable))
      problems.push(`the column ${name} of the table ${table.name} must be boolean not null: a filter of ${fact.short} leaves out the rows where it is true`);
  }
  return problems;
};

const isWhole = ({ predicate }: CatalogueIndex): boolean => predicate === "";

/** True if the index has all rows that a List shows: those with a uid that are not soft-deleted (AIP-164). */
const holdsListed = (resource: Resource, { predicate }: CatalogueIndex): boolean =>
  predicate === "" || predicate === "uid IS NOT NULL" || (predicate === "delete_time IS NULL" && findField(resource, "delete_time") !== undefined);

/** True if the keys start with these, ascending, in the columns' collation (after the parent: in its own). */
const beginsWith = ({ method, keys }: CatalogueIndex, wanted: readonly string[], table: CatalogueTable): boolean =>
  method === "btree" &&
  wanted.every((expression, position) => {
    const key = keys[position];
    if (key?.expression !== expression || key.descending) return false;
    if (position > 0 && wanted[0] === parentKey) return key.collation === collationBehindParent;
    return key.collation === (table.columns.get(expression)?.collation ?? table.columns.get("uid")?.collation);
  });

/** True if the planner cannot use an index of a parent for a list of a whole root, because the key after it has another collation. */
const servesParentAlone = ({ keys }: CatalogueIndex): boolean => keys[0]?.expression !== parentKey || keys[1]?.collation !== "C";

const holdsUid = ({ keys, included }: CatalogueIndex): boolean => included.includes("uid") || keys.some(({ expression }) => expression === "uid");

/** Maximum bytes of an index entry (PostgreSQL: a third of a page). */
const indexEntryBytesMax = 2704;
const utf8BytesMax = 4;

/** True for a text that may be longer than an index entry: its hash is unique instead. */
const isHashed = ({ kind, uid, outputOnly, maxLength }: FieldFact): boolean =>
  kind === "string" && !uid && !outputOnly && maxLength * utf8BytesMax > indexEntryBytesMax;

/** Converts a text to bytes; backslashes are doubled because the cast to bytea interprets them. */
const hashExpressionOf = (name: string): string => `sha256(replace(${name}, '\\', '\\\\')::bytea)`;

const isHashOf = (expression: string, name: string): boolean => expression.startsWith("sha256(") && new RegExp(`\\b${name}\\b`).test(expression);

const uniqueIndex = (resource: Resource, table: CatalogueTable): RequiredIndex[] => {
  const { fact, parentMessage } = resource;
  const fields = (fact.resource?.unique ?? []).flatMap((name) => findField(resource, name) ?? []);
  if (fields.length === 0) return [];
  // A field that holds the parent's path may replace the parent key.
  const parents = [parentKey, ...fact.fields.flatMap(({ name, outputOnly, refersTo }) => (outputOnly && refersTo === parentMessage ? [name] : []))];
  const above = parentMessage === "" ? [] : [parentKey];
  const expressions = fields.map((field, position) => {
    if (isHashed(field)) return hashExpressionOf(field.name);
    return above.length > 0 && position === 0 && columnTypeOf(field) === "text" ? behindParent(field.name) : field.name;
  });
  const serves = (index: CatalogueIndex): boolean => {
    if (!index.unique || index.method !== "btree" || !isWhole(index) || index.keys.length !== above.length + expressions.length) return false;
    const has = (test: (expression: string) => boolean): boolean => index.keys.some(({ expression }) => test(expression));
    return (
      (parentMessage === "" || has((expression) => parents.includes(expression))) &&
      servesParentAlone(index) &&
      fields.every((field) => has((expression) => isHashOf(expression, field.name) || (!isHashed(field) && expression === field.name)))
    );
  };
  return [
    {
      purpose: "uniqueness",
      columns: fields.map(({ name }) => name),
      statement: createIndexStatement({ name: `${table.name}_unique`, table: table.name, keys: [...above, ...expressions], unique: true, include: ["uid"] }),
      serves,
    },
  ];
};

const uidIndex = (table: CatalogueTable): RequiredIndex => ({
  purpose: "uniqueness by uid",
  columns: ["uid"],
  statement: addPrimaryKeyStatement(table.name, "uid"),
  // PostgreSQL requires the partition key in every unique index of a partitioned table.
  serves: (index) => index.unique && isWhole(index) && beginsWith(index, ["uid"], table) && (index.keys.length === 1 || table.partitioned),
});

const parentIndex = (resource: Resource, table: CatalogueTable): RequiredIndex => {
  const names = findField(resource, "name")?.sortable ? ["name"] : [];
  const keys = [parentKey, ...names];
  return {
    purpose: names.length > 0 ? "children by name" : "children",
    columns: ["uid", ...names],
    statement: createIndexStatement({ name: `${table.name}_by_parent`, table: table.name, keys: [parentKey, ...names.map(behindParent), "uid"] }),
    serves: (index) => beginsWith(index, keys, table) && holdsUid(index) && holdsListed(resource, index),
  };
};

const rootsIndex = (table: CatalogueTable): RequiredIndex => ({
  purpose: "rows at the root",
  columns: ["uid"],
  statement: createIndexStatement({ name: `${table.name}_in_root`, table: table.name, keys: ["uid"], where: "length(uid) = 40" }),
  serves: (index) => beginsWith(index, ["uid"], table) && index.predicate === "length(uid) = 40",
});

const fieldIndex = (resource: Resource, table: CatalogueTable, column: string, purpose: string): RequiredIndex => ({
  purpose,
  columns: ["uid", column],
  statement: createIndexStatement({ name: `${table.name}_by_${column}`, table: table.name, keys: [rootKey, column, "uid"] }),
  serves: (index) => beginsWith(index, [rootKey, column, "uid"], table) && holdsListed(resource, index),
});

const entriesIndex = (resource: Resource, table: CatalogueTable, column: string): RequiredIndex => ({
  purpose: `filter by entries of ${column}`,
  columns: [column],
  statement: createIndexStatement({ name: `${table.name}_by_${column}`, table: table.name, keys: [column], method: "gin" }),
  serves: (index) => index.method === "gin" && index.keys[0]?.expression === column && holdsListed(resource, index),
});

const referenceIndex = (table: CatalogueTable, { name, refersTo }: FieldFact): RequiredIndex => ({
  purpose: `deletion of a ${refersTo.split(".").at(-1)}`,
  columns: [name],
  statement: createIndexStatement({ name: `${table.name}_by_${name}`, table: table.name, keys: [name, "uid"] }),
  serves: (index) => isWhole(index) && beginsWith(index, [name], table),
});

export const requiredIndexes = (resource: Resource, table: CatalogueTable): RequiredIndex[] => {
  const lists = listsOf(resource);
  const sortable = lists.length > 0 ? resource.fact.fields.filter(({ name, sortable: is }) => is && name !== "uid").map(({ name }) => name) : [];
  const filters = columnFiltersOf(resource);
  const entries = filters.filter(({ column, comparison }) => comparison === "equal" && findField(resource, column)?.shape === "list");
  const filtered = filters.filter((filter) => (filter.indexed || filter.comparison === "after") && !entries.includes(filter)).map(({ column }) => column);
  const unordered = [...new Set(filtered)].filter((column) => !sortable.includes(column) && column !== "uid");
  const asksForRoots = lists.some(({ input }) => input.byName.get("uidp")?.message?.byName.has("in_root"));
  return [
    uidIndex(table),
    ...uniqueIndex(resource, table),
    ...(lists.length > 0 ? [parentIndex(resource, table)] : []),
    ...(asksForRoots ? [rootsIndex(table)] : []),
    ...sortable.map((column) => fieldIndex(resource, table, column, `order by ${column}`)),
    ...unordered.map((column) => fieldIndex(resource, table, column, `filter by ${column}`)),
    ...entries.map(({ column }) => entriesIndex(resource, table, column)),
    ...resource.fact.fields.filter(({ deletedWithReference, inUseAs }) => deletedWithReference || inUseAs !== "").map((field) => referenceIndex(table, field)),
  ];
};

const triggerProblems = ({ fact }: Resource, table: CatalogueTable): string[] =>
  fact.resource?.counted
    ? countTriggers
        .filter(({ after, calls }) => !table.triggers.some((trigger) => trigger.after === after && trigger.calls === calls))
        .map((wanted) => `the table ${table.name} has no trigger that counts after ${wanted.after}: ${createCountTriggerStatement(table.name, wanted)}`)
    : [];

const compareTable = (resource: Resource, table: CatalogueTable): SchemaFindings => {
  const mismatches = [...columnProblems(resource, table), ...triggerProblems(resource, table)];
  const unfinished: string[] = [];
  for (const { purpose, columns, statement, serves } of requiredIndexes(resource, table)) {
    const serving = table.indexes.filter(serves);
    if (serving.some(({ valid }) => valid) || !columns.every((name) => table.columns.has(name))) continue;
    const [building] = serving;
    if (building)
      unfinished.push(`the index ${building.name} of the table ${table.name} is not valid: it is still being built, or building it has failed (${purpose})`);
    else mismatches.push(`the table ${table.name} has no index for ${purpose}: ${statement}`);
  }
  return { mismatches, unfinished };
};

const noTable = (table: string, { fact }: Resource): string => `the table ${table} of ${fact.short} does not exist: create it in a migration`;

/** A table that the resource's own file writes needs only the triggers of counted resources. */
const ownTableProblems = (resource: Resource, catalogue: Catalogue): string[] => {
  const { fact, ownTable } = resource;
  if (ownTable === undefined) return fact.resource?.counted ? [`${fact.short} is counted, and its file names no table: name the one with its rows`] : [];
  const table = catalogue.get(ownTable);
  return table ? [...quotaProblems(resource, ownTable), ...triggerProblems(resource, table)] : [noTable(ownTable, resource)];
};

export const compareSchema = (resources: readonly Resource[], catalogue: Catalogue): SchemaFindings => {
  const findings = resources.map((resource): SchemaFindings => {
    if (!isStored(resource)) return { mismatches: ownTableProblems(resource, catalogue), unfinished: [] };
    const contract = contractProblems(resource, resources);
    if (contract.length > 0) return { mismatches: contract, unfinished: [] };
    const table = catalogue.get(resource.table);
    if (table) return compareTable(resource, table);
    return { mismatches: [noTable(resource.table, resource)], unfinished: [] };
  });
  return { mismatches: findings.flatMap(({ mismatches }) => mismatches), unfinished: findings.flatMap(({ unfinished }) => unfinished) };
};

/** Throws FAILED_PRECONDITION for the first mismatch. Logs the others, and warns of each index that is still being built. */
export const requireSchema = (resources: readonly Resource[], catalogue: Catalogue, log: Log): void => {
  const { mismatches, unfinished } = compareSchema(resources, catalogue);
  for (const warning of unfinished) log("schema.index.unfinished", { warning });
  const [first, ...others] = mismatches;
  for (const problem of others) log("schema.mismatch", { problem });
  if (first !== undefined) throw new Fault("FAILED_PRECONDITION", others.length === 0 ? first : `${first} (and ${others.length} more: the log names them)`);
};
