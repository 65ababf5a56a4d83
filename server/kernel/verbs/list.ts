// List (AIP-132, AIP-158; requirement: Conventions). Pages by cursor, skip, exact total, order, filters.

import { hash } from "node:crypto";
import { visiblePaths } from "#authz";
import { Fault } from "#base/fault.ts";
import { type JsonObject, objectList } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Page, PageRequest } from "#base/page.ts";
import { rootOf } from "#base/uid.ts";
import { timestamp } from "#base/time.ts";
import type { MethodFact } from "#contract/facts.ts";
import {
  type Branch,
  countRows,
  type CurrentCopy,
  findCurrentCopy,
  isLarge,
  listRows,
  needsSize,
  type Page as Rows,
  type Read,
  type Row,
  type Selection,
  StaleAccess,
} from "#db";
import { answerPage } from "../page-request.ts";
import type { Outcome, ReadContext } from "../context.ts";
import { hydrate } from "../hydrate.ts";
import { pluralOf } from "../paging.ts";
import type { BoundResource } from "../resource.ts";
import { filtersOf, scopeOf } from "../select.ts";
import { timestampOf } from "../shape.ts";

// Row counts of selections, as last counted. They only choose between two query plans with the same result, so an old count costs
// time, never correctness.
const sizes = new Map<string, number>();
const sizesMax = 10_000;

const sizeKey = (table: string, { branches, conditions }: Selection): string => hash("sha256", JSON.stringify([table, branches, conditions]), "base64url");

const remember = (key: string, total: number): void => {
  if (sizes.size >= sizesMax) sizes.clear();
  sizes.set(key, total);
};

const cursorValue = (resource: BoundResource, row: Row, offset: number, column: string): string => {
  const index = resource.shape.table.columns.indexOf(column);
  const value = row[offset + index] ?? "";
  return resource.shape.fields[index]?.kind === "timestamp" ? timestampOf(value) : value;
};

/** Counts the rows of a first page, if the resource's own list needs more than their number. */
export type CountListed = (rows: Read, selection: Selection) => Promise<number>;

export const list =
  (resource: BoundResource, count?: CountListed) =>
  async (context: ReadContext): Promise<Outcome> => {
    let asOfMs: number | undefined;
    const outcome = await answerPage(context, (page) => readPage(resource, context, page, (ms) => (asOfMs = ms), count));
    return asOfMs === undefined ? outcome : { ...outcome, headers: { ...outcome.headers, "gantry-as-of": timestamp(asOfMs) } };
  };

/**
 * Returns the resources with these uids that the caller's own List contains, as it shows them.
 * @param uids at most limits.pageSizeMax
 */
export const listByUids = async (context: ReadContext, resource: BoundResource, uids: readonly string[]): Promise<readonly JsonObject[]> => {
  const method = listMethodOf(resource);
  if (!method || uids.length === 0) return [];
  const own = resource.methods?.[method.rpc];
  const reads = own && "reads" in own ? own.reads : list(resource);
  const { reply } = await reads({
    ...context,
    method,
    request: { uidp: { ids: [...uids] }, pageSize: limits.pageSizeMax },
    order: { column: "uid", descending: false },
    visiblePaths: visiblePaths(context.rights, method.capabilities),
  });
  return objectList(reply, pluralOf(method)?.json ?? "");
};

/** Returns the List that shows a caller's resources by uid; undefined if there is none. */
export const listMethodOf = ({ operations, fact }: BoundResource): MethodFact | undefined =>
  operations.find((method) => method.rpc.startsWith("List") && method.unscoped && method.input.byName.has("uidp") && pluralOf(method)?.message === fact);

/** Returns the branches in which the caller's List finds rows. */
export const listedBranches = async (context: ReadContext, resource: BoundResource, method: MethodFact): Promise<readonly Branch[]> => {
  const visible = visiblePaths(context.rights, method.capabilities);
  const alsoVisible = (await resource.alsoVisible?.({ rights: context.rights, rows: context.rows, visiblePaths: visible, only: undefined })) ?? [];
  return scopeOf(resource, visible, alsoVisible, {}, false).branches;
};

