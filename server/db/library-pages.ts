// Pagination for tables outside organizations. Pure.

import type { PageRequest } from "#base/page.ts";
import type { Param } from "./handle.ts";
import { timeText } from "./time-text.ts";

/** Terms combined with `and`. */
export interface PageTerms {
  readonly values: Param[];
  readonly terms: string[];
}

export const addParameter = ({ values }: PageTerms, value: Param): string => `$${values.push(value)}`;

/** Returns `where`, `order by`, `limit` and `offset` of the page. */
export const pageClause = (page: PageTerms, columns: readonly string[], { order: { descending }, after, limit, skip }: PageRequest): string => {
  const behind = after && `(${columns.join(", ")}) ${descending ? "<" : ">"} (${after.map((value) => addParameter(page, value)).join(", ")})`;
  const terms = behind ? [...page.terms, behind] : page.terms;
  const orderBy = columns.map((column) => `${column} ${descending ? "desc" : "asc"}`).join(", ");
  return `where ${terms.join(" and ")} order by ${orderBy} limit ${addParameter(page, limit)} offset ${addParameter(page, skip)}`;
};

/** Returns the SQL of an order column; times are read as text for page tokens. */
export const orderValue = (column: string): string => (column.endsWith("_time") ? timeText(column) : column);
