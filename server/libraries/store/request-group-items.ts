// Table request_group_items: items below their groups' uids, in reading order.

import { limits } from "#base/limits.ts";
import type { PageRequest } from "#base/page.ts";
import {
  addParameter,
  columns,
  containingPattern,
  expression,
  flag,
  number,
  orderValue,
  pageClause,
  type PageTerms,
  type Read,
  type RowOf,
  text,
  textList,
  time,
  wideCount,
  type Write,
} from "#db";
import { columnOf } from "#advisories/store";

export interface RequestItem {
  readonly uid: string;
  readonly requirement: string;
  readonly packageName: string;
  readonly version: string;
  readonly ecosystem: string;
  readonly availability: string;
  readonly availabilityReason: string;
  readonly closestVersion: string;
  readonly latestVersion: string;
  readonly removed: boolean;
}

/** Result of the lookup in the catalog. */
export type ItemCoverage = Pick<RequestItem, "uid" | "availability" | "availabilityReason" | "closestVersion" | "latestVersion">;

export const insertRequestItems = async (rows: Write, items: readonly (RequestItem & { readonly sortKey: string })[], nowMs: number): Promise<void> => {
  await rows.query(
    `insert into request_group_items (uid, requirement, package_name, version, ecosystem, sort_key, availability, availability_reason,
       closest_version, latest_version, removed, create_time, update_time)
     select given.*, false, $11::timestamptz, $11::timestamptz
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[]) as given`,
    [
      columnOf(items, ({ uid }) => uid),
      columnOf(items, ({ requirement }) => requirement),
      columnOf(items, ({ packageName }) => packageName),
      columnOf(items, ({ version }) => version),
      columnOf(items, ({ ecosystem }) => ecosystem),
      columnOf(items, ({ sortKey }) => sortKey),
      columnOf(items, ({ availability }) => availability),
      columnOf(items, ({ availabilityReason }) => availabilityReason),
      columnOf(items, ({ closestVersion }) => closestVersion),
      columnOf(items, ({ latestVersion }) => latestVersion),
      new Date(nowMs).toISOString(),
    ],
  );
};

const belowOf = (uid: string): readonly [string, string] => [`${uid}/`, `${uid}0`];

const itemColumns = columns<RequestItem & { readonly createTime: string; readonly updateTime: string }>({
  uid: text,
  requirement: text,
  packageName: text,
  version: text,
  ecosystem: text,
  availability: text,
  availabilityReason: text,
  closestVersion: text,
  latestVersion: text,
  removed: flag,
  createTime: time("create_time"),
  updateTime: time("update_time"),
});

export interface RequestItemFilter {
  readonly group: string;
  readonly availability: string;
  /** "" for any. */
  readonly minUpdateTime: string;
  readonly includeRemoved: boolean;
}

const itemTerms = ({ group, availability, minUpdateTime, includeRemoved }: RequestItemFilter): PageTerms => {
  const page: PageTerms = { values: [], terms: [] };
  const [low, high] = belowOf(group);
  page.terms.push(`uid > ${addParameter(page, low)}`, `uid < ${addParameter(page, high)}`);
  if (availability !== "") page.terms.push(`availability = ${addParameter(page, availability)}`);
  if (minUpdateTime !== "") page.terms.push(`update_time >= ${addParameter(page, minUpdateTime)}`);
  if (!includeRemoved) page.terms.push("not removed");
  return page;
};

/** In the order of the ecosystem. */
const itemOrders: Readonly<Record<string, string>> = { version: "sort_key" };

type RequestItemRow = RequestItem & { readonly createTime: string; readonly updateTime: string; readonly key: readonly string[] };

