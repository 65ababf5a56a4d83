// Converts a SCIM list request to a store query: filter on indexed attributes, order and page (RFC 7644, 3.4.2). Pure.

import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { readTimestamp, timestamp } from "#base/time.ts";
import type { ScimCondition, ScimGroupAttribute, ScimGroupQuery, ScimPartTerm, ScimUserAttribute, ScimUserQuery } from "#iam/store";
import { scimFault } from "./faults.ts";
import { type Comparison, type Filter, readFilter } from "./filter.ts";
import { withoutCoreUrn } from "./names.ts";

/** How an attribute compares: text (case-insensitive or exact), ID, flag, or time. */
type Kind = "text" | "exact text" | "id" | "flag" | "time";

interface Searchable<Attribute extends string> {
  readonly what: "users" | "groups";
  readonly attributes: Readonly<Record<Attribute, Kind>>;
  readonly aliases: Readonly<Record<string, Attribute>>;
  /** Sub-attributes of a list's values that can be filtered, in lower case; `of` is the attribute with their text. */
  readonly parts?: { readonly of: Attribute; readonly kinds: Readonly<Record<ScimPartTerm["part"], Kind>> };
}

const common = { id: "id", externalId: "exact text", displayName: "text", "meta.created": "time", "meta.lastModified": "time" } as const;

const users: Searchable<ScimUserAttribute> = {
  what: "users",
  attributes: { ...common, userName: "text", active: "flag", "emails.value": "text" },
  aliases: { emails: "emails.value" },
  parts: { of: "emails.value", kinds: { type: "text", display: "text", primary: "flag" } },
};

const groups: Searchable<ScimGroupAttribute> = {
  what: "groups",
  attributes: { ...common, "members.value": "id" },
  aliases: { members: "members.value" },
};

const operatorsOf: Readonly<Record<Kind, readonly string[]>> = {
  text: ["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"],
  "exact text": ["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"],
  id: ["eq", "ne"],
  flag: ["eq", "ne"],
  time: ["eq", "ne", "gt", "ge", "lt", "le"],
};

const namesOf = <Attribute extends string>({ attributes }: Searchable<Attribute>): Attribute[] => Object.keys(attributes) as Attribute[];

const attributeOf = <Attribute extends string>(searchable: Searchable<Attribute>, name: string): Attribute | undefined => {
  const wanted = withoutCoreUrn(name).toLowerCase();
  if (Object.hasOwn(searchable.aliases, wanted)) return searchable.aliases[wanted];
  return namesOf(searchable).find((each) => each.toLowerCase() === wanted);
};

const columnValue = (kind: Kind, name: string, value: string | number | boolean, provider: string): string | boolean => {
  const written = String(value);
  switch (kind) {
    case "id":
      return `${provider}/${written}`;
    case "exact text":
      return written;
    case "text":
      return written.toLowerCase();
    case "flag":
      if (/^(?:true|false)$/i.test(written)) return written.toLowerCase() === "true";
      throw scimFault("invalidFilter", `${name} is compared with true or false`);
    case "time": {
      const milliseconds = readTimestamp(written);
      if (milliseconds === undefined) throw scimFault("invalidFilter", `${name} is compared with a time such as "2026-01-31T08:00:00Z"`);
      return timestamp(milliseconds);
    }
  }
};

const attributeCondition = <Attribute extends string>(
  searchable: Searchable<Attribute>,
  { attribute: name, operator, value }: Comparison,
  provider: string,
): ScimCondition<Attribute> => {
  const attribute = attributeOf(searchable, name);
  if (!attribute) {
    const { what } = searchable;
    throw scimFault("invalidFilter", `${what} cannot be filtered by ${JSON.stringify(name.slice(0, 100))}; they can by ${namesOf(searchable).join(", ")}`);
  }
  const present = { kind: "compare", attribute, operator: "pr", value: true } as const;
  if (operator === "pr") return present;
  const kind = searchable.attributes[attribute];
  if (!operatorsOf[kind].includes(operator)) throw scimFault("invalidFilter", `${attribute} cannot be compared by ${operator}`);
  if (value === null) return operator === "ne" ? present : { kind: "not", condition: present };
  return { kind: "compare", attribute, operator, value: columnValue(kind, attribute, value, provider) };
};

const comparisonsOf = (filter: Filter): readonly Comparison[] => {
  if (filter.kind === "compare") return [filter];
  if (filter.kind === "and") return filter.filters.flatMap(comparisonsOf);
  throw scimFault("invalidFilter", 'brackets after an attribute may contain comparisons joined by "and"');
};

