// One page of rows in order, at and below resource paths: the statement behind every List.
//
// Keyset, never offset, between pages: ordered by (field, uid), a page starts after the last row of the one before,
// so nobody's insert or delete shifts it. `skip` is an offset within one page's statement.
//
// The planner runs with generic plans (planning anew would cost more than the query), so it sees neither how large
// a branch is nor how frequent a value. We do, and write each statement so that only the index we mean serves it.
// There are two strategies:
//
//   scan   one index gives the rows in the page's order, and reading stops when the page is full
//            (uid)                order by uid: a branch is a range
//            (root, field, uid)   order by that field in an entire root; or where a condition fixes the field, order
//                                 by uid: a branch is a range of (field, uid)
//            (parent, name)       the children of one parent by name, which is in another collation there (behindParent)
//            (parent, uid)        the children of one parent, without the rows of groups below, where a table has it
//            (root, field, uid)   order by uid, where a condition leaves several values of a field: a range for each,
//                                 merged
//   sort   the rows are few: the most selective of these indexes, or one without an order (GIN: elements of lists,
//          parts of texts), finds them all, then they are sorted
//
// A text of which no index knows a part ("a", "--") may be in every row or in none: all rows of the selection are looked
// through, in the order in which they lie on the disk. In that of an index a million of them were fetched one by one
// (docs/decisions/0030). So is any text among the children of one parent, of which nobody knows how many they are.
//
// Where no index gives order and selectivity at once, the number of rows decides: at most sortRowsMax are sorted; more
// of them lie so close in the order's index that scanning it and filtering out the others is quicker. Until the number
// is known, the caller counts first (`needsSize`). Those that have a text or an element of a list, or are newer than a time, may
// lie together, far behind the order's beginning: some way behind it the scan gives up, and they are sorted all the same.
//
// How an index is kept out: by `(uid >= $1) is true`, which means the same and matches none; the planner takes any bare
// range for half a percent of the table. How a sort is kept a sort: by `offset 0`, behind which the planner does not
// look. bench/plans.ts explains every case at a million rows.

import { limits } from "#base/limits.ts";
import { type Param, type Read, type Row, type StatementCost, wideCount } from "./handle.ts";
import { isBoundedByNumber, numberBefore, placesPageText } from "./numbered-logs.ts";
import { type CountedRows, countedRowsStatement, isCountedByPlace } from "./place-counts.ts";
import { type Table, versionColumn } from "./rows.ts";

/** Uids from `low` (included) to `high` (excluded). */
export interface Branch {
  readonly low: string;
  readonly high: string;
}

export interface Condition {
  /** A column of the table; "parent" is the uid without its last segment, "depth" the number of its segments after the root. */
  readonly column: string;
  /** "has": the column is a list (jsonb) with one of the texts; "contains": it matches the pattern of LIKE. */
  readonly comparison: "equal" | "any" | "after" | "false" | "null" | "set" | "has" | "contains";
  readonly value: Param;
  /**
   * "equal", "any": the column has an index of its own inside each root. ("after" is for such columns alone.)
   * "has", "contains": it has a GIN index that serves this value.
   */
  readonly indexed?: boolean;
}

export interface Selection {
  /** In order, none within another. */
  readonly branches: readonly Branch[];
  readonly conditions: readonly Condition[];
  readonly order: { readonly column: string; readonly descending: boolean };
  /** The last row of the page before. */
  readonly after: { readonly value: string; readonly uid: string } | undefined;
  readonly skip: number;
  readonly limit: number;
  /** Count all that is selected, in the same statement. */
  readonly count: boolean;
  /** Counting stops here; absent: nowhere. */
  readonly countMax?: number | undefined;
  /** How many rows the selection is known to have; decides between sorting and scanning. */
  readonly size: number | undefined;
  /** True: the branches hold so many rows that a lower bound leads to fewer, though to those of the whole root. */
  readonly large?: boolean;
}

export interface Page {
  /** Columns in the table's order from index `offset` on. */
  readonly rows: readonly Row[];
  readonly offset: number;
  readonly total: number | undefined;
}

/** All uids: hex digits and "/" sort before "~". */
export const wholeTable: Branch = { low: "", high: "~" };

const isWholeTable = (branch: Branch): boolean => branch.low === wholeTable.low;
const rootLength = 40;
const segmentLength = 17;

