// One page of rows in order, below places of the group tree: the statement behind every List.
//
// Keyset, never offset, between pages: ordered by (field, uid), a page starts after the last row of the one before,
// so nobody's insert or delete shifts it. `skip` is an offset within one page's statement.
//
// The planner runs with generic plans (planning anew would cost more than the query), so it sees neither how large
// a branch is nor how frequent a value. We do, and write each statement so that only the index we mean fits it.
// There are two ways to a page:
//
//   walk   one index gives the rows in the page's order, and reading stops when the page is full
//            (uid)                order by uid: a branch is a range
//            (root, field, uid)   order by that field in a whole root; or where a condition fixes the field, order
//                                 by uid: a branch is a range of (field, uid)
//            (parent, name)       the children of one place by name
//            (root, field, uid)   order by uid, where a condition leaves several values of a field: a range for each,
//                                 merged
//   sort   the rows are few: the narrowest of these indexes, or one that knows no order (of a list's entries, of parts
//          of texts), finds them all, then they are sorted
//
// Where no index gives order and narrowness at once, the number of rows decides: at most sortRowsMax are sorted; more
// of them lie so close in the order's index that walking it and passing over the others is quicker. Until the number
// is known, the caller counts first (`needsSize`).
//
// How an index is kept out: by `(uid >= $1) is true`, which means the same and fits none; the planner takes any plain
// range for half a percent of the table. How a sort is kept a sort: by `offset 0`, behind which the planner does not
// look. bench/plans.ts explains every case at a million rows.

import { limits } from "#base/limits.ts";
import type { Param, Read, Row } from "./handle.ts";
import { type Table, versionColumn } from "./rows.ts";

/** Uids from `low` (included) to `high` (excluded). */
export interface Branch {
  readonly low: string;
  readonly high: string;
}

export interface Condition {
  /** A column of the table; "parent" is the uid without its last segment, "depth" the number of its segments after the root. */
  readonly column: string;
  /** "has": the column is a list (jsonb) with one of the texts; "contains": it is like the pattern. */
  readonly comparison: "equal" | "any" | "after" | "false" | "null" | "has" | "contains";
  readonly value: Param;
  /**
   * "equal", "any": the column has an index of its own inside each root. ("after" is asked of such columns alone.)
   * "has", "contains": it has a GIN index that serves this value.
   */
  readonly indexed?: boolean;
}

