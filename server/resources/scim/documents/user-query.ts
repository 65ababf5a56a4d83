// Which users a list asks for: its filter on what is indexed, its order and its place among the results (RFC 7644, 3.4.2). Pure.

import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { readTimestamp, timestamp } from "#base/time.ts";
import type { ScimCondition, ScimUserAttribute, ScimUserQuery } from "#store";
import { scimFault } from "./faults.ts";
import { type Comparison, type Filter, readFilter } from "./filter.ts";

type Condition = ScimCondition<ScimUserAttribute>;

const coreName = /^urn:ietf:params:scim:schemas:core:2\.0:user:/;

const attributes: ReadonlyMap<string, ScimUserAttribute> = new Map<string, ScimUserAttribute>([
  ["id", "id"],
  ["username", "userName"],
  ["externalid", "externalId"],
  ["active", "active"],
  ["displayname", "displayName"],
  ["emails", "emails.value"],
  ["emails.value", "emails.value"],
  ["meta.created", "meta.created"],
  ["meta.lastmodified", "meta.lastModified"],
]);

const attributeOf = (name: string): ScimUserAttribute | undefined => attributes.get(name.toLowerCase().replace(coreName, ""));

const noValue = (attribute: ScimUserAttribute): Condition => ({ kind: "not", condition: { kind: "compare", attribute, operator: "pr", value: true } });

/** A text as the attribute's column has it. */
const columnText = (attribute: ScimUserAttribute, value: string, provider: string): string => {
  if (attribute === "id") return `${provider}/${value}`;
  if (attribute === "externalId") return value;
  if (attribute !== "meta.created" && attribute !== "meta.lastModified") return value.toLowerCase();
  const milliseconds = readTimestamp(value);
  if (milliseconds === undefined) throw scimFault("invalidFilter", `${attribute} is compared with a time such as "2026-01-31T08:00:00Z"`);
  return timestamp(milliseconds);
};

/** Operators that mean something for an attribute besides eq, ne and pr. */
const furtherOperators = (attribute: ScimUserAttribute): readonly string[] => {
  if (attribute === "active" || attribute === "id") return [];
  return attribute.startsWith("meta.") ? ["gt", "ge", "lt", "le"] : ["co", "sw", "ew", "gt", "ge", "lt", "le"];
};

const attributeCondition = ({ attribute: name, operator, value }: Comparison, within: string, provider: string): Condition => {
  const attribute = attributeOf(within + name);
  if (!attribute)
    throw scimFault(
      "invalidFilter",
      `users cannot be filtered by ${JSON.stringify((within + name).slice(0, 100))}; they can by ${[...attributes.values()].join(", ")}`,
    );
  if (operator === "pr") return { kind: "compare", attribute, operator, value: true };
  if (!["eq", "ne", ...furtherOperators(attribute)].includes(operator)) throw scimFault("invalidFilter", `${attribute} cannot be compared by ${operator}`);
  if (value === null) return operator === "ne" ? { kind: "not", condition: noValue(attribute) } : noValue(attribute);
  if (attribute === "active") {
    const flag = typeof value === "string" && /^(?:true|false)$/i.test(value) ? value.toLowerCase() === "true" : value;
    if (typeof flag !== "boolean") throw scimFault("invalidFilter", "active is compared with true or false");
    return { kind: "compare", attribute, operator, value: flag };
  }
  return { kind: "compare", attribute, operator, value: columnText(attribute, String(value), provider) };
};

const conditionOf = (filter: Filter, provider: string): Condition => {
  switch (filter.kind) {
    case "and":
    case "or":
      return { kind: filter.kind, conditions: filter.filters.map((each) => conditionOf(each, provider)) };
    case "not":
      return { kind: "not", condition: conditionOf(filter.filter, provider) };
    case "values":
      // Of several conditions one value would have to fit all: only its text has an index.
      if (filter.filter.kind !== "compare") throw scimFault("invalidFilter", "one comparison may stand in brackets behind an attribute");
      return attributeCondition(filter.filter, `${filter.attribute}.`, provider);
    case "compare":
      return attributeCondition(filter, "", provider);
  }
};

const sortable = ["id", "userName", "externalId", "displayName", "meta.created", "meta.lastModified"] as const;

/** What a List's request asks the store. Throws 400 invalidFilter or invalidValue. */
export const userQueryOf = (request: JsonObject): ScimUserQuery => {
  const provider = text(request, "identityProviderUid");
  const filter = text(request, "filter");
  const sortBy = text(request, "sortBy");
  const attribute = sortBy === "" ? "id" : sortable.find((each) => each === attributeOf(sortBy));
  if (!attribute) throw scimFault("invalidValue", `users can be sorted by ${sortable.join(", ")}`);
  const order = text(request, "sortOrder").toLowerCase();
  if (!["", "ascending", "descending"].includes(order)) throw scimFault("invalidValue", "sortOrder must be ascending or descending");
  return {
    identityProviderUid: provider,
    condition: filter.trim() === "" ? undefined : conditionOf(readFilter(filter), provider),
    sortBy: attribute,
    descending: order === "descending",
    ...placeOf(request),
  };
};

/** RFC 7644, 3.4.2.4: below 1 the index means 1, and a count below 0 means 0. */
export const placeOf = ({ startIndex, count }: JsonObject): { readonly skip: number; readonly limit: number } => ({
  skip: Math.max(0, Number(startIndex ?? 1) - 1),
  limit: Math.min(limits.scimPageMax, Math.max(0, Number(count ?? limits.scimPageSize))),
});