export const findRequestItems = async (rows: Read, filter: RequestItemFilter, page: PageRequest): Promise<RequestItemRow[]> => {
  const terms = itemTerms(filter);
  const column = itemOrders[page.order.column] ?? page.order.column;
  const clause = pageClause(terms, column === "uid" ? ["uid"] : [column, "uid"], page);
  const found = await rows.query(`select ${itemColumns.list}, ${orderValue(column)} from request_group_items ${clause}`, terms.values, {
    rows: page.limit,
    wide: true,
  });
  return found.map((row) => {
    const item = itemColumns.read(row);
    return { ...item, key: column === "uid" ? [item.uid] : [row.at(-1) ?? "", item.uid] };
  });
};

const itemCount = columns({ items: expression("count(*)", number) });

export const countRequestItems = async (rows: Read, filter: RequestItemFilter): Promise<number> => {
  const { terms, values } = itemTerms(filter);
  const found = await itemCount.findOne(rows, `select ${itemCount.list} from request_group_items where ${terms.join(" and ")}`, values, wideCount);
  return found?.items ?? 0;
};

const comparedItem = columns({ uid: text, packageName: text, version: text, sortKey: text, availability: text, closestVersion: text, latestVersion: text });

export type ComparedItem = RowOf<typeof comparedItem>;

/** Returns the items as last compared, except those with availability `invalid`. */
export const findItemsToCompare = async (rows: Read, group: string, invalid: string): Promise<ComparedItem[]> =>
  comparedItem.find(rows, `select ${comparedItem.list} from request_group_items where uid > $1 and uid < $2 and availability <> $3 order by uid`, [
    ...belowOf(group),
    invalid,
  ]);

export const updateItemCoverage = async (rows: Write, items: readonly ItemCoverage[], nowMs: number): Promise<void> => {
  await rows.query(
    `update request_group_items as held set availability = given.availability, availability_reason = given.reason,
       closest_version = given.closest, latest_version = given.latest, update_time = greatest($6::timestamptz, held.update_time + interval '1 ms')
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) as given(uid, availability, reason, closest, latest)
     where held.uid = given.uid`,
    [
      columnOf(items, ({ uid }) => uid),
      columnOf(items, ({ availability }) => availability),
      columnOf(items, ({ availabilityReason }) => availabilityReason),
      columnOf(items, ({ closestVersion }) => closestVersion),
      columnOf(items, ({ latestVersion }) => latestVersion),
      new Date(nowMs).toISOString(),
    ],
  );
};

const itemUid = columns({ uid: text });

export const findItemUids = async (rows: Read, group: string, uids: readonly string[]): Promise<ReadonlySet<string>> => {
  const found = await itemUid.find(rows, `select ${itemUid.list} from request_group_items where uid > $1 and uid < $2 and uid = any($3)`, [
    ...belowOf(group),
    uids,
  ]);
  return new Set(found.map(({ uid }) => uid));
};

/** Returns the number that changed. */
export const setItemsRemoved = async (rows: Write, uids: readonly string[], removed: boolean, nowMs: number): Promise<number> => {
  const changed = await rows.query(
    `update request_group_items set removed = $2, update_time = greatest($3::timestamptz, update_time + interval '1 ms')
     where uid = any($1) and removed <> $2 returning 1`,
    [uids, String(removed), new Date(nowMs).toISOString()],
  );
  return changed.length;
};

const availabilityCount = columns({ availability: text, removed: flag, items: expression("count(*)", number) });

export const countAvailability = (rows: Read, group: string): Promise<{ availability: string; removed: boolean; items: number }[]> =>
  availabilityCount.find(
    rows,
    `select ${availabilityCount.list} from request_group_items where uid > $1 and uid < $2 group by availability, removed order by availability, removed`,
    belowOf(group),
  );

// ---- libraries requested by all submitted groups ---------------------------------------------------------------------

export interface RequestedPlace {
  /** At any depth. */
  readonly below: string;
  readonly directlyIn: string;
}

// Requested items of a range ($1 to $3) are found by request, at a cost proportional to the items, or by name in the whole organization.
// The tables are never joined freely: without statistics, the planner read all items again for each request.

const isSubmitted = "uid > $1 and uid < $2 and submit_time is not null and ($3 = '' or left(uid, -17) = $3)";

