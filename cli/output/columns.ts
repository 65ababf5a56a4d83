// Which columns a table has of a resource, and what stands in them. Chosen from the contract: what it is called and can be sorted
// by first, its uid last.

import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { capabilityBySymbol } from "#contract/capabilities.ts";
import type { EnumFact, FieldFact, MessageFact } from "#contract/facts.ts";

export interface Column {
  readonly header: string;
  /** Where it stands in the resource, in JSON names. */
  readonly path: readonly string[];
  readonly field: FieldFact | undefined;
  /** The lower, the sooner it is left out where a terminal is too narrow; undefined: never. */
  readonly weight: number | undefined;
}

/** Columns of a table besides its uid, and its name if it has one; a wide one has all. */
const furtherColumnsMax = { named: 4, nameless: 5 };

/** Letters that all values of the enum begin with: "ORG_KIND_". */
const prefixOf = ({ numbers }: EnumFact): string => {
  const names = [...numbers.keys()];
  let prefix = names[0] ?? "";
  while (prefix !== "" && !names.every((name) => name.startsWith(prefix) && name !== prefix))
    prefix = prefix.slice(0, prefix.lastIndexOf("_", prefix.length - 2) + 1);
  return prefix;
};

/** "ORG_KIND_CUSTOMER" as "customer", a capability as everywhere: "repo.list". */
export const shortValue = (fact: EnumFact, name: string): string =>
  capabilityBySymbol(name)?.name ?? name.slice(prefixOf(fact).length).toLowerCase().replaceAll("_", "-");

/** What people may write for the enum's values, the one that says nothing aside. */
export const shortValues = (fact: EnumFact): string[] => [...fact.numbers].filter(([, number]) => number !== 0).map(([name]) => shortValue(fact, name));

/** "createTime" as "CREATE TIME". */
const headerOf = (path: readonly string[]): string =>
  path
    .join(" ")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toUpperCase();

const columnOf = (field: FieldFact, weight: number | undefined): Column => ({ header: headerOf([field.json]), path: [field.json], field, weight });

/** Another resource in short: "role" of a role binding. */
const isSummary = ({ shape, kind, message, outputOnly }: FieldFact): boolean =>
  shape === "one" && kind === "message" && outputOnly && message?.byName.has("name") === true && message.byName.has("uid");

const isCell = (field: FieldFact): boolean =>
  isSummary(field) || (field.kind !== "message" && field.kind !== "any" && field.kind !== "bytes" && field.shape !== "map");

const isText = (field: FieldFact): boolean => field.name === "description";

/** The higher, the sooner it is shown. What has no name, such as an entry of a log, is known by its time. */
const weightOf = (field: FieldFact, isNamed: boolean): number => {
  if (field.shownOnce) return 9;
  if (isSummary(field)) return 8;
  if (!isNamed && field.name === "create_time") return 8;
  if (field.shape === "list") return 0;
  if (field.kind === "enum") return 7;
  if (field.sortable && field.kind !== "timestamp") return 6;
  if (field.kind === "timestamp") return field.name === "update_time" ? 0 : 3;
  if (field.uid) return 0;
  // A flag of ours is set of few, and left out while it is not.
  if (field.additive && field.kind === "bool") return 1;
  return isText(field) ? 2 : 4;
};

const isName = ({ name, kind }: FieldFact): boolean => kind === "string" && name === "name";

/** The columns of a table of these. */
export const columnsOf = (message: MessageFact, wide: boolean): Column[] => {
  const cells = message.fields.filter(isCell);
  const [name, uid] = [cells.find(isName), cells.find((field) => field.name === "uid") ?? cells.find((field) => field.name === "id")];
  const summaries = new Set(cells.filter(isSummary).map((field) => `${field.name}_uid`));
  const others = cells.filter((field) => field !== name && field !== uid && (wide || !summaries.has(field.name)));
  const chosen = wide
    ? others
    : others
        .map((field) => ({ field, weight: weightOf(field, name !== undefined) }))
        .filter(({ weight }) => weight > 0)
        .sort((one, other) => other.weight - one.weight)
        .slice(0, name === undefined ? furtherColumnsMax.nameless : furtherColumnsMax.named)
        .map(({ field }) => field);
  // As the contract orders them.
  const ordered = others.filter((field) => chosen.includes(field));
  const whole = (field: FieldFact | undefined): Column[] => (field === undefined ? [] : [columnOf(field, undefined)]);
  return [...whole(name), ...ordered.map((field) => columnOf(field, wide ? undefined : weightOf(field, name !== undefined))), ...whole(uid)];
};

/** The columns that are asked for, as `name,claimMatch.issuer`. Names that the message does not have are returned as unknown. */
export const columnsByName = (message: MessageFact, names: readonly string[]): { readonly columns: readonly Column[]; readonly unknown: readonly string[] } => {
  const unknown: string[] = [];
  const columns = names.map((dotted): Column => {
    let within: MessageFact | undefined = message;
    let last: FieldFact | undefined;
    const path = dotted.split(".").map((part) => {
      // The keys of a map are data.
      if (last?.shape === "map") return part;
      const field: FieldFact | undefined = within?.byName.get(part);
      if (field === undefined) unknown.push(dotted);
      last = field;
      within = field?.message;
      return field?.json ?? part;
    });
    return { header: headerOf(path), path, field: last, weight: undefined };
  });
  return { columns, unknown };
};

const summaryText = (value: JsonObject): string => text(value, "name") || text(value, "email") || text(value, "subject") || text(value, "uid");

const oneText = (field: FieldFact | undefined, value: Json): string => {
  if (typeof value === "string") {
    if (field?.enum?.numbers.has(value)) return shortValue(field.enum, value);
    // Three decimals that nobody reads.
    return field?.kind === "timestamp" ? value.replace(/\.\d{3}Z$/, "Z") : value;
  }
  if (isObject(value)) return field !== undefined && isSummary(field) ? summaryText(value) : JSON.stringify(value);
  return value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
};

/** The text of a value in a cell; "" where there is none. */
export const cellText = (field: FieldFact | undefined, value: Json | undefined): string => {
  if (value === undefined) return "";
  return Array.isArray(value) ? value.map((entry) => oneText(field, entry)).join(", ") : oneText(field, value);
};

/** What stands at a path of a resource. A list on the way gives what each of its entries has. */
export const valueAtPath = (resource: Json | undefined, path: readonly string[]): Json | undefined => {
  const [first, ...rest] = path;
  if (first === undefined) return resource;
  if (Array.isArray(resource)) return resource.map((entry) => valueAtPath(entry, path) ?? null);
  return isObject(resource) && Object.hasOwn(resource, first) ? valueAtPath(resource[first], rest) : undefined;
};