/** A whole organization, with or without its root row. */
const isWholeRoot = (branch: Branch): boolean =>
  branch.low.length >= rootLength && branch.low.length <= rootLength + 1 && branch.high === `${branch.low.slice(0, rootLength)}0`;

/** A condition of this comparison, on this column where one is named. */
const findCondition = ({ conditions }: Selection, comparison: Condition["comparison"], column?: string): Condition | undefined =>
  conditions.find((each) => each.comparison === comparison && (column === undefined || each.column === column));

/**
 * The same selection with its branches reduced to the children of the parent that a condition asks for: all of them,
 * some that are branches of their own, or none.
 */
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

/** An index, by the columns that it begins with. */
type AccessPath =
  | { readonly by: "uid" }
  /** The order's own inside each root; its field may have a lower bound. */
  | { readonly by: "order" }
  /** A field that a condition fixes, or bounds from below. */
  | { readonly by: "field"; readonly condition: Condition }
  /** A field for which a condition has several values. */
  | { readonly by: "values"; readonly condition: Condition }
  /** An index without an order. */
  | { readonly by: "heap"; readonly condition: Condition }
  | { readonly by: "parent"; readonly condition: Condition };

interface Strategy {
  readonly path: AccessPath;
  /** True: sort what the path finds; false: the path gives the order. */
  readonly sorts: boolean;
  /** Where the first limits.nearRowsMax rows of the path do not fill the page: sort what this path finds. */
  readonly otherwise?: AccessPath;
  /** True: of a log, from the number that its lower bound leads to. */
  readonly byNumber?: true;
}

const uidPath: AccessPath = { by: "uid" };

/** Rows at the root are few among many, and have an index of their own; any other depth is not selective. */
const isInRoot = ({ column, value }: Condition): boolean => column === "depth" && value === 0;

/** What is newer than a time may lie behind all that is older, in any order in which rows are made (numbers, uids with numbers). */
const isBounded = (path: AccessPath): boolean => path.by === "field" && path.condition.comparison === "after";

/** Paths that may lead to all rows of an organization, or of a parent. */
const isUnselective = (path: AccessPath | undefined): boolean =>
  path === undefined || (path.by === "parent" && path.condition.comparison === "equal") || isBounded(path);

/** A text is looked for in all rows of an unselective path. One that an index knows has a path of its own, but for one parent. */
const looksThrough = (selection: Selection): boolean => findCondition(selection, "contains") !== undefined && isUnselective(mostSelectivePath(selection));

const coversWholeRoots = ({ branches }: Selection): boolean => branches.every((branch) => isWholeTable(branch) || isWholeRoot(branch));

/** The index that leads to the fewest rows, whatever their order; undefined where only the branches restrict them. */
const mostSelectivePath = (selection: Selection): AccessPath | undefined => {
  if (findCondition(selection, "any", "uid") || selection.conditions.some(isInRoot)) return uidPath;
  const parent = findCondition(selection, "equal", "parent") ?? findCondition(selection, "any", "parent");
  if (parent) return { by: "parent", condition: parent };
  const fixed = selection.conditions.find(({ comparison, indexed }) => comparison === "equal" && indexed === true);
  if (fixed) return { by: "field", condition: fixed };
  const several = selection.conditions.find(({ comparison, indexed }) => indexed === true && ["any", "has", "contains"].includes(comparison));
  if (several) return { by: several.comparison === "any" ? "values" : "heap", condition: several };
  const bounded = findCondition(selection, "after");
  // In a part of a root the index of a bounded field leads through the other parts too.
  return bounded && (coversWholeRoots(selection) || selection.large) ? { by: "field", condition: bounded } : undefined;
};

/** How many ranges are merged: one for each value and branch. */
const countRanges = ({ branches }: Selection, { condition: { value } }: AccessPath & { readonly by: "values" }): number =>
  branches.length * (Array.isArray(value) ? value.length : 1);