/** Must match the predicate of request_group_items_by_package. */
const isAskedFor = "not removed and version <> '' and availability <> 'AVAILABILITY_INVALID_REQUIREMENT'";

const inOrganization = "left(uid, 40) = left($1, 40) and (uid > $1) is true and (uid < $2) is true";

const itemsOfRequest = "uid > request.uid || '/' and uid < request.uid || '0'";

/** A row for each request and version. `narrowed`: more conditions on items. */
const requestedByRequest = (narrowed: string): string =>
  `(select uid, name, source, submit_time, submitted_by from request_groups where ${isSubmitted}) as request
    cross join lateral (select * from request_group_items where ${itemsOfRequest} and ${isAskedFor} ${narrowed} offset 0) as item`;

/** `order` limits and orders the items. */
const requestedByName = (narrowed: string, order = "offset 0"): string =>
  `(select * from request_group_items where ${inOrganization} and ${isAskedFor} ${narrowed} ${order}) as item
    cross join lateral (select uid, name, source, submit_time, submitted_by from request_groups
      where uid = left(item.uid, -17) and submit_time is not null and ($3 = '' or left(uid, -17) = $3) offset 0) as request`;

const requestedRows = (from: string): string => `select item.package_name as name, item.ecosystem, item.version, item.sort_key, item.availability,
    item.availability_reason, item.closest_version, item.latest_version, item.update_time, request.uid, request.name as request_name, request.source,
    request.submit_time, request.submitted_by
  from ${from}`;

const isWholeOrganization = ({ below }: RequestedPlace): boolean => !below.includes("/");

const placeValues = ({ below, directlyIn }: RequestedPlace): string[] => [...belowOf(below), directlyIn];

const manyItemsText = `select count(*) from (
    select 1 from (select uid from request_groups where ${isSubmitted}) as request
      cross join lateral (select 1 from request_group_items where ${itemsOfRequest} and ${isAskedFor} offset 0) as item
    limit ${limits.sortRowsMax + 1}) as counted`;

/** Whether a page of names reads fewer items by name. */
const hasManyItems = async (rows: Read, place: RequestedPlace): Promise<boolean> => {
  if (isWholeOrganization(place)) return true;
  const [row] = await rows.query(manyItemsText, placeValues(place));
  return Number(row?.[0]) > limits.sortRowsMax;
};

// `count(distinct …)` would sort every row.
const statusExpression = `case when bool_and(is_built) then 'REQUESTED_LIBRARY_BUILD_STATUS_COMPLETE'
    when bool_or(is_built) then 'REQUESTED_LIBRARY_BUILD_STATUS_IN_PROGRESS' else 'REQUESTED_LIBRARY_BUILD_STATUS_REVIEWING' end`;

export interface RequestedLibraryFilter {
  readonly place: RequestedPlace;
  readonly ecosystem: string;
  /** Substring; "" for any. */
  readonly query: string;
  readonly buildStatus: string;
}

const libraryTerms = ({ place, ecosystem, query, buildStatus }: RequestedLibraryFilter): { readonly page: PageTerms; readonly narrowed: string } => {
  const page: PageTerms = { values: placeValues(place), terms: ["true"] };
  const within: string[] = [];
  if (ecosystem !== "") within.push(`and ecosystem = ${addParameter(page, ecosystem)}`);
  if (query !== "") within.push(`and lower(package_name) like ${addParameter(page, containingPattern(query))}`);
  if (buildStatus !== "") page.terms.push(`build_status = ${addParameter(page, buildStatus)}`);
  return { page, narrowed: within.join(" ") };
};

const isBuilt = "bool_or(availability = 'AVAILABILITY_BUILT') as is_built";

const behindName = (page: PageTerms, { order: { descending }, after }: PageRequest): string =>
  after ? `and (package_name, ecosystem) ${descending ? "<" : ">"} (${after.map((value) => addParameter(page, value)).join(", ")})` : "";

