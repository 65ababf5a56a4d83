// SCIM lists and filters in SQL. Table and column names come from the files that own the tables; values are always parameters.

import { limits } from "#base/limits.ts";
import { type Columns, columns, expression, number, type Param, type Read, wideCount } from "#db";

export type ScimOperator = "eq" | "ne" | "co" | "sw" | "ew" | "gt" | "ge" | "lt" | "le" | "pr";

/** `emails[type eq "work"]`; texts in lower case. */
export interface ScimPartTerm {
  readonly part: "type" | "display" | "primary";
  readonly operator: ScimOperator;
  readonly value: string | boolean;
}

/** Attributes are known and texts normalized. */
export type ScimCondition<Attribute extends string> =
  | { readonly kind: "and" | "or"; readonly conditions: readonly ScimCondition<Attribute>[] }
  | { readonly kind: "not"; readonly condition: ScimCondition<Attribute> }
  | {
      readonly kind: "compare";
      readonly attribute: Attribute;
      readonly operator: ScimOperator;
      readonly value: string | boolean;
      /** Further conditions on the same address. */
      readonly within?: readonly ScimPartTerm[];
    };

export type Add = (value: Param) => string;

const comparators: Readonly<Partial<Record<ScimOperator, string>>> = { gt: ">", ge: ">=", lt: "<", le: "<=" };

const literalPattern = (value: string): string => value.replace(/[\\%_]/g, "\\$&");

const patternOf = (operator: ScimOperator, value: string): string => `${operator === "sw" ? "" : "%"}${literalPattern(value)}${operator === "ew" ? "" : "%"}`;

/** Returns SQL that is never null, so that `not` is its exact opposite. */
export const scimComparison = (kept: string, operator: ScimOperator, value: string | boolean, add: Add): string => {
  // A missing name is stored as "", which would be contained in all names.
  const column = kept === "display_name" ? "nullif(display_name, '')" : kept;
  if (operator === "pr") return `${column} is not null`;
  const sign = comparators[operator];
  if (sign) return `coalesce(${column} ${sign} ${add(value)}, false)`;
  if (operator === "eq") return `coalesce(${column} = ${add(value)}, false)`;
  if (operator === "ne") return `${column} is distinct from ${add(value)}`;
  return `coalesce(${column} like ${add(patternOf(operator, String(value)))}, false)`;
};

type Compared<Attribute extends string> = Extract<ScimCondition<Attribute>, { readonly kind: "compare" }>;

const conditionText = <Attribute extends string>(
  condition: ScimCondition<Attribute>,
  compare: (compared: Compared<Attribute>, add: Add) => string,
  add: Add,
): string => {
  switch (condition.kind) {
    case "not":
      return `not ${conditionText(condition.condition, compare, add)}`;
    case "and":
    case "or":
      return `(${condition.conditions.map((each) => conditionText(each, compare, add)).join(` ${condition.kind} `)})`;
    case "compare":
      return compare(condition, add);
  }
};

/** Equality comparisons that must all hold. `indexed` maps attributes to columns. */
const indexedTerms = <Attribute extends string>(condition: ScimCondition<Attribute> | undefined, indexed: ReadonlyMap<string, string>, add: Add): string[] => {
  if (condition?.kind === "and") return condition.conditions.flatMap((each) => indexedTerms(each, indexed, add));
  if (condition?.kind !== "compare" || condition.operator !== "eq") return [];
  const column = indexed.get(condition.attribute);
  return column === undefined ? [] : [`${column} = ${add(condition.value)}`];
};

export interface ScimSelection<Attribute extends string> {
  readonly identityProviderUid: string;
  readonly condition: ScimCondition<Attribute> | undefined;
}

export interface ScimQuery<Attribute extends string, Sortable extends Attribute> extends ScimSelection<Attribute> {
  readonly sortBy: Sortable;
  readonly descending: boolean;
  readonly skip: number;
  readonly limit: number;
}

interface ScimListed<Row, Attribute extends string, Sortable extends Attribute> {
  readonly from: string;
  readonly row: Columns<Row>;
  /** Each is indexed after the provider. */
  readonly sorted: Readonly<Record<Sortable, string>>;
  readonly compare: (compared: Compared<Attribute>, add: Add) => string;
}

interface ScimLists<Row, Attribute extends string, Sortable extends Attribute> {
  /** Shorter if the documents are large. */
  readonly list: (rows: Read, query: ScimQuery<Attribute, Sortable>) => Promise<Row[]>;
  readonly count: (rows: Read, selection: ScimSelection<Attribute>) => Promise<number>;
}

/** Ends a page at a total size, because stored data must not determine memory use. Returns at least one row. */
const pageWithinBytes = (list: string, page: string, order: string): string =>
  `select ${list} from (select page.*, sum(octet_length(document)) over (order by ${order}) as bytes from (${page}) as page) as page
   where bytes - octet_length(document) < ${limits.scimListBytesMax} order by ${order}`;

const counted = columns({ count: expression("count(*)", number) });

export const scimLists = <Row, Attribute extends string, Sortable extends Attribute>({
  from,
  row,
  sorted,
  compare,
}: ScimListed<Row, Attribute, Sortable>): ScimLists<Row, Attribute, Sortable> => {
  const indexed = new Map(Object.entries<string>(sorted));
  const selected = ({ identityProviderUid, condition }: ScimSelection<Attribute>): { terms: string; values: Param[] } => {
    const values: Param[] = [identityProviderUid];
    const add = (value: Param): string => `$${values.push(value)}`;
    const terms = ["identity_provider_uid = $1", ...indexedTerms(condition, indexed, add)];
    if (condition) terms.push(conditionText(condition, compare, add));
    return { terms: terms.join(" and "), values };
  };
  return {
    list: (rows, query) => {
      const { terms, values } = selected(query);
      const direction = query.descending ? "desc" : "asc";
      const order = `${sorted[query.sortBy]} ${direction}, uid ${direction}`;
      const page = `select * ${from} where ${terms} order by ${order} offset $${values.length + 1} limit $${values.length + 2}`;
      return row.find(rows, pageWithinBytes(row.list, page, order), [...values, query.skip, query.limit], { rows: query.limit, wide: true });
    },
    count: async (rows, selection) => {
      const { terms, values } = selected(selection);
      return (await counted.findOne(rows, `select ${counted.list} ${from} where ${terms}`, values, wideCount))?.count ?? 0;
    },
  };
};
