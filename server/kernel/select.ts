// Converts a List request to a selection of rows: the caller's branches, the hierarchy filter (uidp) and the contract's filters. Pure.

import type { FieldFact, MethodFact } from "#contract/facts.ts";
import { type Json, type JsonObject, part, text, texts } from "#base/json.ts";
import { ancestry, depthOf, EVERYWHERE } from "#base/uid.ts";
import { type Branch, type Condition, wholeTable } from "#db";
import type { Resource } from "./context.ts";

const groupMessage = "chainguard.platform.iam.v2.Group";

const subtreeOf = (path: string): Branch => (path === EVERYWHERE ? wholeTable : { low: path, high: `${path}0` });

const descendantsOf = (path: string): Branch => ({ low: `${path}/`, high: `${path}0` });

// Branches are nested or disjoint, so the intersection of two is one of them or empty.
const intersect = (branches: readonly Branch[], other: Branch): Branch[] =>
  branches.flatMap((branch) => {
    const low = branch.low > other.low ? branch.low : other.low;
    const high = branch.high < other.high ? branch.high : other.high;
    return low < high ? [{ low, high }] : [];
  });

/** True if all descendants of the parent are its children: tags below a repo, but not repos below a group. */
const isFlat = (resource: Resource): boolean => resource.parentMessage !== "" && resource.parentMessage !== groupMessage;

export interface Scope {
  readonly branches: readonly Branch[];
  readonly conditions: readonly Condition[];
}

/** Returns what the caller can see, narrowed by the request's uidp filter (uidp, section 4). Fields combine with AND. */
export const scopeOf = (resource: Resource, visiblePaths: readonly string[], alsoVisible: readonly string[], request: JsonObject, byName: boolean): Scope => {
  const uidp = part(request, "uidp");
  let branches = visiblePaths.map(subtreeOf);
  const isCovered = (uid: string) => branches.some(({ low, high }) => uid >= low && uid < high);
  branches = [...branches, ...alsoVisible.filter((uid) => !isCovered(uid)).map(subtreeOf)].sort((one, other) => (one.low < other.low ? -1 : 1));
  const conditions: Condition[] = [];
  const above = text(uidp, "descendantsOf");
  if (above) branches = intersect(branches, descendantsOf(above));
  const childrenOf = text(uidp, "childrenOf");
  if (childrenOf) {
    branches = intersect(branches, descendantsOf(childrenOf));
    // If all descendants are children, the range suffices; the depth excludes rows below a wrong parent (a repo's group). Sorting by
    // name still uses the parent's index.
    const flat = isFlat(resource) && !byName;
    conditions.push(
      flat ? { column: "depth", comparison: "equal", value: depthOf(childrenOf) + 1 } : { column: "parent", comparison: "equal", value: childrenOf },
    );
  }
  const ancestorsOf = text(uidp, "ancestorsOf");
  if (ancestorsOf) {
    const line = ancestry(ancestorsOf);
    conditions.push(
      resource.fact.name === groupMessage ? { column: "uid", comparison: "any", value: line.slice(1) } : { column: "parent", comparison: "any", value: line },
    );
  }
  if (uidp.inRoot === true) conditions.push({ column: "depth", comparison: "equal", value: 0 });
  const ids = texts(uidp, "ids");
  if (ids.length > 0) conditions.push({ column: "uid", comparison: "any", value: ids });
  return { branches, conditions };
};

const filterCondition = (resource: Resource, field: FieldFact, value: Json | undefined): Condition | undefined => {
  const filter = field.filter;
  if (!filter) return undefined;
  // Every sortable column has an index per root (schema.ts).
  const column = resource.fact.byName.get(filter.column);
  const indexed = filter.indexed || column?.sortable === true;
  switch (filter.comparison) {
    case "equal":
      if (Array.isArray(value)) {
        // Deduplicated: each value is a range of the field's index (store/list.ts), which would be read twice.
        const values = [...new Set(value.map(String))];
        if (column?.shape === "list") return { column: filter.column, comparison: "has", value: values, indexed: true };
        const [only, ...more] = values;
        return only !== undefined && more.length === 0
          ? { column: filter.column, comparison: "equal", value: only, indexed }
          : { column: filter.column, comparison: "any", value: values, indexed };
      }
      if (typeof value !== "string" || (value === "" && !field.presence)) return undefined;
      if (field.kind === "enum" && field.enum?.numbers.get(value) === 0) return undefined;
      return { column: filter.column, comparison: "equal", value, indexed };
    case "after":
      return typeof value === "string" ? { column: filter.column, comparison: "after", value } : undefined;
    case "include":
      return value === true ? undefined : { column: filter.column, comparison: "false", value: null };
    case "own":
      return undefined;
  }
};

export const filtersOf = (method: MethodFact, resource: Resource, request: JsonObject): Condition[] =>
  method.input.fields.flatMap((field) => {
    const unless = field.filter?.unless;
    const other = unless ? method.input.byName.get(unless)?.json : undefined;
    if (other !== undefined && text(request, other) !== "") return [];
    const condition = filterCondition(resource, field, request[field.json]);
    return condition ? [condition] : [];
  });
