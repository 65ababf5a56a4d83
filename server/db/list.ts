// One page of rows at and below resource paths: the statement of every List.
//
// Pagination is by keyset (field, uid), so concurrent inserts and deletes do not shift a page. `skip` is an offset within one statement.
//
// Plans are generic, because planning again would cost more than the query. So the planner knows neither the size of a branch nor the
// frequency of a value. This module does, and writes each statement so that only the intended index fits:
//
//   scan   one index has the rows in the page's order, and reading stops when the page is full
//            (uid)                order by uid: a branch is a range
//            (root, field, uid)   order by that field in a whole root; if the field is fixed, order by uid
//            (parent, name)       children of one parent by name, with another collation (behindParent)
//            (parent, uid)        children of one parent without the rows of groups below
//            (root, field, uid)   order by uid with several values of a field: a range for each, merged
//   sort   the rows are few: the most selective of these indexes, or GIN (list elements, substrings), finds them all
//
// A substring without a trigram ("a", "--") may be in every row or in none, so all rows are read in disk order. In index order a million
// rows were fetched one by one (docs/decisions/0011). The same applies to substrings among the children of one parent.
//
// If no index is both ordered and selective, the number of rows decides: at most sortRowsMax are sorted, more are scanned and filtered.
// The caller counts first if it is unknown (`needsSize`). Rows with a substring or list element, or newer than a time, may all be far
// from the start. Such a scan gives up after some rows and sorts.
//
// `(uid >= $1) is true` excludes an index: it is equivalent but matches none. The planner estimates a bare range as half a percent of the
// table. `offset 0` keeps a sort. bench/plans.ts explains every case at a million rows.

import { limits } from "#base/limits.ts";
import { type Param, type Read, type Row, type StatementCost, wideCount } from "./handle.ts";
import { isBoundedByNumber, numberBefore, placesPageText } from "./numbered-logs.ts";
import { type CountedRows, countedRowsStatement, isCountedByPlace } from "./place-counts.ts";
import { type Table, versionColumn } from "./rows.ts";

/** `low` is inclusive, `high` exclusive. */
export interface Branch {
  readonly low: string;
  readonly high: string;
}

export interface Condition {
  /** A column, "parent" (the uid without its last segment), or "depth" (segments after the root). */
  readonly column: string;
  /** "has": a jsonb list contains one of the texts; "contains": LIKE; "matches": an entry of a jsonb list matches one of the LIKE patterns. */
  readonly comparison: "equal" | "any" | "after" | "before" | "false" | "null" | "set" | "has" | "contains" | "matches";
  readonly value: Param;
  /** "equal", "any", "before": indexed within each root, as "after" requires. "has", "contains": a GIN index serves this value. */
  readonly indexed?: boolean;
  /** "any": from the time in `column` on, the column `then` has the value, or there is none. Not indexed. */
  readonly until?: { readonly column: string; readonly at: string; readonly then: string | undefined };
}

export interface Selection {
  /** In order and disjoint. */
  readonly branches: readonly Branch[];
  readonly conditions: readonly Condition[];
  readonly order: { readonly column: string; readonly descending: boolean };
  readonly after: { readonly value: string; readonly uid: string } | undefined;
  readonly skip: number;
  readonly limit: number;
  readonly count: boolean;
  /** Undefined for no limit. */
  readonly countMax?: number | undefined;
  /** If known; decides between sorting and scanning. */
  readonly size: number | undefined;
  /** A bound over the whole root selects fewer rows than the branches. */
  readonly large?: boolean;
}

export interface Page {
  /** Columns in the table's order, from index `offset`. */
  readonly rows: readonly Row[];
  readonly offset: number;
  readonly total: number | undefined;
}

/** All uids: hex digits and "/" sort before "~". */
export const wholeTable: Branch = { low: "", high: "~" };

const isWholeTable = (branch: Branch): boolean => branch.low === wholeTable.low;
const rootLength = 40;
const segmentLength = 17;

const isWholeRoot = (branch: Branch): boolean =>
  branch.low.length >= rootLength && branch.low.length <= rootLength + 1 && branch.high === `${branch.low.slice(0, rootLength)}0`;

const findCondition = ({ conditions }: Selection, comparison: Condition["comparison"], column?: string): Condition | undefined =>
  conditions.find((each) => each.comparison === comparison && (column === undefined || each.column === column));

/** Restricts the branches to the children of the parent in the conditions. */
const restrictToChildren = (selection: Selection): Selection => {
  const parent = findCondition(selection, "equal", "parent");
  if (!parent) return selection;
  const below: Branch = { low: `${parent.value}/`, high: `${parent.value}0` };
  if (selection.branches.some(({ low, high }) => low <= below.low && high >= below.high)) return { ...selection, branches: [below] };
  const children = selection.branches.flatMap(({ low }) => (low.startsWith(below.low) && low.length === below.low.length + segmentLength - 1 ? [low] : []));
  const amongChildren: Condition = { column: "uid", comparison: "any", value: children };
  return { ...selection, branches: children.length > 0 ? [below] : [], conditions: [amongChildren, ...selection.conditions] };
};

// ---- strategies -------------------------------------------------------------------------------------------------

type AccessPath =
  | { readonly by: "uid" }
  /** Within each root; the field may have a bound. */
  | { readonly by: "order" }
  /** An equality or a bound. */
  | { readonly by: "field"; readonly condition: Condition }
  /** Several values. */
  | { readonly by: "values"; readonly condition: Condition }
  | { readonly by: "heap"; readonly condition: Condition }
  | { readonly by: "parent"; readonly condition: Condition };