export interface Selection {
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
  /** How many rows the selection is known to have; chooses between sorting and walking. */
  readonly size: number | undefined;
  /** True: the branches hold so much that a lower bound leads to fewer rows, though to those of the whole root. */
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

/** A condition on a column; without one, on any that is a column of its own. */
const find = ({ conditions }: Selection, comparison: Condition["comparison"], column?: string): Condition | undefined =>
  conditions.find((each) => each.comparison === comparison && (column === undefined || each.column === column));

/**
 * The same selection with its branches cut to what a parent's children leave of them: all children, some that are
 * branches of their own, or none.
 */
const settled = (selection: Selection): Selection => {
  const parent = find(selection, "equal", "parent");
  if (!parent) return selection;
  const below: Branch = { low: `${parent.value}/`, high: `${parent.value}0` };
  if (selection.branches.some(({ low, high }) => low <= below.low && high >= below.high)) return { ...selection, branches: [below] };
  const children = selection.branches.flatMap(({ low }) => (low.startsWith(below.low) && low.length === below.low.length + segmentLength - 1 ? [low] : []));
  const named: Condition = { column: "uid", comparison: "any", value: children };
  return { ...selection, branches: children.length > 0 ? [below] : [], conditions: [named, ...selection.conditions] };
};

// ---- which way --------------------------------------------------------------------------------------------------

/** An index, by what it begins with. */
type Path =
  | { readonly by: "uid" }
  /** The order's own in each root; its field may have a lower bound. */
  | { readonly by: "order" }
  /** A field that a condition fixes, or bounds from below. */
  | { readonly by: "field"; readonly condition: Condition }
  /** A field that a condition leaves several values. */
  | { readonly by: "values"; readonly condition: Condition }
  /** An index without an order. */
  | { readonly by: "heap"; readonly condition: Condition }
  | { readonly by: "parent"; readonly condition: Condition };

interface Way {
  readonly path: Path;
  readonly sorted: boolean;
}

const byUid: Path = { by: "uid" };

/** Rows at the root are few among many, and have an index of their own; any other depth narrows nothing. */
const isInRoot = ({ column, value }: Condition): boolean => column === "depth" && value === 0;

const wholeRoots = ({ branches }: Selection): boolean => branches.every((branch) => isWholeTable(branch) || isWholeRoot(branch));

/** The index that leads to the fewest rows, whatever their order; undefined where nothing but a branch narrows them. */
const narrowest = (selection: Selection): Path | undefined => {
  if (find(selection, "any", "uid") || selection.conditions.some(isInRoot)) return byUid;
  const parent = find(selection, "equal", "parent") ?? find(selection, "any", "parent");
  if (parent) return { by: "parent", condition: parent };
  const fixed = selection.conditions.find(({ comparison, indexed }) => comparison === "equal" && indexed === true);
  if (fixed) return { by: "field", condition: fixed };
  const several = selection.conditions.find(({ comparison, indexed }) => indexed === true && ["any", "has", "contains"].includes(comparison));
  if (several) return { by: several.comparison === "any" ? "values" : "heap", condition: several };
  const bounded = find(selection, "after");
  // In a part of a root the index of a bounded field leads through the other parts too.
  return bounded && (wholeRoots(selection) || selection.large) ? { by: "field", condition: bounded } : undefined;
};

/** How many ranges are merged: each value's in each branch. */
const rangesOf = ({ branches }: Selection, { condition: { value } }: Path & { readonly by: "values" }): number =>
  branches.length * (Array.isArray(value) ? value.length : 1);

/** The way that is right however many rows there are; undefined where their number decides. */
const plainWay = (selection: Selection): Way | undefined => {
  const { column } = selection.order;
  const path = narrowest(selection);
  switch (path?.by) {
    case undefined:
      if (column === "uid") return find(selection, "after") ? undefined : { path: byUid, sorted: false };
      return wholeRoots(selection) ? { path: { by: "order" }, sorted: false } : undefined;
    // The uids that the request names, or roots: no order's index leads to these.
    case "uid":
      return { path, sorted: column !== "uid" };
    case "parent":
      return column === "name" && path.condition.comparison === "equal" ? { path, sorted: false } : undefined;
    case "field": {
      const fixed = path.condition.comparison === "equal";
      return column === path.condition.column || (fixed && column === "uid") ? { path, sorted: false } : undefined;
    }
    case "values":
      return column === "uid" && rangesOf(selection, path) <= limits.mergedRangesMax ? { path, sorted: false } : undefined;
    case "heap":
    case "order":
      return undefined;
  }
};

const wayOf = (selection: Selection): Way => {
  const plain = plainWay(selection);
  if (plain) return plain;
  const path = narrowest(selection);
  // Merging reads a page of each range; walking passes over the more rows the fewer are selected.
  if (path?.by === "values" && selection.order.column === "uid") {
    return { path: rangesOf(selection, path) * (selection.size ?? 0) <= limits.mergedRowsMax ? path : byUid, sorted: false };
  }
  if ((selection.size ?? 0) <= limits.sortRowsMax) return { path: path ?? byUid, sorted: true };
  return { path: selection.order.column === "uid" ? byUid : { by: "order" }, sorted: false };
};

/**
 * True where the right statement depends on how many rows there are and nobody has counted yet: the caller counts
 * first and passes `size`.
 */
export const needsSize = (selection: Selection): boolean => {
  const asked = settled(selection);
  return asked.size === undefined && asked.branches.length > 0 && plainWay(asked) === undefined;
};

// ---- conditions -------------------------------------------------------------------------------------------------

class Parameters {
  readonly values: Param[] = [];
  add(value: Param): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/** The same, kept from the indexes: the planner looks for them in a comparison, not in what is said about one. */
const hide = (term: string): string => `(${term}) is true`;

const compare = (parameters: Parameters, condition: Condition): string => {
  const { column, comparison, value } = condition;
  if (isInRoot(condition)) return `length(uid) = ${rootLength}`;
  if (column === "depth") {
    // In two halves, or the planner would expect next to nothing.
    const length = rootLength + segmentLength * Number(value);
    return `${hide(`length(uid) > ${parameters.add(length - 1)}`)} and ${hide(`length(uid) < ${parameters.add(length + 1)}`)}`;
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
    case "has":
      return `${name} ?| ${parameters.add(value)}`;
    case "contains":
      return `${name} like ${parameters.add(value)}`;
  }
};

/** Where a branch begins and ends, in SQL: parameters, or columns of a list of branches. */
interface Ends {
  /** The branch itself, where there is one. */
  readonly branch: Branch | undefined;
  low(): string;
  high(): string;
}

/** Parameters are added when they are first used: PostgreSQL refuses one that the statement does not mention. */
const endsOf = (parameters: Parameters, branch: Branch): Ends => {
  let low: string | undefined;
  let high: string | undefined;
  return { branch, low: () => (low ??= parameters.add(branch.low)), high: () => (high ??= parameters.add(branch.high)) };
};

const listed: Ends = { branch: undefined, low: () => "branch.low", high: () => "branch.high" };

/** The range of a branch as a filter. Hidden one by one: the two together the planner would take for a narrow range. */
const hiddenRange = ({ branch, low, high }: Ends): string[] => (branch && isWholeTable(branch) ? [] : [hide(`uid >= ${low()}`), hide(`uid < ${high()}`)]);

interface Source {
  /** Rows come once for each of these; undefined: the terms alone say which. */
  readonly branches: string | undefined;
  readonly ends: Ends;
  /** Further terms: that a row lies in one of the branches. */
  readonly within: readonly string[];
}

/** Behind the last row of the page before. */
const behind = (parameters: Parameters, { after, order }: Selection): string[] => {
  if (!after) return [];
  const sign = order.descending ? "<" : ">";
  if (order.column === "uid") return [`uid ${sign} ${parameters.add(after.uid)}`];
  return [`(${order.column}, uid) ${sign} (${parameters.add(after.value)}, ${parameters.add(after.uid)})`];
};

/** A position says more than a lower bound of the same field, and an index begins to read at one of them only. */
const passed = ({ after, order }: Selection, { column, comparison }: Condition): boolean =>
  comparison === "after" && column === order.column && after !== undefined && !order.descending;

/** Whether a condition may show itself to the planner beside the path that it did not make. */
const shows = (selection: Selection, path: Path, condition: Condition): boolean => {
  if (condition.comparison === "false" || condition.comparison === "null" || (condition.column === "depth" && !isInRoot(condition))) return true;
  switch (path.by) {
    // The parent's index knows a name too; and no other index is complete without a root.
    case "parent":
      return true;
    case "uid":
      return narrowest(selection)?.by === "uid";
    case "order":
      return condition.comparison === "after" && condition.column === selection.order.column && !passed(selection, condition);
    case "field":
    case "values":
    case "heap":
      return false;
  }
};

/** A field's rows in one branch, behind the last row of the page before. The field is fixed: its index is in order of uids. */
const fixedTerms = (parameters: Parameters, { after, order }: Selection, column: string, fixed: string, { low, high }: Ends): string[] => {
  const last = after && parameters.add(after.uid);
  const from = last && !order.descending ? `greatest(${low()} collate "C", ${last})` : low();
  const to = last && order.descending ? `least(${high()} collate "C", ${last})` : high();
  // As a range alone: beside `field = $1` the index would be read from the field's first row on.
  const range = [`(${column}, uid) >= (${fixed}, ${from})`, `(${column}, uid) < (${fixed}, ${to})`];
  return last && !order.descending ? [...range, hide(`uid > ${last}`)] : range;
};

/** The conditions that did not make the path. */
const restOf = (parameters: Parameters, selection: Selection, path: Path): string[] => {
  const made = "condition" in path ? path.condition : undefined;
  return selection.conditions
    .filter((condition) => condition !== made)
    .map((condition) => (shows(selection, path, condition) ? compare(parameters, condition) : hide(compare(parameters, condition))));
};

/** The children of one place or of several. */
const parentTerms = (parameters: Parameters, { order }: Selection, condition: Condition, range: () => string[]): string[] => {
  if (condition.comparison !== "equal") return [compare(parameters, condition), ...range()];
  // They have been cut to lie within already (settled). Where they are not walked by name but sorted, as a range: of
  // few places with many children each the planner would expect as many here, and read the whole table.
  if (order.column === "name") return [compare(parameters, condition)];
  const parent = parameters.add(condition.value);
  return [`left(uid, -17) between ${parent} and ${parent}`];
};

/** The rows of one branch by `path`: what its index knows, and the rest as filters. */
const termsOf = (parameters: Parameters, selection: Selection, path: Path, { ends, within }: Source): string[] => {
  const { branch, low, high } = ends;
  const rest = restOf(parameters, selection, path);
  const root = (): string => `left(uid, 40) = left(${low()}, 40)`;
  const range = (): string[] => (within.length > 0 ? [...within] : hiddenRange(ends));
  // A whole root with its own row needs no range where the root is asked for: among a million rows it costs more than they do.
  const implied = branch !== undefined && isWholeRoot(branch) && branch.low.length === rootLength;
  const rangeInRoot = (): string[] => (implied ? [] : range());
  switch (path.by) {
    case "uid":
      return [...(branch && isWholeTable(branch) ? [] : [`uid >= ${low()}`, `uid < ${high()}`]), ...behind(parameters, selection), ...rest];
    case "parent":
      return [...parentTerms(parameters, selection, path.condition, range), ...behind(parameters, selection), ...rest];
    case "order":
      return [root(), ...rangeInRoot(), ...behind(parameters, selection), ...rest];
    case "field": {
      const { condition } = path;
      if (condition.comparison === "equal")
        return [root(), ...fixedTerms(parameters, selection, condition.column, parameters.add(condition.value), ends), ...rest];
      const bound = compare(parameters, condition);
      return [root(), passed(selection, condition) ? hide(bound) : bound, ...rangeInRoot(), ...behind(parameters, selection), ...rest];
    }
    case "values":
      return [root(), compare(parameters, path.condition), ...rangeInRoot(), ...behind(parameters, selection), ...rest];
    case "heap":
      return [compare(parameters, path.condition), ...range(), ...behind(parameters, selection), ...rest];
  }
};

// ---- statements -------------------------------------------------------------------------------------------------

const where = (terms: readonly string[]): string => (terms.length > 0 ? ` where ${terms.join(" and ")}` : "");

const everyRoot = "(select root as low, root || '0' as high from access_versions) as branch";

const listOf = (parameters: Parameters, branches: readonly Branch[], alias: string): string =>
  `unnest(${parameters.add(branches.map(({ low }) => low))}::text[], ${parameters.add(branches.map(({ high }) => high))}::text[]) as ${alias}(low, high)`;

/** Where the rows of a path are taken from. */
const sourceOf = (parameters: Parameters, selection: Selection, path: Path): Source => {
  const { branches } = selection;
  const [only = wholeTable] = branches;
  const inRoots = path.by === "order" || path.by === "field" || path.by === "values";
  if (branches.length === 1) {
    // The operator's lists by an index that begins with the root: each root is a branch.
    if (isWholeTable(only) && inRoots) return { branches: everyRoot, ends: listed, within: [] };
    return { branches: undefined, ends: endsOf(parameters, only), within: [] };
  }
  const inside = (): string[] => [`exists (select from ${listOf(parameters, branches, "place")} where uid >= place.low and uid < place.high)`];
  if (path.by === "parent" || path.by === "heap") return { branches: undefined, ends: listed, within: inside() };
  const roots = new Set(branches.map(({ low }) => low.slice(0, rootLength)));
  if (path.by === "order" && roots.size < branches.length) {
    const whole = [...roots].map((root) => ({ low: root, high: `${root}0` }));
    return { branches: listOf(parameters, whole, "branch"), ends: listed, within: inside() };
  }
  return { branches: listOf(parameters, branches, "branch"), ends: listed, within: [] };
};

const orderBy = ({ column, descending }: Selection["order"], of = ""): string => {
  const direction = descending ? " desc" : "";
  return column === "uid" ? `${of}uid${direction}` : `${of}${column}${direction}, ${of}uid${direction}`;
};

const countText = (parameters: Parameters, table: Table, selection: Selection): string => {
  const path = narrowest(selection) ?? byUid;
  const source = sourceOf(parameters, selection, path);
  const rows = `from ${table.name}${where(termsOf(parameters, { ...selection, after: undefined }, path, source))}`;
  if (selection.countMax !== undefined) {
    const each = source.branches ? `from ${source.branches} cross join lateral (select 1 ${rows}) as each` : rows;
    return `select count(*) from (select 1 ${each} limit ${parameters.add(selection.countMax)}) as counted`;
  }
  if (!source.branches) return `select count(*) ${rows}`;
  return `select sum(each.rows)::bigint from ${source.branches} cross join lateral (select count(*) as rows ${rows}) as each`;
};

/** The walk up to `limit` rows. A limit that the planner can read tells it that walking is worth while. */
const stopped = (parameters: Parameters, walk: string, limit: number): string =>
  limit > limits.pageSizeMax + 1
    ? `${walk} limit ${parameters.add(limit)}`
    : `select * from (${walk} limit ${limits.pageSizeMax + 1}) as walked limit ${parameters.add(limit)}`;

/** The rows of a page's uids. One by one: of a join the planner might read the whole table. */
const rowsOf = (table: Table, order: Selection["order"], page: string): string => {
  const row = `select ${table.columns.join(", ")} from ${table.name} where uid = page.uid offset 0`;
  return `select held.* from (${page}) as page cross join lateral (${row}) as held order by ${orderBy(order, "held.")}`;
};

/**
 * The rows of each of several values, one range of the field's index after the other. Asked for all of them at once,
 * the planner would expect most of the table, and read it.
 */
const rangesOfValues = (
  parameters: Parameters,
  selection: Selection,
  path: Path & { readonly by: "values" },
  { branches, ends }: Source,
): { readonly each: string; readonly terms: string[] } => {
  const { column, value } = path.condition;
  return {
    each: `${branches ? `${branches} cross join ` : ""}unnest(${parameters.add(value)}::text[]) as wanted(value)`,
    terms: [
      `left(uid, 40) = left(${ends.low()}, 40)`,
      ...fixedTerms(parameters, selection, column, "wanted.value", ends),
      ...restOf(parameters, selection, path),
    ],
  };
};

/**
 * In the order of uids, the rows with one of several values: each value's range gives as many uids as the page can
 * take, from the index alone, and only the page's own rows are read.
 */
const mergedText = (parameters: Parameters, table: Table, selection: Selection, path: Path & { readonly by: "values" }, source: Source): string => {
  const { each, terms } = rangesOfValues(parameters, selection, path, source);
  const { limit, skip, order } = selection;
  const walk = `select uid from ${table.name}${where(terms)} order by ${orderBy({ ...order, column: path.condition.column })}`;
  const merged = `select walked.uid from ${each} cross join lateral (${stopped(parameters, walk, limit + skip)}) as walked`;
  return rowsOf(table, order, `${merged} order by ${orderBy(order, "walked.")} limit ${parameters.add(limit)} offset ${parameters.add(skip)}`);
};

const pageText = (parameters: Parameters, table: Table, selection: Selection): string => {
  const { path, sorted } = wayOf(selection);
  const source = sourceOf(parameters, selection, path);
  if (path.by === "values" && !sorted) return mergedText(parameters, table, selection, path, source);
  const order = orderBy(selection.order);
  const rows = `select ${table.columns.join(", ")} from ${table.name}`;
  const from = `select t.* from ${source.branches ? `${source.branches} cross join lateral ` : ""}`;
  const cut = (): string => ` order by ${order} limit ${parameters.add(selection.limit)} offset ${parameters.add(selection.skip)}`;
  if (sorted) {
    const all = { ...selection, after: undefined };
    if (path.by === "values") {
      const { each, terms } = rangesOfValues(parameters, all, path, source);
      return `select t.* from ${each} cross join lateral (${rows}${where(terms)} offset 0) as t${where(behind(parameters, selection))}${cut()}`;
    }
    const few = termsOf(parameters, all, path, source);
    if (path.by === "heap") {
      // They lie scattered and may be wide: only what is sorted is taken along.
      const keys = [...new Set(["uid", selection.order.column])].join(", ");
      return rowsOf(
        table,
        selection.order,
        `${from}(select ${keys} from ${table.name}${where(few)} offset 0) as t${where(behind(parameters, selection))}${cut()}`,
      );
    }
    return `${from}(${rows}${where(few)} offset 0) as t${where(behind(parameters, selection))}${cut()}`;
  }
  // The planner does not know that a range of one field's value fixes it: it is told the index's own order.
  const walked = path.by === "field" ? orderBy({ ...selection.order, column: path.condition.column }) : order;
  const walk = `${rows}${where(termsOf(parameters, selection, path, source))} order by ${walked}`;
  const { skip, limit } = selection;
  if (source.branches) return `${from}(${stopped(parameters, walk, limit + skip)}) as t${cut()}`;
  return skip > 0 ? `${walk} limit ${parameters.add(limit)} offset ${parameters.add(skip)}` : stopped(parameters, walk, limit);
};

/** The statement of a page and its parameters; also what the benchmark replays. */
export const pageStatement = (table: Table, asked: Selection, root: string | undefined): { text: string; values: Param[] } => {
  const selection = settled(asked);
  const parameters = new Parameters();
  const version = versionColumn(root === undefined ? undefined : parameters.add(root));
  // A scalar subquery runs once; in a CTE the planner counted again for every row (measured: a sixth of the speed).
  const total = selection.count ? `(${countText(parameters, table, selection)})` : "null::bigint";
  const page = pageText(parameters, table, selection);
  // A row of its own for what is said once: beside every row it would be sent, and read, as often as there are rows.
  const head = `select ${[version, total, ...table.columns.map(() => "null")].join(", ")}`;
  return { text: `${head} union all select null, null, t.* from (${page}) as t`, values: parameters.values };
};

/** Runs one page's statement. A list cut off by the statement's time limit is DEADLINE_EXCEEDED, never short. */
export const listRows = async (rows: Read, table: Table, selection: Selection): Promise<Page> => {
  const { check } = rows;
  if (settled(selection).branches.length === 0) {
    if (check) await rows.query("select 1");
    return { rows: [], offset: 0, total: 0 };
  }
  const { text, values } = pageStatement(table, selection, check?.root);
  const found = await (check ? check.bare : rows).query(text, values);
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
 * True where a bounded field's index is worth while in a part of a root: the part is larger than what is sorted at once.
 * For logs, of which the end is asked for; of anything else a part is mostly less than what is later than its bound.
 */
export const isLarge = async (rows: Read, table: Table, selection: Selection): Promise<boolean> =>
  find(selection, "after") !== undefined &&
  !wholeRoots(selection) &&
  (await countRows(rows, table, { ...selection, conditions: [], countMax: limits.sortRowsMax + 1 })) > limits.sortRowsMax;

/** How many rows are selected. */
export const countRows = async (rows: Read, table: Table, asked: Selection): Promise<number> => {
  const selection = settled(asked);
  if (selection.branches.length === 0) return 0;
  const parameters = new Parameters();
  const text = countText(parameters, table, selection);
  const [row] = await rows.query(text, parameters.values);
  return Number(row?.[0] ?? 0);
};