/** The strategy that is right however many rows there are; undefined where their number decides. */
const strategyOfAnySize = (selection: Selection): Strategy | undefined => {
  const { column } = selection.order;
  const path = mostSelectivePath(selection);
  if (looksThrough(selection)) return undefined;
  switch (path?.by) {
    case undefined:
      if (column === "uid") return findCondition(selection, "after") ? undefined : { path: uidPath, sorts: false };
      return coversWholeRoots(selection) ? { path: { by: "order" }, sorts: false } : undefined;
    // Uids of the request, or roots: no order's index leads to these.
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

/** What stands behind the parent in its index, where a table has it; in that of the others it is the uid (list-plans.test.ts holds it). */
export const columnsBehindParent: readonly string[] = ["name", "identity_uid", "position"];

/** The children of one parent, in the page's order. */
const isInOrderOf = (path: AccessPath, { columns }: Table, { column }: Selection["order"]): boolean =>
  path.by === "parent" &&
  path.condition.comparison === "equal" &&
  (column === "name" || (column === "uid" && !columnsBehindParent.some((each) => columns.includes(each))));

/** What is there and what is deleted stand in two indexes of each order (0023_orders_of_deleted_advisories.sql). Behind a time they are sorted by it. */
const asksForBoth = ({ columns }: Table, { order, conditions }: Selection): boolean =>
  columns.includes("delete_time") && order.column !== "uid" && !conditions.some(({ column }) => column === "delete_time");

const chooseStrategy = (table: Table, selection: Selection): Strategy => {
  const ofAnySize = strategyOfAnySize(selection);
  if (ofAnySize) return ofAnySize;
  const path = mostSelectivePath(selection);
  // Merging reads a page of each range; a scan filters out the more rows the fewer are selected.
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

/**
 * True where the right statement depends on how many rows there are and nobody has counted yet: the caller counts
 * first and passes `size`.
 */
export const needsSize = (selection: Selection): boolean => {
  const restricted = restrictToChildren(selection);
  return restricted.size === undefined && restricted.branches.length > 0 && strategyOfAnySize(restricted) === undefined;
};

// ---- conditions -------------------------------------------------------------------------------------------------

/**
 * A text as the parent's index has it: in another collation of the same order. In the column's own the index would match
 * lists of a whole organization, too, for which PostgreSQL 18 skips over every parent of the table (0001_initial.sql).
 */
const behindParent = (term: string): string => `${term} collate "POSIX"`;

class Parameters {
  readonly values: Param[] = [];
  add(value: Param): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/** The same, as a filter alone: the planner matches indexes with a comparison, not with `is true` of one. */
const asFilter = (term: string): string => `(${term}) is true`;

/**
 * A part of a text as a filter. Of its pattern the planner expects so few rows that it would rather sort the whole table than
 * go through an index in the page's order; of this it expects every second one.
 */
const asTextFilter = (term: string): string => `coalesce(${term}, false)`;

/** The children of a parent among the rows of its branch: `left` would look for the ends of 40 characters in each of them. */
const isChildByLength = (parameters: Parameters, parent: string): string => `octet_length(uid) = ${parameters.add(parent.length + segmentLength)}`;

const comparisonOf = (parameters: Parameters, condition: Condition): string => {
  const { column, comparison, value } = condition;
  if (isInRoot(condition)) return `length(uid) = ${rootLength}`;
  if (column === "depth") {
    // In two halves, or the planner would expect almost no rows.
    const length = rootLength + segmentLength * Number(value);
    return `${asFilter(`length(uid) > ${parameters.add(length - 1)}`)} and ${asFilter(`length(uid) < ${parameters.add(length + 1)}`)}`;
  }
  const name = column === "parent" ? "left(uid, -17)" : column;
  switch (comparison) {
    case "equal":
      return `${name} = ${parameters.add(value)}`;
    case "any":
      return `${name} = any(${parameters.add(value)})`;
    case "after":
      return `${name} > ${parameters.add(value)}`;
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

/** The bounds of a branch, in SQL: parameters, or columns of a list of branches. */
interface Bounds {
  /** The branch itself, where there is one. */
  readonly branch: Branch | undefined;
  low(): string;
  high(): string;
}

/** Parameters are added when they are first used: PostgreSQL refuses one that the statement does not mention. */
const parameterBounds = (parameters: Parameters, branch: Branch): Bounds => {
  let low: string | undefined;
  let high: string | undefined;
  return { branch, low: () => (low ??= parameters.add(branch.low)), high: () => (high ??= parameters.add(branch.high)) };
};

const lateralBounds: Bounds = { branch: undefined, low: () => "branch.low", high: () => "branch.high" };

/** The range of a branch as filters. Each alone: the two together the planner would take for a narrow range. */
const rangeFilters = ({ branch, low, high }: Bounds): string[] =>
  branch && isWholeTable(branch) ? [] : [asFilter(`uid >= ${low()}`), asFilter(`uid < ${high()}`)];

interface Source {
  /** Rows are read once for each of these; undefined: the terms alone decide which. */
  readonly branches: string | undefined;
  readonly bounds: Bounds;
  /** Further terms: that a row lies in one of the branches. */
  readonly within: readonly string[];
}

/** After the last row of the page before. `column`: the order's, as the index has it. */
const afterCursor = (parameters: Parameters, { after, order }: Selection, column = order.column): string[] => {
  if (!after) return [];
  const sign = order.descending ? "<" : ">";
  if (order.column === "uid") return [`uid ${sign} ${parameters.add(after.uid)}`];
  return [`(${column}, uid) ${sign} (${parameters.add(after.value)}, ${parameters.add(after.uid)})`];
};

/** The cursor is a closer bound than a lower bound of the same field, and an index scan begins at one of them only. */
const isBehindCursor = ({ after, order }: Selection, { column, comparison }: Condition): boolean =>
  comparison === "after" && column === order.column && after !== undefined && !order.descending;

/** Children of one parent in the order of their uids are read by that index alone. */
const isScannedByUid = ({ order }: Selection, path: AccessPath, readsAll: boolean): boolean => path.by === "parent" && !readsAll && order.column === "uid";

/** A condition that indexes have in their predicates. */
const isOfPartialIndex = ({ comparison }: Condition): boolean => ["null", "set", "false"].includes(comparison);

/** Whether the planner may match a condition with indexes, beside the path that another condition made. */
const mayMatchIndexes = (selection: Selection, path: AccessPath, condition: Condition, readsAll: boolean): boolean => {
  if (condition.comparison === "contains" && (condition.indexed !== true || !readsAll)) return false;
  if (isOfPartialIndex(condition) || (condition.column === "depth" && !isInRoot(condition))) return true;
  switch (path.by) {
    // No index but the parent's own serves without a root.
    case "parent":
      return !isScannedByUid(selection, path, readsAll);
    case "uid":
      return mostSelectivePath(selection)?.by === "uid";
    case "order":
      // Of several values of the order's own field the index gives each range in turn, and nothing between them.
      if (condition.comparison === "any") return condition.column === selection.order.column;
      return condition.comparison === "after" && condition.column === selection.order.column && !isBehindCursor(selection, condition);
    case "field":
    case "values":
    case "heap":
      return false;
  }
};

/** The rows of one value of a field in one branch, after the last row of the page before: in its index they are in order of uids. */
const valueRangeTerms = (parameters: Parameters, { after, order }: Selection, column: string, fixed: string, { low, high }: Bounds): string[] => {
  const last = after && parameters.add(after.uid);
  const from = last && !order.descending ? `greatest(${low()} collate "C", ${last})` : low();
  const to = last && order.descending ? `least(${high()} collate "C", ${last})` : high();
  // As a range alone: beside `field = $1` the index would be scanned from the field's first row on.
  const range = [`(${column}, uid) >= (${fixed}, ${from})`, `(${column}, uid) < (${fixed}, ${to})`];
  return last && !order.descending ? [...range, asFilter(`uid > ${last}`)] : range;
};

/** The conditions that did not make the path. */
const remainingTerms = (parameters: Parameters, selection: Selection, path: AccessPath, readsAll = false): string[] => {
  const pathCondition = "condition" in path ? path.condition : undefined;
  return selection.conditions
    .filter((condition) => condition !== pathCondition)
    .map((condition) => {
      if (condition.column === "parent" && condition.comparison === "equal") return asFilter(isChildByLength(parameters, String(condition.value)));
      const term = comparisonOf(parameters, condition);
      if (!mayMatchIndexes(selection, path, condition, readsAll)) return condition.comparison === "contains" ? asTextFilter(term) : asFilter(term);
      // What has an index in each root and is compared with a text is one; the parent's index may have it too.
      const isText = condition.comparison === "equal" && condition.indexed === true && typeof condition.value === "string";
      return path.by === "parent" && isText ? behindParent(term) : term;
    });
};

/** The children of one parent or of several. */
const parentTerms = (parameters: Parameters, { order }: Selection, condition: Condition, range: () => string[]): string[] => {
  if (condition.comparison !== "equal") return [comparisonOf(parameters, condition), ...range()];
  // The branches hold all of them (restrictToChildren). Where they are not scanned by name but sorted, as a range: in a
  // table of few parents with many children each the planner would expect as many here, and read the whole table.
  if (order.column === "name") return [comparisonOf(parameters, condition)];
  const parent = parameters.add(condition.value);
  return [`left(uid, -17) between ${parent} and ${parent}`];
};

/**
 * The same rows, in the order in which they lie on the disk: PostgreSQL finds what one of two terms holds for by a bitmap of
 * rows, and reads these once. No row has an empty uid.
 */
const inDiskOrder = (terms: readonly string[]): string[] => (terms.length === 0 ? [] : [`((${terms.join(" and ")}) or uid = '')`]);

/** The rows of one branch by `path`: what its index matches, and the rest as filters. `readsAll`: in any order, all of them. */
const pathTerms = (parameters: Parameters, selection: Selection, path: AccessPath, { bounds, within }: Source, readsAll = false): string[] => {
  const { branch, low, high } = bounds;
  const matched = readsAll && looksThrough(selection) ? inDiskOrder : (terms: readonly string[]) => terms;
  const rest = remainingTerms(parameters, selection, path, readsAll);
  const root = (): string => `left(uid, 40) = left(${low()}, 40)`;
  const range = (): string[] => (within.length > 0 ? [...within] : rangeFilters(bounds));
  // A whole root with its own row needs no range beside the term of the root: among a million rows it costs more than they do.
  const rangeIsImplied = branch !== undefined && isWholeRoot(branch) && branch.low.length === rootLength;
  const rangeInRoot = (): string[] => {
    if (rangeIsImplied) return [];
    // Of all below a root one row is not there: its own.
    if (branch !== undefined && isWholeRoot(branch) && within.length === 0) return [asFilter(`uid <> ${parameters.add(branch.low.slice(0, rootLength))}`)];
    return range();
  };
  switch (path.by) {
    case "uid":
      return [...matched(branch && isWholeTable(branch) ? [] : [`uid >= ${low()}`, `uid < ${high()}`]), ...afterCursor(parameters, selection), ...rest];
    case "parent":
      if (isScannedByUid(selection, path, readsAll))
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

/** The lower bounds of branches, by their length. */
const lowsOf = (branches: readonly Branch[]): string[][] => [
  ...Map.groupBy(
    branches.map(({ low }) => low),
    ({ length }) => length,
  ).values(),
];

/**
 * Whether a row lies in one of the branches that begin with these, all of one length: its uid then begins like one of them.
 * Found by hash. By halving a thousand of them, each of which PostgreSQL reads from the first on, a row took 5 µs, and half a
 * million of a frequent text 4 s.
 */
const beginsWithAny = (parameters: Parameters, lows: readonly string[]): string =>
  `left(uid, ${lows[0]?.length ?? 0}) in (select unnest(${parameters.add(lows)}::text[]))`;

/** Which branches the rows of a path are read from. */
const sourceOf = (parameters: Parameters, selection: Selection, path: AccessPath): Source => {
  const { branches } = selection;
  const [only = wholeTable] = branches;
  const inRoots = path.by === "order" || path.by === "field" || path.by === "values";
  if (branches.length === 1) {
    // The operator's lists by an index that begins with the root: each root is a branch of its own.
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

/** The column that a path gives the rows in the order of, as its index has it. */
const scanColumn = (path: AccessPath, { order }: Selection): string => {
  if (path.by === "field") return path.condition.column;
  if (path.by === "parent") return order.column === "uid" ? "left(uid, -17)" : behindParent(order.column);
  return order.column;
};

/** The scan up to `limit` rows. A limit that the planner can read tells it that an ordered index pays. */
const limitScan = (parameters: Parameters, scan: string, limit: number): string =>
  limit > limits.pageSizeMax + 1
    ? `${scan} limit ${parameters.add(limit)}`
    : `select * from (${scan} limit ${limits.pageSizeMax + 1}) as walked limit ${parameters.add(limit)}`;

/** The rows of a page's uids. One by one: for a join the planner might read the whole table. */
const fetchRows = (table: Table, order: Selection["order"], page: string): string => {
  const row = `select ${table.columns.join(", ")} from ${table.name} where uid = page.uid offset 0`;
  return `select held.* from (${page}) as page cross join lateral (${row}) as held order by ${orderClause(order, "held.")}`;
};

/**
 * The rows of each of several values, one range of the field's index after the other. For all of them at once the
 * planner would expect most of the table, and read it.
 */
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

/** True where a branch is a resource path and what lies below it, or what lies below alone. */
const isSubtree = ({ low, high }: Branch): boolean => {
  const place = low.endsWith("/") ? low.slice(0, -1) : low;
  return high === `${place}0` && place.length >= rootLength && (place.length - rootLength) % segmentLength === 0;
};

/** The rows of a selection without filters, whose number is kept; undefined where they must be counted. */
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
  // Of several values each one's range in each branch: for all at once, every branch would read what the whole root has of them.
  const ranges = path.by === "values" ? valueRanges(parameters, selection, path, source) : undefined;
  const each = ranges?.each ?? source.branches;
  const rows = `from ${table.name}${whereClause(ranges?.terms ?? pathTerms(parameters, selection, path, source, true))}`;
  if (selection.countMax !== undefined) {
    // Behind an offset the planner goes branch by branch, and does not join them with all rows.
    const found = each ? `from ${each} cross join lateral (select 1 ${rows} offset 0) as each` : rows;
    return `select count(*) from (select 1 ${found} limit ${parameters.add(selection.countMax)}) as counted`;
  }
  if (!each) return `select count(*) ${rows}`;
  return `select coalesce(sum(each.rows), 0)::bigint from ${each} cross join lateral (select count(*) as rows ${rows}) as each`;
};

/**
 * In the order of uids, the rows with one of several values: each value's range gives as many uids as the page may
 * need, by an index-only scan, and only the page's own rows are read.
 */
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

/** All that the path finds, sorted. */
const sortedPageText = (parameters: Parameters, table: Table, selection: Selection, path: AccessPath, source: Source): string => {
  const all = { ...selection, after: undefined };
  const behind = (): string => `${whereClause(afterCursor(parameters, selection))}${pageClauses(parameters, selection)}`;
  if (path.by === "values") {
    const { each, terms } = valueRanges(parameters, all, path, source);
    return `select t.* from ${each} cross join lateral (${rowsOf(table)}${whereClause(terms)} offset 0) as t${behind()}`;
  }
  const allTerms = pathTerms(parameters, all, path, source, true);
  if (path.by === "heap" || path.by === "field") {
    // They lie scattered and may be wide: only the columns of the order are sorted.
    const keys = [...new Set(["uid", selection.order.column])].join(", ");
    const found = `${fromBranches(source)}(select ${keys} from ${table.name}${whereClause(allTerms)} offset 0) as t${behind()}`;
    return fetchRows(table, selection.order, found);
  }
  return `${fromBranches(source)}(${rowsOf(table)}${whereClause(allTerms)} offset 0) as t${behind()}`;
};

/** The page from the order's next rows, where these fill it; otherwise, and then alone, from all that `otherwise` finds. */
const nearPageText = (parameters: Parameters, table: Table, selection: Selection, path: AccessPath, source: Source, otherwise: AccessPath): string => {
  const { conditions, order, limit, skip } = selection;
  // Only what the index itself says, so that a row that is passed over counts too.
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

/** The page of a log in the order of uids, from where its lower bound leads to in each place. */
const logPageText = (parameters: Parameters, table: Table, selection: Selection): string => {
  const { branches, conditions, order, after, limit, skip } = selection;
  const terms = conditions.map((condition) => asFilter(comparisonOf(parameters, condition)));
  const last = after && parameters.add(after.uid);
  const wanted = parameters.add(limit + skip);
  const page = { table: table.name, branches: branchList(parameters, branches), conditions, terms, after: last, descending: order.descending, limit: wanted };
  const uids = placesPageText(page, (value) => parameters.add(value));
  return fetchRows(table, order, `${uids} order by ${orderClause(order, "walked.")} limit ${parameters.add(limit)} offset ${parameters.add(skip)}`);
};

/**
 * The page from an index in its order. Rows that are skipped are read from the index alone: only the page's own are fetched.
 */
const orderedPageText = (parameters: Parameters, table: Table, selection: Selection, path: AccessPath, source: Source): string => {
  const { skip, limit, order } = selection;
  // The planner does not know that a range of one field's value fixes it: the statement has the index's own order.
  const inIndex = { ...order, column: scanColumn(path, selection) };
  // Unique names of one parent are in order without their uids, which their index has beside its keys.
  const isOfNames = path.by === "parent" && path.condition.comparison === "equal" && order.column === "name" && table.uniqueNames === true;
  const scanOrder = isOfNames ? `${inIndex.column}${order.descending ? " desc" : ""}` : orderClause(inIndex);
  const read = skip > 0 ? [...new Set(["uid", order.column])] : table.columns;
  const fetched = (page: string): string => (skip > 0 ? fetchRows(table, order, page) : page);
  // Where the numbers begin that a time leads to; of a number itself the conditions say it.
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
  // Branches are apart and in the order of uids, and so are the rows of each. Those of one branch after the other need no sort, and
  // the last row of the page ends the statement.
  return fetched(`${rows} order by branch.ordinal limit ${parameters.add(limit)} offset ${parameters.add(skip)}`);
};

/** The page from two indexes of the order, each read as far as the page may need. */
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
  // Of many branches each would be walked as far.
  if (otherwise && source.branches === undefined) return nearPageText(parameters, table, selection, path, source, otherwise);
  return orderedPageText(parameters, table, selection, path, source);
};

interface PageStatement {
  readonly text: string;
  readonly values: readonly Param[];
}

/** The statement of a page and its parameters; also what the benchmark replays. */
export const pageStatement = (table: Table, requested: Selection, root: string | undefined): PageStatement => {
  const selection = restrictToChildren(requested);
  const parameters = new Parameters();
  const version = versionColumn(root === undefined ? undefined : parameters.add(root));
  // A scalar subquery runs once; in a CTE the planner counted again for every row (measured: a sixth of the speed).
  const total = selection.count ? `(${countStatement(parameters, table, selection)})` : "null::bigint";
  const page = pageText(parameters, table, selection);
  // A row of its own for version and total: beside every row they would be sent, and read, as often as there are rows.
  const head = `select ${[version, total, ...table.columns.map(() => "null")].join(", ")}`;
  return { text: `${head} union all select null, null, t.* from (${page}) as t`, values: parameters.values };
};

/** Statements of first pages, which are asked for again and again. Making one takes four times as long as finding it. */
const firstPages = new WeakMap<Table, Map<string, PageStatement>>();

/** Returns what `pageStatement` does. */
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

/** So many branches cost next to nothing. */
const fewBranches = 8;

/** A page reads no more rows than it has if none are counted, skipped, sorted or filtered. */
const costOf = (table: Table, selection: Selection): StatementCost => {
  const { branches, conditions, count, limit, size, skip } = selection;
  const counts = count && countedRowsOf(table, selection) === undefined;
  return { rows: limit, wide: counts || skip > 0 || size !== undefined || conditions.length > 0 || branches.length > fewBranches };
};

/** Runs one page's statement. Where the statement's time limit cuts it off that is DEADLINE_EXCEEDED, never a shorter list. */
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

/**
 * True where a bounded field's index pays in a part of a root: the part has more rows than are sorted at once. For logs,
 * which are read at their end; of other tables a part mostly has fewer rows than lie after the bound.
 */
export const isLarge = async (rows: Read, table: Table, selection: Selection): Promise<boolean> =>
  findCondition(selection, "after") !== undefined &&
  !coversWholeRoots(selection) &&
  (await countRows(rows, table, { ...selection, conditions: [], countMax: limits.sortRowsMax + 1 })) > limits.sortRowsMax;

/** How many rows are selected. */
export const countRows = async (rows: Read, table: Table, requested: Selection): Promise<number> => {
  const selection = restrictToChildren(requested);
  if (selection.branches.length === 0) return 0;
  const parameters = new Parameters();
  const text = countStatement(parameters, table, selection);
  const [row] = await rows.query(text, parameters.values, wideCount);
  return Number(row?.[0] ?? 0);
};
