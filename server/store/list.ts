// One page of rows in order, below places of the group tree: the statement behind every List.
//
// Keyset, never offset, between pages: ordered by (field, uid), a page starts after the last row of the one before,
// so nobody's insert or delete shifts it. `skip` is an offset within one page's statement.
//
// The planner runs with generic plans (planning anew would cost more than the query), so it cannot see whether a
// branch is large. We know, and write the statement so that only the right index fits:
//   by uid           the primary key's range is order and branch at once
//   whole root       the order's own index, (left(uid, 40), field, uid): walk it
//   small branch     the primary key's range (or the parent's index), sorted: at most sortRowsMax rows
//   large branch     walk the root's order and pass over what is outside; `uid || ''` keeps the range out of the
//                    index condition, since the planner takes any range for half a percent of the table
//   several branches each one's first rows, merged
// Measured at a million rows: docs/decisions.

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
  readonly comparison: "equal" | "any" | "after" | "false";
  readonly value: Param;
  /** The column has an index of its own inside each root. */
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
  /** How many rows the selection is known to have; chooses between sorting and walking. */
  readonly size: number | undefined;
}

export interface Page {
  /** Columns in the table's order from index `offset` on. */
  readonly rows: readonly Row[];
  readonly offset: number;
  readonly total: number | undefined;
}

/** All uids: hex digits and "/" sort before "~". */
export const wholeTable: Branch = { low: "", high: "~" };

/** Stands for each of several whole organizations. */
const anyRoot: Branch = { low: "0".repeat(40), high: `${"0".repeat(40)}0` };

const isWholeTable = (branch: Branch): boolean => branch.low === wholeTable.low;
const rootLength = 40;

/** A whole organization, with or without its root row. */
const isWholeRoot = (branch: Branch): boolean =>
  branch.low.length >= rootLength && branch.low.length <= rootLength + 1 && branch.high === `${branch.low.slice(0, rootLength)}0`;

/** Does the order need another index than the primary key? */
const ordered = (selection: Selection): boolean => selection.order.column !== "uid";

/** Does a condition lead to few rows by an index of its own? */
const pins = (selection: Selection): boolean => selection.conditions.some(({ indexed }) => indexed === true);

const parentOf = (selection: Selection): Condition | undefined =>
  selection.conditions.find(({ column, comparison }) => column === "parent" && comparison === "equal");

/** The parent's own index serves this selection, however many rows there are. */
const followsParent = (selection: Selection): boolean => selection.order.column === "name" || pins(selection);

/**
 * True where the right statement depends on how many rows there are and nobody has counted yet: the caller counts
 * first and passes `size`.
 */
export const needsSize = (selection: Selection): boolean => {
  const [branch] = selection.branches;
  if (selection.size !== undefined || selection.branches.length !== 1 || !branch || isWholeTable(branch)) return false;
  if (parentOf(selection)) return !followsParent(selection);
  return ordered(selection) && !pins(selection) && !isWholeRoot(branch);
};