/** A limit as a parameter, never reached, makes the planner expect an early stop. */
const itemsInOrder = (page: PageTerms, direction: "asc" | "desc"): string => {
  const order = ["package_name", "ecosystem", "uid"].map((column) => `${column} ${direction}`).join(", ");
  return `order by ${order} limit ${addParameter(page, Number.MAX_SAFE_INTEGER)}`;
};

/** `direction`: the order of names, if items come in it. */
const librarySource = (from: string, direction?: "asc" | "desc"): string => {
  // PostgreSQL groups descending rows without a sort only if the groups have the same order.
  const inOrder = (...columns: string[]): string => (direction ? `order by ${columns.map((column) => `${column} ${direction}`).join(", ")}` : "");
  const versions = `select name, ecosystem, version, ${isBuilt}, max(submit_time) as last_time, min(submit_time) as first_time,
      greatest(max(update_time), max(submit_time)) as change_time
    from (${requestedRows(from)}) as requested group by name, ecosystem, version
    ${inOrder("name", "ecosystem", "version")}`;
  return `(select name, ecosystem, ${statusExpression} as build_status, count(*)::integer as requested_version_count,
       count(*) filter (where is_built) as built_version_count, max(last_time) as last_request_time, min(first_time) as create_time,
       max(change_time) as update_time
     from (${versions}) as version group by name, ecosystem ${inOrder("name", "ecosystem")}) as library`;
};

const requestedLibrary = columns({
  name: text,
  ecosystem: text,
  buildStatus: text,
  requestedVersionCount: number,
  builtVersionCount: number,
  lastRequestTime: time("last_request_time"),
  createTime: time("create_time"),
  updateTime: time("update_time"),
});

type RequestedLibraryRow = ReturnType<typeof requestedLibrary.read> & { readonly key: readonly string[] };

export const findRequestedLibraries = async (rows: Read, filter: RequestedLibraryFilter, asked: PageRequest): Promise<RequestedLibraryRow[]> => {
  const { page, narrowed } = libraryTerms(filter);
  const { column } = asked.order;
  const order = column === "name" ? ["name", "ecosystem"] : [column, "name", "ecosystem"];
  const direction = asked.order.descending ? "desc" : "asc";
  const source =
    column === "name" && (await hasManyItems(rows, filter.place))
      ? librarySource(requestedByName(`${narrowed} ${behindName(page, asked)}`, itemsInOrder(page, direction)), direction)
      : librarySource(requestedByRequest(narrowed));
  const clause = pageClause(page, order, asked);
  const found = await rows.query(`select ${requestedLibrary.list}, ${order.map(orderValue).join(", ")} from ${source} ${clause}`, page.values, {
    rows: asked.limit,
    wide: true,
  });
  return found.map((row) => ({ ...requestedLibrary.read(row), key: row.slice(-order.length).map((value) => value ?? "") }));
};

const foundCount = columns({ found: expression("count(*)", number) });

export const countRequestedLibraries = async (rows: Read, filter: RequestedLibraryFilter): Promise<number> => {
  const { page, narrowed } = libraryTerms(filter);
  const byRequest = requestedByRequest(narrowed);
  // The index alone has the libraries of an organization.
  const named = isWholeOrganization(filter.place)
    ? `request_group_items as item
       where ${inOrganization} and ${isAskedFor} ${narrowed} and (left(uid, -17) in (select uid from request_groups where ${isSubmitted})) is true`
    : byRequest;
  const libraries = filter.buildStatus === "" ? `(select 1 from ${named} group by item.package_name, item.ecosystem) as library` : librarySource(byRequest);
  const text = `select ${foundCount.list} from ${libraries} where ${page.terms.join(" and ")}`;
  const found = await foundCount.findOne(rows, text, page.values, wideCount);
  return found?.found ?? 0;
};

export interface RequestedVersionFilter {
  readonly place: RequestedPlace;
  readonly ecosystem: string;
  readonly name: string;
  readonly availability: string;
}

// The last comparison wins.
const latestOf = (column: string): string => `(array_agg(${column} order by update_time desc, uid))[1] as ${column}`;

