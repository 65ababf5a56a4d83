// Filters of SCIM in SQL: what users and groups have in common. Names of columns come from the files that own the tables, values are
// always parameters.

import { limits } from "#base/limits.ts";
import type { Param } from "./handle.ts";

export type ScimOperator = "eq" | "ne" | "co" | "sw" | "ew" | "gt" | "ge" | "lt" | "le" | "pr";

/** What else is asked of one value of a list (`emails[type eq "work"]`); texts in lower case. */
export interface ScimPartTerm {
  readonly part: "type" | "display" | "primary";
  readonly operator: ScimOperator;
  readonly value: string | boolean;
}

/** A filter whose attributes are known, and whose texts are as the columns have them. */
export type ScimCondition<Attribute extends string> =
  | { readonly kind: "and" | "or"; readonly conditions: readonly ScimCondition<Attribute>[] }
  | { readonly kind: "not"; readonly condition: ScimCondition<Attribute> }
  | {
      readonly kind: "compare";
      readonly attribute: Attribute;
      readonly operator: ScimOperator;
      readonly value: string | boolean;
      /** Of e-mail addresses alone: what the same address must fit, too. */
      readonly within?: readonly ScimPartTerm[];
    };

const comparators: Readonly<Partial<Record<ScimOperator, string>>> = { gt: ">", ge: ">=", lt: "<", le: "<=" };

/** A text as a pattern of LIKE. */
const literalPattern = (value: string): string => value.replace(/[\\%_]/g, "\\$&");

const patternOf = (operator: ScimOperator, value: string): string => `${operator === "sw" ? "" : "%"}${literalPattern(value)}${operator === "ew" ? "" : "%"}`;

/** A condition on one column in SQL. Never null: `not` is the opposite of it. */
export const scimComparison = (column: string, operator: ScimOperator, value: string | boolean, add: (value: Param) => string): string => {
  if (operator === "pr") return column === "display_name" ? "display_name <> ''" : `${column} is not null`;
  const sign = comparators[operator];
  if (sign) return `coalesce(${column} ${sign} ${add(value)}, false)`;
  if (operator === "eq") return `coalesce(${column} = ${add(value)}, false)`;
  if (operator === "ne") return `${column} is distinct from ${add(value)}`;
  return `coalesce(${column} like ${add(patternOf(operator, String(value)))}, false)`;
};

/**
 * A page of users or groups that ends where their documents have become too many bytes: what an organization keeps is no measure of the
 * memory that it may take at once. One row comes always. `page` selects whole rows in `order`.
 */
export const scimPageWithinBytes = (list: string, page: string, order: string): string =>
  `select ${list} from (select page.*, sum(octet_length(document)) over (order by ${order}) as bytes from (${page}) as page) as page
   where bytes - octet_length(document) < ${limits.scimListBytesMax} order by ${order}`;

/** What alone finds rows by an index: equal comparisons, where all must hold. `columns`: those with one. */
export const indexedScimTerms = <Attribute extends string>(
  condition: ScimCondition<Attribute> | undefined,
  columns: Readonly<Partial<Record<Attribute, string>>>,
  add: (value: Param) => string,
): string[] => {
  if (condition?.kind === "and") return condition.conditions.flatMap((each) => indexedScimTerms(each, columns, add));
  if (condition?.kind !== "compare" || condition.operator !== "eq") return [];
  const column = columns[condition.attribute];
  return column === undefined ? [] : [`${column} = ${add(condition.value)}`];
};