class Parameters {
  readonly values: Param[] = [];
  add(value: Param): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

const virtual: Readonly<Record<string, string>> = { parent: "left(uid, -17)", depth: "(length(uid) - 40) / 17" };

const compare = (parameters: Parameters, condition: Condition): string => {
  const column = virtual[condition.column] ?? condition.column;
  switch (condition.comparison) {
    case "equal": return `${column} = ${parameters.add(condition.value)}`;
    case "any": return `${column} = any(${parameters.add(condition.value)})`;
    case "after": return `${column} > ${parameters.add(condition.value)}`;
    case "false": return `not ${column}`;
  }
};

/** Where a branch begins and ends, in SQL: parameters, or columns of a list of branches. */
interface Ends {
  low(): string;
  high(): string;
}

/** Parameters are added when they are first used: PostgreSQL refuses one that the statement does not mention. */
const endsOf = (parameters: Parameters, branch: Branch): Ends => {
  let low: string | undefined;
  let high: string | undefined;
  return {
    low: () => (low ??= parameters.add(branch.low)),
    high: () => (high ??= parameters.add(branch.high)),
  };
};

const listed: Ends = { low: () => "branch.low", high: () => "branch.high" };

/** The rows of one branch; `branch` is undefined for one of several. */
const within = (parameters: Parameters, selection: Selection, branch: Branch | undefined, { low, high }: Ends): string[] => {
  const large = (selection.size ?? 0) > limits.sortRowsMax;
  const parent = parentOf(selection);
  const walked = parent !== undefined && large && !followsParent(selection);
  const rest = selection.conditions.map((condition) =>
    condition === parent && walked ? `left(uid, -17) || '' = ${parameters.add(condition.value)}` : compare(parameters, condition),
  );
  // The operator's own binding lies above every root and is no row of any list.
  if (branch && isWholeTable(branch)) return ["uid >= '0'", ...rest];
  const range = (): string[] => [`uid >= ${low()}`, `uid < ${high()}`, ...rest];
  if (!ordered(selection) && !pins(selection)) return range();
  if (parent && !walked) return range();
  const root = `left(uid, 40) = left(${low()}, 40)`;
  if (branch && isWholeRoot(branch)) return [root, ...(branch.low.length > rootLength ? [`uid || '' >= ${low()}`] : []), ...rest];
  if (pins(selection) || large) return [root, `uid || '' >= ${low()}`, `uid || '' < ${high()}`, ...rest];
  return range();
};

const orderBy = ({ column, descending }: Selection["order"]): string => {
  const direction = descending ? " desc" : "";
  return column === "uid" ? `uid${direction}` : `${column}${direction}, uid${direction}`;
};

const position = (parameters: Parameters, selection: Selection): string[] => {
  const { after, order } = selection;
  if (!after) return [];
  const sign = order.descending ? "<" : ">";
  if (order.column === "uid") return [`uid ${sign} ${parameters.add(after.uid)}`];
  return [`(${order.column}, uid) ${sign} (${parameters.add(after.value)}, ${parameters.add(after.uid)})`];
};

const where = (terms: readonly string[]): string => (terms.length > 0 ? ` where ${terms.join(" and ")}` : "");

/** The source of branches where there is more than one, or where each root is one of them. */
const branchList = (parameters: Parameters, selection: Selection): string =>
  selection.branches.length === 1
    ? "(select root as low, root || '0' as high from access_versions) as branch"
    : `unnest(${parameters.add(selection.branches.map(({ low }) => low))}::text[], ${parameters.add(selection.branches.map(({ high }) => high))}::text[]) as branch(low, high)`;

const single = (selection: Selection): Branch | undefined => {
  const [branch] = selection.branches;
  if (selection.branches.length !== 1 || !branch) return undefined;
  return isWholeTable(branch) && (ordered(selection) || pins(selection)) ? undefined : branch;
};

const countText = (parameters: Parameters, table: Table, selection: Selection): string => {
  const [only] = selection.branches;
  if (selection.branches.length === 1 && only) {
    // Counting needs no order: the range of the primary key, or what a condition's index holds.
    const unordered: Selection = { ...selection, order: { column: "uid", descending: false } };
    return `select count(*) from ${table.name}${where(within(parameters, unordered, only, endsOf(parameters, only)))}`;
  }
  const branches = branchList(parameters, selection);
  const terms = within(parameters, { ...selection, order: { column: "uid", descending: false } }, undefined, listed);
  return `select count(*) from ${branches} join ${table.name} on ${terms.join(" and ")}`;
};

const pageText = (parameters: Parameters, table: Table, selection: Selection): string => {
  const order = orderBy(selection.order);
  const columns = table.columns.join(", ");
  const branch = single(selection);
  if (branch) {
    const terms = within(parameters, selection, branch, endsOf(parameters, branch));
    const from = `select ${columns} from ${table.name}${where([...terms, ...position(parameters, selection)])}`;
    return `${from} order by ${order} limit ${parameters.add(selection.limit)} offset ${parameters.add(selection.skip)}`;
  }
  const branches = branchList(parameters, selection);
  const roots = selection.branches.every((each) => isWholeTable(each) || isWholeRoot(each));
  const terms = [...within(parameters, selection, roots ? anyRoot : undefined, listed), ...position(parameters, selection)];
  const each = `select ${columns} from ${table.name}${where(terms)} order by ${order} limit ${parameters.add(selection.limit + selection.skip)}`;
  return `select t.* from ${branches} cross join lateral (${each}) as t order by ${order} limit ${parameters.add(selection.limit)} offset ${parameters.add(selection.skip)}`;
};

/** The statement of a page and its parameters; also what the benchmark replays. */
export const pageStatement = (table: Table, selection: Selection, root: string | undefined): { text: string; values: Param[] } => {
  const parameters = new Parameters();
  const version = versionColumn(root === undefined ? undefined : parameters.add(root));
  // A scalar subquery runs once; in a CTE the planner counted again for every row (measured: a sixth of the speed).
  const total = selection.count ? `(${countText(parameters, table, selection)})` : "null::bigint";
  const page = pageText(parameters, table, selection);
  return { text: `select ${version}, ${total}, t.* from (values (1)) as always left join (${page}) as t on true`, values: parameters.values };
};

/** Runs one page's statement. A list cut off by the statement's time limit is DEADLINE_EXCEEDED, never short. */
export const listRows = async (rows: Read, table: Table, selection: Selection): Promise<Page> => {
  const { check } = rows;
  if (selection.branches.length === 0) {
    if (check) await rows.query("select 1");
    return { rows: [], offset: 0, total: 0 };
  }
  const { text, values } = pageStatement(table, selection, check?.root);
  const found = await (check ? check.bare : rows).query(text, values);
  const [first] = found;
  if (check) check.confirm(first?.[0]);
  const total = first?.[1];
  return {
    rows: first?.[2] === null ? [] : found,
    offset: 2,
    total: total === null || total === undefined ? undefined : Number(total),
  };
};

/** How many rows are selected. */
export const countRows = async (rows: Read, table: Table, selection: Selection): Promise<number> => {
  const parameters = new Parameters();
  const text = countText(parameters, table, selection);
  const [row] = await rows.query(text, parameters.values);
  return Number(row?.[0] ?? 0);
};