const rootsOf = ({ branches }: Selection): string[] => [...new Set(branches.map(({ low }) => rootOf(low)))];

interface Found {
  readonly rows: Rows["rows"];
  readonly offset: number;
  readonly total: number;
}

const readRows = async (resource: BoundResource, method: ReadContext["method"], rows: Read, asked: Selection, count?: CountListed): Promise<Found> => {
  const { table } = resource.shape;
  if (count && asked.count) {
    const total = await count(rows, asked);
    return readRows(resource, method, rows, { ...asked, count: false, size: total });
  }
  // A list that stops counting is a log.
  const selection = method.totalMax === undefined ? asked : { ...asked, large: await isLarge(rows, table, asked) };
  const key = needsSize(selection) ? sizeKey(table.name, selection) : undefined;
  const size = key === undefined ? selection.size : sizes.get(key);
  const skipsFar = selection.count && asked.skip >= limits.countedSkipMin && method.totalMax === undefined;
  // A count for the query plan or a far skip is also the total; a page past the end is not read.
  const counted = (key !== undefined && size === undefined) || skipsFar ? await countRows(rows, table, selection) : undefined;
  if (counted !== undefined && asked.skip >= counted && method.totalMax === undefined) return { rows: [], offset: 0, total: counted };
  const page = await listRows(rows, table, { ...selection, size: size ?? counted, count: selection.count && counted === undefined });
  const total = page.total ?? counted ?? asked.size ?? 0;
  if (key !== undefined) remember(key, total);
  return { ...page, total };
};

/** Reads from the replica; undefined if it is unavailable, canceled the query for replay, or lacks a change of the caller's rights. */
const readCopy = async (
  resource: BoundResource,
  method: ReadContext["method"],
  copy: CurrentCopy,
  asked: Selection,
  count?: CountListed,
): Promise<Found | undefined> => {
  try {
    return await readRows(resource, method, copy.rows, asked, count);
  } catch (thrown) {
    if (thrown instanceof StaleAccess) return undefined;
    if (!(thrown instanceof Fault) || !["UNAVAILABLE", "ABORTED"].includes(thrown.code)) throw thrown;
    if (thrown.code === "UNAVAILABLE") copy.fail(thrown);
    return undefined;
  }
};

/** Returns which rows a List with this request finds. */
export const findListed = async (resource: BoundResource, context: ReadContext): Promise<Pick<Selection, "branches" | "conditions">> => {
  const { request, method, order } = context;
  const alsoVisible = (await resource.alsoVisible?.({ ...context, only: undefined })) ?? [];
  const scope = scopeOf(resource, context.visiblePaths, alsoVisible, request, order?.column === "name");
  const own = (await resource.conditions?.(context)) ?? [];
  return { branches: scope.branches, conditions: [...scope.conditions, ...filtersOf(method, resource, request), ...own] };
};

const readPage = async (
  resource: BoundResource,
  context: ReadContext,
  { order, after, skip, limit, total: knownTotal }: PageRequest,
  isAsOf: (ms: number) => void,
  count?: CountListed,
): Promise<Page> => {
  const { method, rows } = context;
  const asked: Selection = {
    ...(await findListed(resource, context)),
    order,
    after: after && { value: after[0] ?? "", uid: after[1] ?? "" },
    skip,
    limit,
    count: after === undefined,
    countMax: method.totalMax,
    size: knownTotal,
  };
  // Only the first page, which counts: later pages need every row that the first page has shown.
  const copy = after === undefined ? await findCurrentCopy(rows, context.rights.accessVersion, rootsOf(asked)) : undefined;
  const copied = copy && (await readCopy(resource, method, copy, asked, count));
  if (copy && copied) isAsOf(copy.asOfMs);
  const page = copied ?? (await readRows(resource, method, rows, asked, count));

  const shown = page.rows.slice(0, limit - 1);
  const last = page.rows.length >= limit ? shown.at(-1) : undefined;
  const records = await hydrate(
    rows,
    resource,
    shown.map((row) => resource.shape.read(row, page.offset)),
  );
  return { records, total: page.total, next: last && [cursorValue(resource, last, page.offset, order.column), last[page.offset] ?? ""] };
};
