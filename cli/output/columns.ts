// Chooses table columns from the contract: name and sortable fields first, uid last.

import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { capabilityBySymbol } from "#contract/capabilities.ts";
import type { EnumFact, FieldFact, MessageFact } from "#contract/facts.ts";

export interface Column {
  readonly header: string;
  /** Path in the resource, in JSON names. */
  readonly path: readonly string[];
  readonly field: FieldFact | undefined;
  /** Columns with a low weight are dropped first in narrow terminals; undefined: never. */
  readonly weight: number | undefined;
}

/** Columns of resources that no single field identifies, the most important first. */
const identifyingColumns: Readonly<Record<string, readonly string[]>> = {
  "gantry.decisions.v1.FindingDecision": ["vulnerability", "package_name", "state", "approval_state", "uid", "expire_time", "create_time"],
  "gantry.findings.v1.Finding": ["severity", "advisory_id", "package_name", "installed_version", "fixed_version", "repo", "tags"],
  "gantry.findings.v1.FindingGroup": ["severity", "label", "finding_count", "image_count", "fixable_count", "exploited_count", "first_create_time"],
  "gantry.findings.v1.VexSource": ["name", "key_fingerprint", "repo_uid", "create_time"],
  "gantry.images.v1.AffectedImage": ["advisory_id", "package_name", "installed_version", "fixed_version", "repo", "tags", "state"],
};

const furtherColumnsMax = { named: 4, nameless: 5 };

/** Returns the common prefix of an enum's values: "ORG_KIND_". */
const prefixOf = ({ numbers }: EnumFact): string => {
  const names = [...numbers.keys()];
  let prefix = names[0] ?? "";
  while (prefix !== "" && !names.every((name) => name.startsWith(prefix) && name !== prefix))
    prefix = prefix.slice(0, prefix.lastIndexOf("_", prefix.length - 2) + 1);
  return prefix;
};

/** Returns "customer" for "ORG_KIND_CUSTOMER"; capabilities have their usual form: "repo.list". */
export const shortValue = (fact: EnumFact, name: string): string =>
  capabilityBySymbol(name)?.name ?? name.slice(prefixOf(fact).length).toLowerCase().replaceAll("_", "-");

/** Returns the short values of an enum, without the unspecified one. */
export const shortValues = (fact: EnumFact): string[] => [...fact.numbers].filter(([, number]) => number !== 0).map(([name]) => shortValue(fact, name));

const headerOf = (path: readonly string[]): string =>
  path
    .join(" ")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toUpperCase();

export const columnOf = (field: FieldFact, weight: number | undefined): Column => ({ header: headerOf([field.json]), path: [field.json], field, weight });

/** Returns true for a summary of another resource, such as the role of a role binding. */
const isSummary = ({ shape, kind, message, outputOnly }: FieldFact): boolean =>
  shape === "one" && kind === "message" && outputOnly && message?.byName.has("name") === true && message.byName.has("uid");

const isCell = (field: FieldFact): boolean =>
  isSummary(field) || (field.kind !== "message" && field.kind !== "any" && field.kind !== "bytes" && field.shape !== "map");

const isText = (field: FieldFact): boolean => field.name === "description";

/** Returns the priority of a column. Resources without a name, such as log entries, are identified by time. */
const weightOf = (field: FieldFact, isNamed: boolean): number => {
  if (field.shownOnce) return 9;
  if (isSummary(field)) return 8;
  if (!isNamed && field.name === "create_time") return 8;
  if (field.shape === "list") return 0;
  // Additive flags and choices are rarely set.
  if (field.additive && (field.kind === "bool" || field.kind === "enum")) return 1;
  if (field.kind === "enum") return 7;
  if (field.sortable && field.kind !== "timestamp") return 6;
  if (field.kind === "timestamp") return field.name === "update_time" ? 0 : 3;
  if (field.uid) return 0;
  return isText(field) ? 2 : 4;
};

const isName = ({ name, kind }: FieldFact): boolean => kind === "string" && name === "name";

export const columnsOf = (message: MessageFact, wide: boolean): Column[] => {
  const identifying = wide ? undefined : identifyingColumns[message.name];
  if (identifying)
    return identifying.flatMap((each, index) => {
      const field = message.byName.get(each);
      return field === undefined ? [] : [columnOf(field, identifying.length - index)];
    });
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
  const ordered = others.filter((field) => chosen.includes(field));
  const whole = (field: FieldFact | undefined): Column[] => (field === undefined ? [] : [columnOf(field, undefined)]);
  return [...whole(name), ...ordered.map((field) => columnOf(field, wide ? undefined : weightOf(field, name !== undefined))), ...whole(uid)];
};

/** Returns the requested columns, as in `name,claimMatch.issuer`, and the names that the message lacks. */
export const columnsByName = (message: MessageFact, names: readonly string[]): { readonly columns: readonly Column[]; readonly unknown: readonly string[] } => {
  const unknown: string[] = [];
  const columns = names.map((dotted): Column => {
    let within: MessageFact | undefined = message;
    let last: FieldFact | undefined;
    const path = dotted.split(".").map((part) => {
      // Map keys are data.
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
    // Milliseconds are omitted.
    return field?.kind === "timestamp" ? value.replace(/\.\d{3}Z$/, "Z") : value;
  }
  if (isObject(value)) return field !== undefined && isSummary(field) ? summaryText(value) : JSON.stringify(value);
  return value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
};

export const cellText = (field: FieldFact | undefined, value: Json | undefined): string => {
  if (value === undefined) return "";
  return Array.isArray(value) ? value.map((entry) => oneText(field, entry)).join(", ") : oneText(field, value);
};

/** Returns the value at a path. A list on the way yields the values of its entries. */
export const valueAtPath = (resource: Json | undefined, path: readonly string[]): Json | undefined => {
  const [first, ...rest] = path;
  if (first === undefined) return resource;
  if (Array.isArray(resource)) return resource.map((entry) => valueAtPath(entry, path) ?? null);
  return isObject(resource) && Object.hasOwn(resource, first) ? valueAtPath(resource[first], rest) : undefined;
};
