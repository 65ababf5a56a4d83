// What a resource file fills in: only what is particular to it. Everything else (paths, capabilities, events, field
// behaviour, sort fields, filters) is in the contract, and the verbs do the rest.
//
// The list of particulars is closed. A resource that needs more answers the operation itself, in `methods`.

import type { DescMessage, DescService } from "@bufbuild/protobuf";
import { methods as everyMethod } from "#contract/catalog.ts";
import { type FieldFact, type MessageFact, type MethodFact, messageFact } from "#contract/facts.ts";
import type { Violation } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import type { Condition, Read } from "#store";
import type { Rights } from "#authz";
import type { Answer, ChangeContext, ReadContext } from "./context.ts";
import { type Shape, shapeOf } from "./shape.ts";

export interface ResourceDefinition {
  readonly service: DescService;
  readonly message: DescMessage;
  /** Where its rows are; absent for what has none. */
  readonly table?: string;
  /** It is deleted along with its parent; otherwise the parent cannot be deleted while it is there. */
  readonly goesWithParent?: boolean;
  /** Further rows that go along with a deleted resource: those whose `column` starts with its uid. */
  readonly takes?: readonly { readonly table: string; readonly column: string }[];
  /**
   * What must hold across fields or rows before a create or update is written. `draft` is the resource as it would
   * be; change it to fill in what the server decides. Returns violations, or throws another fault.
   */
  readonly rules?: (draft: JsonObject, context: RuleContext) => Promise<readonly Violation[]> | readonly Violation[];
  /** Embedded briefs: the field, the field whose uid it shows ("parent" for the resource's own), and the table. */
  readonly hydrate?: Readonly<Record<string, { readonly by: string; readonly table: string }>>;
  /** Fields that have neither a column nor a brief: its own `methods` show them. */
  readonly shows?: readonly string[];
  /** Root-level rows that the caller sees besides its branches: built-in roles, humans. */
  readonly alsoVisible?: (look: VisibilityQuery) => Promise<readonly string[]>;
  /** Of a List: filters that the contract leaves to the resource (COMPARISON_OWN), and what it leaves out by itself. */
  readonly conditions?: (context: ReadContext) => Promise<readonly Condition[]>;
  /** Fields without a column, filled in for all records of an answer at once. */
  readonly fills?: {
    readonly fields: readonly string[];
    readonly fill: (rows: Read, records: readonly JsonObject[]) => Promise<readonly JsonObject[]>;
  };
  /** Operations that are not one of the five verbs, or need their own answer. Keyed by the operation's name. */
  readonly methods?: Readonly<Record<string, Answer>>;
}

/** A look for root-level rows that a caller sees besides its branches. */
export interface VisibilityQuery {
  readonly rights: Rights;
  /** The places where the caller holds what the operation needs. */
  readonly visiblePaths: readonly string[];
  readonly rows: Read;
  /** Only this uid matters; undefined: all. */
  readonly only: string | undefined;
}

export interface RuleContext extends ChangeContext {
  readonly parent: string;
  /** The resource before an update; undefined on create. */
  readonly before: JsonObject | undefined;
}

/** A resource as the kernel knows it: the particulars beside the facts. */
export interface Resource extends ResourceDefinition {
  readonly fact: MessageFact;
  readonly domain: string;
  readonly operations: readonly MethodFact[];
  /** The message of what it lies below, by the contract: of its Create's parent, or said of its uid. */
  readonly parentMessage: string;
}

/** Declares a resource. */
export const resource = (particulars: ResourceDefinition): Resource => {
  const operations = everyMethod.filter((method) => method.service === particulars.service.typeName);
  const [first] = operations;
  if (!first) throw new Error(`${particulars.service.typeName} is not in the contract's catalogue`);
  const create = operations.find((method) => method.rpc === `Create${particulars.message.name}`);
  const fact = messageFact(particulars.message);
  return {
    ...particulars,
    fact,
    domain: first.domain,
    operations,
    parentMessage: create?.input.byName.get("parent")?.refersTo ?? fact.byName.get("uid")?.liesBelow ?? "",
  };
};

/** A resource whose table has been found. */
export interface BoundResource extends Resource {
  readonly shape: Shape;
  readonly summaries: readonly { readonly field: FieldFact; readonly by: string; readonly shape: Shape }[];
  readonly parent: Resource | undefined;
  /** What lies directly below it, by the contract. */
  readonly children: readonly Resource[];
  /** Rows of other resources that are deleted along with it, because their `column` names it. */
  readonly cascades: readonly { readonly resource: BoundResource; readonly column: string }[];
}

/**
 * Checks resources against contract and database, so that the start fails and not a request.
 * @param columns every column of every table (store: readColumns)
 */
export const bind = (resources: readonly Resource[], columns: ReadonlyMap<string, ReadonlySet<string>>): ReadonlyMap<string, BoundResource> => {
  const bound = new Map<string, BoundResource>();
  for (const each of resources) {
    if (!each.table) continue;
    const found = columns.get(each.table);
    if (!found) throw new Error(`the table ${each.table} of ${each.fact.short} does not exist`);
    const shape = shapeOf(each.fact, each.table, found);
    if (shape.table.columns[0] !== "uid") throw new Error(`the first field of ${each.fact.short} must be uid`);
    const briefs = Object.entries(each.hydrate ?? {}).map(([name, { by, table }]) => {
      const field = each.fact.byName.get(name);
      const briefColumns = columns.get(table);
      if (!field?.message || !briefColumns) throw new Error(`${each.fact.short}.${name} cannot be hydrated from ${table}`);
      return { field, by, shape: shapeOf(field.message, table, briefColumns) };
    });
    const shown = new Set([...shape.fields, ...briefs.map(({ field }) => field)]);
    const filled = new Set(each.fills?.fields);
    const forgotten = each.fact.fields.find(
      (field) => !shown.has(field) && !filled.has(field.json) && !field.inputOnly && !field.shownOnce && !each.shows?.includes(field.name),
    );
    if (forgotten) throw new Error(`${each.fact.short}.${forgotten.name} has neither a column in ${each.table} nor a source`);
    const parent = resources.find((other) => other.fact.name === each.parentMessage);
    const children = resources.filter((other) => other.table && other.parentMessage === each.fact.name);
    bound.set(each.fact.name, { ...each, shape, summaries: briefs, parent, children, cascades: [] });
  }
  // What goes along and is a resource itself is told of; the rest are side tables.
  for (const each of bound.values()) {
    const cascades: { resource: BoundResource; column: string }[] = [];
    const takes = (each.takes ?? []).filter(({ table, column }) => {
      const referring = [...bound.values()].find(
        (other) => other.table === table && other.operations.some(({ rpc, event }) => event && rpc === `Delete${other.fact.short}`),
      );
      if (referring) cascades.push({ resource: referring, column });
      return !referring;
    });
    bound.set(each.fact.name, { ...each, takes, cascades });
  }
  return bound;
};

/** The resource of this message with its table: for answers of a resource's own. */
export const boundOf = ({ resources }: { readonly resources: ReadonlyMap<string, BoundResource> }, message: DescMessage): BoundResource => {
  const found = resources.get(message.typeName);
  if (!found) throw new Error(`${message.name} has no table`);
  return found;
};
