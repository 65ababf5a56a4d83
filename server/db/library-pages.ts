// Pages of the tables that lie in no organization, the library catalogue's and the open feed's: the terms of a statement
// with their parameters, the order, and where a page begins. Pure.

import type { PageRequest } from "#base/page.ts";
import type { Param } from "./handle.ts";
import { timeText } from "./time-text.ts";

/** Terms of a statement, all of which must hold, and their parameters. */
export interface PageTerms {
  readonly values: Param[];
  readonly terms: string[];
}

/** Adds a parameter; how the statement names it. */
export const addParameter = ({ values }: PageTerms, value: Param): string => `$${values.push(value)}`;

/** Where, order, limit and offset of a page in the order of these columns, behind the last record of the page before. */
export const pageClause = (page: PageTerms, columns: readonly string[], { order: { descending }, after, limit, skip }: PageRequest): string => {
  const behind = after && `(${columns.join(", ")}) ${descending ? "<" : ">"} (${after.map((value) => addParameter(page, value)).join(", ")})`;
  const terms = behind ? [...page.terms, behind] : page.terms;
  const orderBy = columns.map((column) => `${column} ${descending ? "desc" : "asc"}`).join(", ");
  return `where ${terms.join(" and ")} order by ${orderBy} limit ${addParameter(page, limit)} offset ${addParameter(page, skip)}`;
};

/** A time in an order is read as its text: it goes into page tokens. */
export const orderValue = (column: string): string => (column.endsWith("_time") ? timeText(column) : column);
