// Table place_counts: rows directly in a group and below it, maintained by the triggers of resource_counts. So
// totals cost the same for any number of rows.

import type { Param } from "./handle.ts";

/** For SCIM users, resource_counts has more than the table's rows. */
const countedTables: ReadonlySet<string> = new Set([
  "groups",
  "identities",
  "overlay_bindings",
  "overlays",
  "repos",
  "request_groups",
  "role_bindings",
  "subscriptions",
]);

export const isCountedByPlace = (table: string): boolean => countedTables.has(table);

export type CountedRows =
  | { readonly of: "everything" }
  | { readonly of: "children"; readonly place: string }
  /** Descendants of groups, and rows with these uids. */
  | { readonly of: "subtrees"; readonly places: readonly string[]; readonly uids: readonly string[] };

const rootLength = 40;

const equalsAny = (column: string, values: readonly string[], add: (value: Param) => string): string =>
  values.length > 1 ? `${column} = any(${add(values)})` : `${column} = ${add(values[0] ?? "")}`;

/** Returns the SQL of the count. `add` turns a value into a parameter. */
export const countedRowsStatement = (table: string, counted: CountedRows, add: (value: Param) => string): string => {
  switch (counted.of) {
    case "everything":
      return `select ((select coalesce(sum(row_count), 0) from resource_counts where resource = '${table}')
        + (select count(*) from ${table} where length(uid) = ${rootLength}))::bigint`;
    case "children":
      return `select coalesce(sum(children), 0)::bigint from place_counts where place = ${add(counted.place)} and resource = '${table}'`;
    case "subtrees": {
      const organizations = counted.places.filter(({ length }) => length === rootLength);
      const places = counted.places.filter(({ length }) => length > rootLength);
      const sums = [
        ...(organizations.length > 0
          ? [`(select coalesce(sum(row_count), 0) from resource_counts where ${equalsAny("organization", organizations, add)} and resource = '${table}')`]
          : []),
        ...(places.length > 0 ? [`(select coalesce(sum(below), 0) from place_counts where ${equalsAny("place", places, add)} and resource = '${table}')`] : []),
        ...(counted.uids.length > 0 ? [`(select count(*) from ${table} where ${equalsAny("uid", counted.uids, add)})`] : []),
      ];
      return `select (${sums.join(" + ")})::bigint`;
    }
  }
};