interface Strategy {
  readonly path: AccessPath;
  /** False if the path is in order. */
  readonly sorts: boolean;
  /** Sort these rows if the first limits.nearRowsMax of the path do not fill the page. */
  readonly otherwise?: AccessPath;
  /** A log: start at the number of the lower bound. */
  readonly byNumber?: true;
}

const uidPath: AccessPath = { by: "uid" };

/** Root rows have their own index; other depths are not selective. */
const isInRoot = ({ column, value }: Condition): boolean => column === "depth" && value === 0;

/** A lower bound, or an upper one with an index. */
const isBound = ({ comparison, indexed }: Condition): boolean => comparison === "after" || (comparison === "before" && indexed === true);

/** Rows newer than a time may all be behind the older ones. */
const isBounded = (path: AccessPath): boolean => path.by === "field" && isBound(path.condition);

/** The path may select all rows of an organization or a parent. */
const isUnselective = (path: AccessPath | undefined): boolean =>
  path === undefined || (path.by === "parent" && path.condition.comparison === "equal") || isBounded(path);

/** A substring is searched in all rows of an unselective path. */
const looksThrough = (selection: Selection): boolean => findCondition(selection, "contains") !== undefined && isUnselective(mostSelectivePath(selection));

const coversWholeRoots = ({ branches }: Selection): boolean => branches.every((branch) => isWholeTable(branch) || isWholeRoot(branch));

/** The index with the fewest matches; undefined if only the branches restrict the rows. */
const mostSelectivePath = (selection: Selection): AccessPath | undefined => {
  if (findCondition(selection, "any", "uid") || selection.conditions.some(isInRoot)) return uidPath;
  const parent = findCondition(selection, "equal", "parent") ?? findCondition(selection, "any", "parent");
  if (parent) return { by: "parent", condition: parent };
  const fixed = selection.conditions.find(({ comparison, indexed }) => comparison === "equal" && indexed === true);
  if (fixed) return { by: "field", condition: fixed };
  const several = selection.conditions.find(({ comparison, indexed }) => indexed === true && ["any", "has", "contains"].includes(comparison));
  if (several) return { by: several.comparison === "any" ? "values" : "heap", condition: several };
  const bounded = selection.conditions.find(isBound);
  // In part of a root, this index also reads the other parts.
  return bounded && (coversWholeRoots(selection) || selection.large) ? { by: "field", condition: bounded } : undefined;
};

const countRanges = ({ branches }: Selection, { condition: { value } }: AccessPath & { readonly by: "values" }): number =>
  branches.length * (Array.isArray(value) ? value.length : 1);

/** The strategy for any number of rows; undefined if the number decides. */
const strategyOfAnySize = (selection: Selection): Strategy | undefined => {
  const { column } = selection.order;
  const path = mostSelectivePath(selection);
  if (looksThrough(selection)) return undefined;
  switch (path?.by) {
    case undefined:
      if (column === "uid") return selection.conditions.some(isBound) ? undefined : { path: uidPath, sorts: false };
      return coversWholeRoots(selection) ? { path: { by: "order" }, sorts: false } : undefined;
    // No ordered index finds these.
    case "uid":
      return { path, sorts: column !== "uid" };
    case "parent":
      return column === "name" && path.condition.comparison === "equal" ? { path, sorts: false } : undefined;
    case "field": {
      const fixed = path.condition.comparison === "equal";
      return column === path.condition.column || (fixed && column === "uid") ? { path, sorts: false } : undefined;
    }
    case "values":
      return column === "uid" && countRanges(selection, path) <= limits.mergedRangesMax ? { path, sorts: false } : undefined;
    case "heap":
    case "order":
      return undefined;
  }
};

/** The column after the parent in the parent index; in other tables the uid (list-plans.test.ts). */
export const columnsBehindParent: readonly string[] = ["name", "identity_uid", "position", "pattern"];

const isInOrderOf = (path: AccessPath, { columns }: Table, { column }: Selection["order"]): boolean =>
  path.by === "parent" &&
  path.condition.comparison === "equal" &&
  (column === "name" || (column === "uid" && !columnsBehindParent.some((each) => columns.includes(each))));

/** Existing and deleted rows have separate indexes. */
const asksForBoth = ({ columns }: Table, { order, conditions }: Selection): boolean =>
  columns.includes("delete_time") && order.column !== "uid" && !conditions.some(({ column }) => column === "delete_time");

const chooseStrategy = (table: Table, selection: Selection): Strategy => {
  const ofAnySize = strategyOfAnySize(selection);
  if (ofAnySize) return ofAnySize;
  const path = mostSelectivePath(selection);
  // Merging reads a page of each range; a scan filters out more rows the fewer are selected.
  if (path?.by === "values" && selection.order.column === "uid") {
    return { path: countRanges(selection, path) * (selection.size ?? 0) <= limits.mergedRowsMax ? path : uidPath, sorts: false };
  }
  if ((selection.size ?? 0) <= limits.sortRowsMax) return { path: path ?? uidPath, sorts: true };
  if (path && isInOrderOf(path, table, selection.order)) return { path, sorts: false };
  const order: AccessPath = selection.order.column === "uid" ? uidPath : { by: "order" };
  if ((path === undefined || isBounded(path)) && isBoundedByNumber(table.name, selection.conditions, selection.order.column))
    return { path: order, sorts: false, byNumber: true };
  if (path && (path.by === "heap" || isBounded(path))) return { path: order, sorts: false, otherwise: path };
  return { path: order, sorts: false, ...(looksThrough(selection) ? { otherwise: path ?? uidPath } : {}) };
};