/** `emails[type eq "work" and value co "@example.com"]`: a single value matches all. An index finds its text; the rest filters those rows. */
const valuesCondition = <Attribute extends string>(
  searchable: Searchable<Attribute>,
  list: string,
  filter: Filter,
  provider: string,
): ScimCondition<Attribute> => {
  const { parts, what } = searchable;
  const isPart = (name: string): name is ScimPartTerm["part"] => parts !== undefined && Object.hasOwn(parts.kinds, name);
  const comparisons = comparisonsOf(filter).map((each) => ({ ...each, attribute: each.attribute.toLowerCase() }));
  const texts = comparisons.filter(({ attribute }) => !isPart(attribute));
  const [only, ...more] = texts;
  if (!only || more.length > 0) throw scimFault("invalidFilter", "use one comparison of the value, in brackets or after them");
  const condition = attributeCondition(searchable, { ...only, attribute: `${list}.${only.attribute}` }, provider);
  if (texts.length === comparisons.length) return condition;
  if (condition.kind !== "compare" || condition.attribute !== parts?.of)
    throw scimFault("invalidFilter", `of ${what} ${JSON.stringify(list.slice(0, 100))} cannot be asked so`);
  const within = comparisons.flatMap(({ attribute, operator, value }): ScimPartTerm[] => {
    if (!isPart(attribute)) return [];
    const kind = parts.kinds[attribute];
    if (operator !== "pr" && !operatorsOf[kind].includes(operator)) throw scimFault("invalidFilter", `${attribute} cannot be compared by ${operator}`);
    if (value === null && operator !== "pr") throw scimFault("invalidFilter", `${attribute} is compared with a value`);
    return [{ part: attribute, operator, value: value === null ? "" : columnValue(kind, attribute, value, provider) }];
  });
  return { ...condition, within };
};

const conditionOf = <Attribute extends string>(searchable: Searchable<Attribute>, filter: Filter, provider: string): ScimCondition<Attribute> => {
  switch (filter.kind) {
    case "and":
    case "or":
      return { kind: filter.kind, conditions: filter.filters.map((each) => conditionOf(searchable, each, provider)) };
    case "not":
      return { kind: "not", condition: conditionOf(searchable, filter.filter, provider) };
    case "values":
      return valuesCondition(searchable, filter.attribute, filter.filter, provider);
    case "compare":
      return attributeCondition(searchable, filter, provider);
  }
};

/** RFC 7644, 3.4.2.4: an index below 1 means 1, a count below 0 means 0. */
const placeOf = ({ startIndex, count }: JsonObject): { readonly skip: number; readonly limit: number } => ({
  skip: Math.max(0, Number(startIndex ?? 1) - 1),
  limit: Math.min(limits.scimPageMax, Math.max(0, Number(count ?? limits.scimPageSize))),
});

const listQueryOf = <Attribute extends string, Sortable extends Attribute>(
  searchable: Searchable<Attribute>,
  sortable: readonly Sortable[],
  byDefault: Sortable,
  request: JsonObject,
) => {
  const identityProviderUid = text(request, "identityProviderUid");
  const filter = text(request, "filter");
  const sortBy = text(request, "sortBy");
  const attribute = sortBy === "" ? byDefault : sortable.find((each) => each === attributeOf(searchable, sortBy));
  if (!attribute) throw scimFault("invalidValue", `${searchable.what} can be sorted by ${sortable.join(", ")}`);
  const order = text(request, "sortOrder").toLowerCase();
  if (!["", "ascending", "descending"].includes(order)) throw scimFault("invalidValue", "sortOrder must be ascending or descending");
  return {
    identityProviderUid,
    condition: filter.trim() === "" ? undefined : conditionOf(searchable, readFilter(filter), identityProviderUid),
    sortBy: attribute,
    descending: order === "descending",
    ...placeOf(request),
  };
};

const sortableGroups = ["id", "externalId", "displayName", "meta.created", "meta.lastModified"] as const;

/** Returns the store query of a list of users; throws 400 invalidFilter or invalidValue. */
export const userQueryOf = (request: JsonObject): ScimUserQuery => listQueryOf(users, [...sortableGroups, "userName"] as const, "id", request);

/** The same for groups. */
export const groupQueryOf = (request: JsonObject): ScimGroupQuery => listQueryOf(groups, sortableGroups, "id", request);