const versionTerms = ({ place, ecosystem, name, availability }: RequestedVersionFilter): { readonly page: PageTerms; readonly source: string } => {
  const page: PageTerms = { values: [...placeValues(place), ecosystem, name], terms: ["true"] };
  if (availability !== "") page.terms.push(`availability = ${addParameter(page, availability)}`);
  const newest = ["availability", "availability_reason", "closest_version", "latest_version"].map(latestOf).join(", ");
  const source = `(select version, sort_key, ${newest}, max(submit_time) as last_request_time, min(submit_time) as create_time,
       greatest(max(update_time), max(submit_time)) as update_time, jsonb_agg(distinct source) as sources
     from (${requestedRows(requestedByName("and ecosystem = $4 and package_name = $5"))}) as requested group by version, sort_key) as requested_version`;
  return { page, source };
};

const requestedVersion = columns({
  version: text,
  availability: text,
  availabilityReason: text,
  closestVersion: text,
  latestVersion: text,
  lastRequestTime: time("last_request_time"),
  createTime: time("create_time"),
  updateTime: time("update_time"),
  sources: textList,
});

type RequestedVersionRow = ReturnType<typeof requestedVersion.read> & { readonly key: readonly string[] };

export const findRequestedVersions = async (rows: Read, filter: RequestedVersionFilter, asked: PageRequest): Promise<RequestedVersionRow[]> => {
  const { page, source } = versionTerms(filter);
  const order = asked.order.column === "version" ? ["sort_key", "version"] : [asked.order.column, "version"];
  const clause = pageClause(page, order, asked);
  const found = await rows.query(`select ${requestedVersion.list}, ${order.map(orderValue).join(", ")} from ${source} ${clause}`, page.values, {
    rows: asked.limit,
    wide: true,
  });
  return found.map((row) => ({ ...requestedVersion.read(row), key: row.slice(-order.length).map((value) => value ?? "") }));
};

export const countRequestedVersions = async (rows: Read, filter: RequestedVersionFilter): Promise<number> => {
  const { page, source } = versionTerms(filter);
  const found = await foundCount.findOne(rows, `select ${foundCount.list} from ${source} where ${page.terms.join(" and ")}`, page.values, wideCount);
  return found?.found ?? 0;
};

const libraryRequests = columns({
  name: text,
  ecosystem: text,
  groupCount: expression("count(distinct uid)", number),
  sources: expression("jsonb_agg(distinct source)", textList),
});

export type LibraryRequests = ReturnType<typeof libraryRequests.read>;

export const findLibraryRequests = (rows: Read, place: RequestedPlace, names: readonly string[]): Promise<LibraryRequests[]> =>
  libraryRequests.find(
    rows,
    `select ${libraryRequests.list} from (${requestedRows(requestedByName("and package_name = any($4)"))}) as requested group by name, ecosystem`,
    [...placeValues(place), names],
    { rows: names.length, wide: true },
  );

const contribution = columns({ name: text, ecosystem: text, version: text, uid: text, requestName: text, submittedBy: text });

export type Contribution = ReturnType<typeof contribution.read>;

/**
 * Returns the request groups of each library, newest first and at most `most`.
 * @param byVersion of each version instead
 */
export const findContributions = (rows: Read, place: RequestedPlace, names: readonly string[], most: number, byVersion: boolean): Promise<Contribution[]> => {
  const each = byVersion ? "name, ecosystem, version" : "name, ecosystem";
  return contribution.find(
    rows,
    `select ${contribution.list} from (
       select *, row_number() over (partition by ${each} order by submit_time desc, uid) as position from (
         select distinct on (${each}, uid) * from (${requestedRows(requestedByName("and package_name = any($4)"))}) as requested order by ${each}, uid
       ) as contributed
     ) as placed where position <= $5 order by ${each}, position`,
    [...placeValues(place), names, most],
    { rows: names.length * most, wide: true },
  );
};