/** Returns whether the caller must count first and pass `size`. */
export const needsSize = (selection: Selection): boolean => {
  const restricted = restrictToChildren(selection);
  return restricted.size === undefined && restricted.branches.length > 0 && strategyOfAnySize(restricted) === undefined;
};

// ---- conditions -------------------------------------------------------------------------------------------------

/**
 * The parent index has another collation of the same order. With the column's own, lists of an organization would match it, and
 * PostgreSQL 18 would skip over every parent (0001_initial.sql).
 */
const behindParent = (term: string): string => `${term} collate "POSIX"`;

class Parameters {
  readonly values: Param[] = [];
  add(value: Param): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/** The planner matches indexes with comparisons, not with `is true`. */
const asFilter = (term: string): string => `(${term}) is true`;

/** For a LIKE pattern the planner expects so few rows that it would sort the whole table; for this expression it expects half. */
const asTextFilter = (term: string): string => `coalesce(${term}, false)`;

/** `left` would count 40 characters in each row. */
const isChildByLength = (parameters: Parameters, parent: string): string => `octet_length(uid) = ${parameters.add(parent.length + segmentLength)}`;

const comparisonOf = (parameters: Parameters, condition: Condition): string => {
  const { column, comparison, value, until } = condition;
  if (isInRoot(condition)) return `length(uid) = ${rootLength}`;
  if (column === "depth") {
    // For equality the planner would expect almost no rows.
    const length = rootLength + segmentLength * Number(value);
    return `${asFilter(`length(uid) > ${parameters.add(length - 1)}`)} and ${asFilter(`length(uid) < ${parameters.add(length + 1)}`)}`;
  }
  const name = column === "parent" ? "left(uid, -17)" : column;
  switch (comparison) {
    case "equal":
      return `${name} = ${parameters.add(value)}`;
    case "any": {
      const held = until ? `case when ${until.column} <= ${parameters.add(until.at)} then ${until.then ?? "null"} else ${name} end` : name;
      return `${held} = any(${parameters.add(value)})`;
    }
    case "after":
      return `${name} > ${parameters.add(value)}`;
    case "before":
      return `${name} < ${parameters.add(value)}`;
    case "matches":
      return `exists (select from jsonb_array_elements_text(${name}) as entry(value) where entry.value like any(${parameters.add(value)}::text[]))`;
    case "false":
      return `not ${name}`;
    case "null":
      return `${name} is null`;
    case "set":
      return `${name} is not null`;
    case "has":
      return `${name} ?| ${parameters.add(value)}`;
    case "contains":
      return `${name} like ${parameters.add(value)}`;
  }
};

/** SQL: parameters, or columns of a list of branches. */
interface Bounds {
  /** If there is only one. */
  readonly branch: Branch | undefined;
  low(): string;
  high(): string;
}

/** Adds parameters on first use, because PostgreSQL rejects unused ones. */
const parameterBounds = (parameters: Parameters, branch: Branch): Bounds => {
  let low: string | undefined;
  let high: string | undefined;
  return { branch, low: () => (low ??= parameters.add(branch.low)), high: () => (high ??= parameters.add(branch.high)) };
};

const lateralBounds: Bounds = { branch: undefined, low: () => "branch.low", high: () => "branch.high" };

/** Two filters; the planner would take a single range to be narrow. */
const rangeFilters = ({ branch, low, high }: Bounds): string[] =>
  branch && isWholeTable(branch) ? [] : [asFilter(`uid >= ${low()}`), asFilter(`uid < ${high()}`)];

interface Source {
  /** Rows are read once for each; undefined if the terms select them. */
  readonly branches: string | undefined;
  readonly bounds: Bounds;
  /** The row is in one of the branches. */
  readonly within: readonly string[];
}

/** `column` as the index has it. */
const afterCursor = (parameters: Parameters, { after, order }: Selection, column = order.column): string[] => {
  if (!after) return [];
  const sign = order.descending ? "<" : ">";
  if (order.column === "uid") return [`uid ${sign} ${parameters.add(after.uid)}`];
  return [`(${column}, uid) ${sign} (${parameters.add(after.value)}, ${parameters.add(after.uid)})`];
};

/** An index scan can start at the cursor or at a bound; the cursor is tighter. */
const isBehindCursor = ({ after, order }: Selection, { column, comparison }: Condition): boolean =>
  comparison === (order.descending ? "before" : "after") && column === order.column && after !== undefined;

const isScannedByUid = ({ order }: Selection, path: AccessPath, readsAll: boolean): boolean => path.by === "parent" && !readsAll && order.column === "uid";

const isOfPartialIndex = ({ comparison }: Condition): boolean => ["null", "set", "false"].includes(comparison);

/** Whether the planner may use an index for a condition outside the path. */
const mayMatchIndexes = (selection: Selection, path: AccessPath, condition: Condition, readsAll: boolean): boolean => {
  if ((condition.comparison === "before" && condition.indexed !== true) || condition.comparison === "matches" || condition.until) return false;
  if (condition.comparison === "contains" && (condition.indexed !== true || !readsAll)) return false;
  if (isOfPartialIndex(condition) || (condition.column === "depth" && !isInRoot(condition))) return true;
  switch (path.by) {
    // Without a root only the parent index matches.
    case "parent":
      return !isScannedByUid(selection, path, readsAll);
    case "uid":
      return mostSelectivePath(selection)?.by === "uid";
    case "order":
      // The index reads one range after the other and nothing between them.
      if (condition.comparison === "any") return condition.column === selection.order.column;
      return isBound(condition) && condition.column === selection.order.column && !isBehindCursor(selection, condition);
    case "field":
      // The other end of the range.
      return isBounded(path) && isBound(condition) && condition.column === path.condition.column && !isBehindCursor(selection, condition);
    case "values":
    case "heap":
      return false;
  }
};

/** Rows with one value of a field; the index has them in uid order. */
const valueRangeTerms = (parameters: Parameters, { after, order }: Selection, column: string, fixed: string, { low, high }: Bounds): string[] => {
  const last = after && parameters.add(after.uid);
  const from = last && !order.descending ? `greatest(${low()} collate "C", ${last})` : low();
  const to = last && order.descending ? `least(${high()} collate "C", ${last})` : high();
  // With `field = $1` the scan would start at the field's first row.
  const range = [`(${column}, uid) >= (${fixed}, ${from})`, `(${column}, uid) < (${fixed}, ${to})`];
  return last && !order.descending ? [...range, asFilter(`uid > ${last}`)] : range;
};

/** The conditions that are not part of the path. */
const remainingTerms = (parameters: Parameters, selection: Selection, path: AccessPath, readsAll = false): string[] => {
  const pathCondition = "condition" in path ? path.condition : undefined;
  return selection.conditions
    .filter((condition) => condition !== pathCondition)
    .map((condition) => {
      if (condition.column === "parent" && condition.comparison === "equal") return asFilter(isChildByLength(parameters, String(condition.value)));
      const term = comparisonOf(parameters, condition);
      if (!mayMatchIndexes(selection, path, condition, readsAll)) return condition.comparison === "contains" ? asTextFilter(term) : asFilter(term);
      // The parent index may also have this column.
      const isText = condition.comparison === "equal" && condition.indexed === true && typeof condition.value === "string";
      return path.by === "parent" && isText ? behindParent(term) : term;
    });
};

const parentTerms = (parameters: Parameters, { order }: Selection, condition: Condition, range: () => string[]): string[] => {
  if (condition.comparison !== "equal") return [comparisonOf(parameters, condition), ...range()];
  // The branches contain all of them. If they are sorted, a range: with `=`, the planner would expect many and read the whole table.
  if (order.column === "name") return [comparisonOf(parameters, condition)];
  const parent = parameters.add(condition.value);
  return [`left(uid, -17) between ${parent} and ${parent}`];
};

/** Reads rows in disk order: for `or` PostgreSQL builds a bitmap. No row has an empty uid. */
const inDiskOrder = (terms: readonly string[]): string[] => (terms.length === 0 ? [] : [`((${terms.join(" and ")}) or uid = '')`]);

/** Index conditions first, the rest as filters. `readsAll`: all rows, in any order. */
const pathTerms = (
  parameters: Parameters,
  selection: Selection,
  path: AccessPath,
  { bounds, within }: Source,
  readsAll: boolean | "from the table" = false,
): string[] => {
  const { branch, low, high } = bounds;
  const isUnordered = readsAll === "from the table" || (readsAll && looksThrough(selection));
  const matched = isUnordered ? inDiskOrder : (terms: readonly string[]) => terms;
  const rest = remainingTerms(parameters, selection, path, readsAll !== false);
  const root = (): string => `left(uid, 40) = left(${low()}, 40)`;
  const range = (): string[] => (within.length > 0 ? [...within] : rangeFilters(bounds));
  // The root implies the range; over a million rows the check costs more than reading them.
  const rangeIsImplied = branch !== undefined && isWholeRoot(branch) && branch.low.length === rootLength;
  const rangeInRoot = (): string[] => {
    if (rangeIsImplied) return [];
    // Only the root row is excluded.
    if (branch !== undefined && isWholeRoot(branch) && within.length === 0) return [asFilter(`uid <> ${parameters.add(branch.low.slice(0, rootLength))}`)];
    return range();
  };
  switch (path.by) {
    case "uid":
      return [...matched(branch && isWholeTable(branch) ? [] : [`uid >= ${low()}`, `uid < ${high()}`]), ...afterCursor(parameters, selection), ...rest];
    case "parent":
      if (isScannedByUid(selection, path, readsAll !== false))
        return [...valueRangeTerms(parameters, selection, "left(uid, -17)", parameters.add(path.condition.value), bounds), ...rest];
      return [
        ...matched(parentTerms(parameters, selection, path.condition, range)),
        ...afterCursor(parameters, selection, behindParent(selection.order.column)),
        ...rest,
      ];
    case "order":
      return [root(), ...rangeInRoot(), ...afterCursor(parameters, selection), ...rest];
    case "field": {
      const { condition } = path;
      if (condition.comparison === "equal")
        return [root(), ...valueRangeTerms(parameters, selection, condition.column, parameters.add(condition.value), bounds), ...rest];
      const bound = comparisonOf(parameters, condition);
      const bounded = matched([root(), isBehindCursor(selection, condition) ? asFilter(bound) : bound]);
      return [...bounded, ...rangeInRoot(), ...afterCursor(parameters, selection), ...rest];
    }
    case "values":
      return [root(), comparisonOf(parameters, path.condition), ...rangeInRoot(), ...afterCursor(parameters, selection), ...rest];
    case "heap":
      return [comparisonOf(parameters, path.condition), ...range(), ...afterCursor(parameters, selection), ...rest];
  }
};

// ---- statements -------------------------------------------------------------------------------------------------

const whereClause = (terms: readonly string[]): string => (terms.length > 0 ? ` where ${terms.join(" and ")}` : "");

const everyRoot = "(select root as low, root || '0' as high from access_versions) as branch";

const branchList = (parameters: Parameters, branches: readonly Branch[]): string =>
  `unnest(${parameters.add(branches.map(({ low }) => low))}::text[], ${parameters.add(branches.map(({ high }) => high))}::text[])` +
  " with ordinality as branch(low, high, ordinal)";

const lowsOf = (branches: readonly Branch[]): string[][] => [
  ...Map.groupBy(
    branches.map(({ low }) => low),
    ({ length }) => length,
  ).values(),
];

/** Matches prefixes of one length by hash. A binary search among a thousand took 5 µs a row, 4 s for half a million matches. */
const beginsWithAny = (parameters: Parameters, lows: readonly string[]): string =>
  `left(uid, ${lows[0]?.length ?? 0}) in (select unnest(${parameters.add(lows)}::text[]))`;

const sourceOf = (parameters: Parameters, selection: Selection, path: AccessPath): Source => {
  const { branches } = selection;
  const [only = wholeTable] = branches;
  const inRoots = path.by === "order" || path.by === "field" || path.by === "values";
  if (branches.length === 1) {
    // The operator's lists: each root is a branch.
    if (isWholeTable(only) && inRoots) return { branches: everyRoot, bounds: lateralBounds, within: [] };
    return { branches: undefined, bounds: parameterBounds(parameters, only), within: [] };
  }
  const withinBranches = (): string[] => [
    asFilter(
      lowsOf(branches)
        .map((lows) => beginsWithAny(parameters, lows))
        .join(" or "),
    ),
  ];
  if (path.by === "parent" || path.by === "heap") return { branches: undefined, bounds: lateralBounds, within: withinBranches() };
  const roots = new Set(branches.map(({ low }) => low.slice(0, rootLength)));
  if (path.by === "order" && roots.size < branches.length) {
    const wholeRoots = [...roots].map((root) => ({ low: root, high: `${root}0` }));
    return { branches: branchList(parameters, wholeRoots), bounds: lateralBounds, within: withinBranches() };
  }
  const isDescending = selection.order.column === "uid" && selection.order.descending;
  return { branches: branchList(parameters, isDescending ? branches.toReversed() : branches), bounds: lateralBounds, within: [] };
};

const orderClause = ({ column, descending }: Selection["order"], of = ""): string => {
  const direction = descending ? " desc" : "";
  return column === "uid" ? `${of}uid${direction}` : `${of}${column}${direction}, ${of}uid${direction}`;
};

/** The column that orders the path's rows. */
const scanColumn = (path: AccessPath, { order }: Selection): string => {
  if (path.by === "field") return path.condition.column;
  if (path.by === "parent") return order.column === "uid" ? "left(uid, -17)" : behindParent(order.column);
  return order.column;
};

/** A constant limit shows the planner that an ordered index pays off. */
const limitScan = (parameters: Parameters, scan: string, limit: number): string =>
  limit > limits.pageSizeMax + 1
    ? `${scan} limit ${parameters.add(limit)}`
    : `select * from (${scan} limit ${limits.pageSizeMax + 1}) as walked limit ${parameters.add(limit)}`;

/** One by one; for a join the planner might read the whole table. */
const fetchRows = (table: Table, order: Selection["order"], page: string): string => {
  const row = `select ${table.columns.join(", ")} from ${table.name} where uid = page.uid offset 0`;
  return `select held.* from (${page}) as page cross join lateral (${row}) as held order by ${orderClause(order, "held.")}`;
};

/** One index range after the other; for all values at once the planner would read most of the table. */
const valueRanges = (
  parameters: Parameters,
  selection: Selection,
  path: AccessPath & { readonly by: "values" },
  { branches, bounds }: Source,
): { readonly each: string; readonly terms: string[] } => {
  const { column, value } = path.condition;
  return {
    each: `${branches ? `${branches} cross join ` : ""}unnest(${parameters.add(value)}::text[]) as wanted(value)`,
    terms: [
      `left(uid, 40) = left(${bounds.low()}, 40)`,
      ...valueRangeTerms(parameters, selection, column, "wanted.value", bounds),
      ...remainingTerms(parameters, selection, path),
    ],
  };
};

/** A resource path with its descendants, or only these. */
const isSubtree = ({ low, high }: Branch): boolean => {
  const place = low.endsWith("/") ? low.slice(0, -1) : low;
  return high === `${place}0` && place.length >= rootLength && (place.length - rootLength) % segmentLength === 0;
};

/** Undefined if the rows must be counted. */
const countedRowsOf = ({ name }: Table, { branches, conditions, countMax }: Selection): CountedRows | undefined => {
  if (countMax !== undefined || !isCountedByPlace(name)) return undefined;
  const [only = wholeTable, ...others] = branches;
  const [condition, ...more] = conditions;
  if (condition === undefined) {
    if (isWholeTable(only)) return { of: "everything" };
    if (!branches.every(isSubtree)) return undefined;
    const lows = branches.map(({ low }) => low);
    return { of: "subtrees", places: lows.map((low) => low.replace(/\/$/, "")), uids: lows.filter((low) => !low.endsWith("/")) };
  }
  const { column, comparison, value } = condition;
  if (comparison !== "equal" || more.length > 0 || others.length > 0 || !only.low.endsWith("/") || !isSubtree(only)) return undefined;
  const place = only.low.slice(0, -1);
  const isOfChildren = (column === "parent" && value === place) || (column === "depth" && value === (only.low.length - 1 - rootLength) / segmentLength + 1);
  return isOfChildren ? { of: "children", place } : undefined;
};

const countStatement = (parameters: Parameters, table: Table, requested: Selection): string => {
  const counted = countedRowsOf(table, requested);
  if (counted) return countedRowsStatement(table.name, counted, (value) => parameters.add(value));
  const selection = { ...requested, after: undefined };
  const path = mostSelectivePath(selection) ?? uidPath;
  const source = sourceOf(parameters, selection, path);
  // A range for each value: otherwise every branch would read the whole root's rows.
  const ranges = path.by === "values" ? valueRanges(parameters, selection, path, source) : undefined;
  const each = ranges?.each ?? source.branches;
  const rows = `from ${table.name}${whereClause(ranges?.terms ?? pathTerms(parameters, selection, path, source, true))}`;
  if (selection.countMax !== undefined) {
    // `offset` keeps the planner from joining branches with all rows.
    const found = each ? `from ${each} cross join lateral (select 1 ${rows} offset 0) as each` : rows;
    return `select count(*) from (select 1 ${found} limit ${parameters.add(selection.countMax)}) as counted`;
  }
  if (!each) return `select count(*) ${rows}`;
  return `select coalesce(sum(each.rows), 0)::bigint from ${each} cross join lateral (select count(*) as rows ${rows}) as each`;
};

/** Each value's range yields the uids that the page may need by an index-only scan. Only the page's rows are fetched. */
const mergedPageText = (parameters: Parameters, table: Table, selection: Selection, path: AccessPath & { readonly by: "values" }, source: Source): string => {
  const { each, terms } = valueRanges(parameters, selection, path, source);
  const { limit, skip, order } = selection;
  const scan = `select uid from ${table.name}${whereClause(terms)} order by ${orderClause({ ...order, column: path.condition.column })}`;
  const merged = `select walked.uid from ${each} cross join lateral (${limitScan(parameters, scan, limit + skip)}) as walked`;
  return fetchRows(table, order, `${merged} order by ${orderClause(order, "walked.")} limit ${parameters.add(limit)} offset ${parameters.add(skip)}`);
};

const rowsOf = ({ columns, name }: Table): string => `select ${columns.join(", ")} from ${name}`;

const pageClauses = (parameters: Parameters, { order, limit, skip }: Selection): string =>
  ` order by ${orderClause(order)} limit ${parameters.add(limit)} offset ${parameters.add(skip)}`;

const fromBranches = ({ branches }: Source): string => `select t.* from ${branches ? `${branches} cross join lateral ` : ""}`;

const sortedPageText = (parameters: Parameters, table: Table, selection: Selection, path: AccessPath, source: Source): string => {
  const all = { ...selection, after: undefined };
  const behind = (): string => `${whereClause(afterCursor(parameters, selection))}${pageClauses(parameters, selection)}`;
  if (path.by === "values") {
    const { each, terms } = valueRanges(parameters, all, path, source);
    return `select t.* from ${each} cross join lateral (${rowsOf(table)}${whereClause(terms)} offset 0) as t${behind()}`;
  }
  const allTerms = pathTerms(parameters, all, path, source, true);
  if (path.by === "heap" || path.by === "field") {
    // Scattered and possibly wide: sort only the order columns.
    const keys = [...new Set(["uid", selection.order.column])].join(", ");
    const found = `${fromBranches(source)}(select ${keys} from ${table.name}${whereClause(allTerms)} offset 0) as t${behind()}`;
    return fetchRows(table, selection.order, found);
  }
  return `${fromBranches(source)}(${rowsOf(table)}${whereClause(allTerms)} offset 0) as t${behind()}`;
};

/** The next rows in order if they fill the page; otherwise from all rows of `otherwise`. */
const nearPageText = (parameters: Parameters, table: Table, selection: Selection, path: AccessPath, source: Source, otherwise: AccessPath): string => {
  const { conditions, order, limit, skip } = selection;
  // Only the index's own conditions, so that filtered rows count towards the limit.
  const walk = { ...selection, conditions: conditions.filter(isOfPartialIndex) };
  const terms = whereClause(pathTerms(parameters, walk, path, source));
  const scan = `select * from ${table.name}${terms} order by ${orderClause(order)} limit ${limits.nearRowsMax}`;
  const rest = conditions
    .filter((condition) => !isOfPartialIndex(condition))
    .map((condition) => (condition.comparison === "contains" ? asTextFilter : asFilter)(comparisonOf(parameters, condition)));
  const wanted = parameters.add(limit + skip);
  const near = `select ${table.columns.join(", ")} from (${scan}) as walked${whereClause(rest)} order by ${orderClause(order)} limit ${wanted}`;
  const isFull = `(select count(*) from near) >= ${wanted}`;
  const all = sortedPageText(parameters, table, { ...selection, limit: limit + skip, skip: 0 }, otherwise, sourceOf(parameters, selection, otherwise));
  return (
    `with near as materialized (${near}) select t.* from (` +
    `select near.* from near where ${isFull} union all select sorted.* from (${all}) as sorted where not ${isFull}` +
    `) as t${pageClauses(parameters, selection)}`
  );
};

/** Each group starts at the number of the lower bound. */
const logPageText = (parameters: Parameters, table: Table, selection: Selection): string => {
  const { branches, conditions, order, after, limit, skip } = selection;
  const terms = conditions.map((condition) => asFilter(comparisonOf(parameters, condition)));
  const last = after && parameters.add(after.uid);
  const wanted = parameters.add(limit + skip);
  const page = { table: table.name, branches: branchList(parameters, branches), conditions, terms, after: last, descending: order.descending, limit: wanted };
  const uids = placesPageText(page, (value) => parameters.add(value));
  return fetchRows(table, order, `${uids} order by ${orderClause(order, "walked.")} limit ${parameters.add(limit)} offset ${parameters.add(skip)}`);
};

/** Skipped rows are read from the index only. */
const orderedPageText = (parameters: Parameters, table: Table, selection: Selection, path: AccessPath, source: Source): string => {
  const { skip, limit, order } = selection;
  // The planner does not know that the range fixes the field.
  const inIndex = { ...order, column: scanColumn(path, selection) };
  // Unique names need no uid in the order.
  const isOfNames = path.by === "parent" && path.condition.comparison === "equal" && order.column === "name" && table.uniqueNames === true;
  const scanOrder = isOfNames ? `${inIndex.column}${order.descending ? " desc" : ""}` : orderClause(inIndex);
  const read = skip > 0 ? [...new Set(["uid", order.column])] : table.columns;
  const fetched = (page: string): string => (skip > 0 ? fetchRows(table, order, page) : page);
  // A bound of the number itself is among the conditions.
  const numberTerms = (): string[] => {
    if (path.by !== "order" || findCondition(selection, "after", order.column) || !isBoundedByNumber(table.name, selection.conditions, order.column)) return [];
    return [`${order.column} > ${numberBefore(table.name, selection.conditions, `left(${source.bounds.low()}, 40)`, (value) => parameters.add(value))}`];
  };
  const scan = (): string =>
    `select ${read.join(", ")} from ${table.name}${whereClause([...pathTerms(parameters, selection, path, source), ...numberTerms()])} order by ${scanOrder}`;
  if (source.branches === undefined) {
    if (skip === 0) return limitScan(parameters, scan(), limit);
    return fetched(`${scan()} limit ${parameters.add(limit)} offset ${parameters.add(skip)}`);
  }
  const rows = `${fromBranches(source)}(${limitScan(parameters, scan(), limit + skip)}) as t`;
  if (path.by !== "uid") return fetched(`${rows}${pageClauses(parameters, selection)}`);
  // Branches and their rows are in uid order, so this needs no sort and stops at the page's last row.
  return fetched(`${rows} order by branch.ordinal limit ${parameters.add(limit)} offset ${parameters.add(skip)}`);
};

/** Two indexes of the same order, each read as far as needed. */
const bothPageText = (parameters: Parameters, table: Table, selection: Selection): string => {
  const { conditions, limit, skip } = selection;
  const [there, deleted] = (["null", "set"] as const).map((comparison) => {
    const part = { ...selection, conditions: [...conditions, { column: "delete_time", comparison, value: null }], limit: limit + skip, skip: 0 };
    return pageText(parameters, table, part);
  });
  return `select t.* from ((${there}) union all (${deleted})) as t${pageClauses(parameters, selection)}`;
};

const pageText = (parameters: Parameters, table: Table, selection: Selection): string => {
  const { path, sorts, otherwise, byNumber } = chooseStrategy(table, selection);
  if (path.by === "order" && !sorts && asksForBoth(table, selection)) return bothPageText(parameters, table, selection);
  if (byNumber && path.by === "uid") return logPageText(parameters, table, selection);
  const source = sourceOf(parameters, selection, path);
  if (path.by === "values" && !sorts) return mergedPageText(parameters, table, selection, path, source);
  if (sorts) return sortedPageText(parameters, table, selection, path, source);
  // Each branch would be scanned that far.
  if (otherwise && source.branches === undefined) return nearPageText(parameters, table, selection, path, source, otherwise);
  return orderedPageText(parameters, table, selection, path, source);
};

interface PageStatement {
  readonly text: string;
  readonly values: readonly Param[];
}

export const pageStatement = (table: Table, requested: Selection, root: string | undefined): PageStatement => {
  const selection = restrictToChildren(requested);
  const parameters = new Parameters();
  const version = versionColumn(root === undefined ? undefined : parameters.add(root));
  // A scalar subquery runs once; a CTE counted for every row (measured: a sixth of the speed).
  const total = selection.count ? `(${countStatement(parameters, table, selection)})` : "null::bigint";
  const page = pageText(parameters, table, selection);
  // As columns, version and total would be sent with every row.
  const head = `select ${[version, total, ...table.columns.map(() => "null")].join(", ")}`;
  return { text: `${head} union all select null, null, t.* from (${page}) as t`, values: parameters.values };
};

/** Building a statement takes four times as long as finding it. */
const firstPages = new WeakMap<Table, Map<string, PageStatement>>();

const findPageStatement = (table: Table, requested: Selection, root: string | undefined): PageStatement => {
  if (requested.after !== undefined) return pageStatement(table, requested, root);
  const key = JSON.stringify([requested, root]);
  if (key.length > limits.keptStatementKeyMax) return pageStatement(table, requested, root);
  const kept = firstPages.get(table) ?? new Map<string, PageStatement>();
  const known = kept.get(key);
  if (known) return known;
  if (kept.size >= limits.keptStatementsMax) kept.clear();
  const statement = pageStatement(table, requested, root);
  kept.set(key, statement);
  firstPages.set(table, kept);
  return statement;
};

/** Up to this number the cost is negligible. */
const fewBranches = 8;

/** A page is cheap if nothing is counted, skipped, sorted or filtered. */
const costOf = (table: Table, selection: Selection): StatementCost => {
  const { branches, conditions, count, limit, size, skip } = selection;
  const counts = count && countedRowsOf(table, selection) === undefined;
  return { rows: limit, wide: counts || skip > 0 || size !== undefined || conditions.length > 0 || branches.length > fewBranches };
};

/** Throws DEADLINE_EXCEEDED on a timeout; never returns a shorter list. */
export const listRows = async (rows: Read, table: Table, selection: Selection): Promise<Page> => {
  const { check } = rows;
  const restricted = restrictToChildren(selection);
  if (restricted.branches.length === 0) {
    if (check) await rows.query("select 1");
    return { rows: [], offset: 0, total: 0 };
  }
  const { text, values } = findPageStatement(table, selection, check?.root);
  const found = await (check ? check.bare : rows).query(text, values, costOf(table, restricted));
  const [head, ...page] = found;
  if (check) check.confirm(head?.[0]);
  const total = head?.[1];
  return {
    rows: page,
    offset: 2,
    total: total === null || total === undefined ? undefined : Number(total),
  };
};

/** Returns whether a bounded field's index pays off in part of a root. For logs, which are read at their end. */
export const isLarge = async (rows: Read, table: Table, selection: Selection): Promise<boolean> =>
  findCondition(selection, "after") !== undefined &&
  !coversWholeRoots(selection) &&
  (await countRows(rows, table, { ...selection, conditions: [], countMax: limits.sortRowsMax + 1 })) > limits.sortRowsMax;

/** Returns a subquery of these columns of the selected rows, in any order, and its parameters. An index may have the columns, or only the table. */
const selectedText = (
  table: Table,
  requested: Selection,
  columns: string,
  readsAll: true | "from the table",
): { readonly text: string; readonly values: readonly Param[] } => {
  const selection = { ...restrictToChildren(requested), after: undefined };
  const parameters = new Parameters();
  if (selection.branches.length === 0) return { text: `select ${columns} from ${table.name} where false`, values: [] };
  const path = mostSelectivePath(selection) ?? uidPath;
  const source = sourceOf(parameters, selection, path);
  const ranges = path.by === "values" ? valueRanges(parameters, selection, path, source) : undefined;
  const each = ranges?.each ?? source.branches;
  const found = `select ${columns} from ${table.name}${whereClause(ranges?.terms ?? pathTerms(parameters, selection, path, source, readsAll))}`;
  return { text: each ? `select found.* from ${each} cross join lateral (${found}) as found` : found, values: parameters.values };
};

/** Returns a subquery of these columns of the selected rows, in any order, and its parameters. */
export const selectedRows = (table: Table, selection: Selection, columns: string) => selectedText(table, selection, columns, "from the table");

/** Returns the number of rows for each value of a column; values without rows are absent. */
export const countRowsBy = async (rows: Read, table: Table, selection: Selection, column: string): Promise<ReadonlyMap<string, number>> => {
  const { text, values } = selectedText(table, selection, `${column} as value`, true);
  const found = await rows.query(`select value, count(*) from (${text}) as found group by 1`, values, wideCount);
  return new Map(found.map(([value, count]) => [value ?? "", Number(count)]));
};

export interface DayCount {
  /** The day in UTC, such as "2026-04-30". */
  readonly day: string;
  /** Selected rows. */
  readonly count: number;
  /** Rows of the organization, selected or not. */
  readonly read: number;
}

/**
 * Counts the selected rows of an organization by day, newest first, among its newest `rowsMax` rows that were created at `since` or later.
 * The index by time bounds the work for any condition and branch. Without conditions, only the index is read.
 */
export const countRowsByDay = async (
  rows: Read,
  table: Table,
  requested: Selection,
  root: string,
  { since, rowsMax, daysMax }: { readonly since: string; readonly rowsMax: number; readonly daysMax: number },
): Promise<DayCount[]> => {
  const { branches, conditions } = restrictToChildren(requested);
  if (branches.length === 0) return [];
  const parameters = new Parameters();
  const inRoot = `left(uid, 40) = ${parameters.add(root)} and create_time >= ${parameters.add(since)}`;
  const [only] = branches;
  const within =
    branches.length === 1 && only
      ? rangeFilters(parameterBounds(parameters, only))
      : [
          lowsOf(branches)
            .map((lows) => beginsWithAny(parameters, lows))
            .join(" or "),
        ];
  const terms = [...within, ...conditions.map((condition) => asFilter(comparisonOf(parameters, condition)))];
  const selected = terms.length === 0 ? "true" : terms.map((term) => `(${term})`).join(" and ");
  // The planner expects few values of an expression of a subquery, so it groups by hash instead of sorting.
  const newest = `select (create_time at time zone 'UTC')::date as day, ${selected} as selected from ${table.name} where ${inRoot}
    order by create_time desc, uid desc limit ${parameters.add(rowsMax)}`;
  const found = await rows.query(
    `select day::text, count(*) filter (where selected), count(*) from (${newest}) as newest group by day order by newest.day desc`,
    parameters.values,
    { rows: daysMax, wide: true },
  );
  return found.map(([day, count, read]) => ({ day: day ?? "", count: Number(count), read: Number(read) }));
};

export const countRows = async (rows: Read, table: Table, requested: Selection): Promise<number> => {
  const selection = restrictToChildren(requested);
  if (selection.branches.length === 0) return 0;
  const parameters = new Parameters();
  const text = countStatement(parameters, table, selection);
  const [row] = await rows.query(text, parameters.values, wideCount);
  return Number(row?.[0] ?? 0);
};
