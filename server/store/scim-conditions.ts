// Filters of SCIM in SQL: what users and groups have in common. Names of columns come from the files that own the tables, values are
// always parameters.

import type { Param } from "./handle.ts";

export type ScimOperator = "eq" | "ne" | "co" | "sw" | "ew" | "gt" | "ge" | "lt" | "le" | "pr";

/** A filter whose attributes are known, and whose texts are as the columns have them. */
export type ScimCondition<Attribute extends string> =
  | { readonly kind: "and" | "or"; readonly conditions: readonly ScimCondition<Attribute>[] }
  | { readonly kind: "not"; readonly condition: ScimCondition<Attribute> }
  | { readonly kind: "compare"; readonly attribute: Attribute; readonly operator: ScimOperator; readonly value: string | boolean };

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

/** What alone finds its rows by an index: an equal comparison, by itself or among those that must all hold. `columns`: those with one. */
export const indexedScimTerm = <Attribute extends string>(
  condition: ScimCondition<Attribute> | undefined,
  columns: Readonly<Partial<Record<Attribute, string>>>,
  add: (value: Param) => string,
): string | undefined => {
  if (condition?.kind === "and") return condition.conditions.map((each) => indexedScimTerm(each, columns, add)).find((each) => each !== undefined);
  if (condition?.kind !== "compare" || condition.operator !== "eq") return undefined;
  const column = columns[condition.attribute];
  return column === undefined ? undefined : `${column} = ${add(condition.value)}`;
};
