// Declares resources, and binds them to tables and each other (types: context.ts). The contract has paths, capabilities, events, field
// behavior, sorting, filters, parents and the effect of deletions; a resource's file has the rest.

import { messageByName, methods as everyMethod, version1 } from "#contract/catalog.ts";
import type { MessageFact, MethodFact } from "#contract/facts.ts";
import type { MessageName } from "#contract/gen/facts.ts";
import type { Catalogue } from "#db";
import type { BoundResource, Resource, ResourceDefinition, ResourceReference } from "./context.ts";
import { type ShapeVersion, shapeOf } from "./shape.ts";

export type { BoundResource, Resource, RuleContext, VisibilityQuery } from "./context.ts";

/** Declares a resource. Throws for names that the contract does not have. */
export const resource = (
  definition: ResourceDefinition,
  methods: readonly MethodFact[] = [...everyMethod, ...version1],
  fact: MessageFact | undefined = messageByName(definition.message),
): Resource => {
  const services = [definition.service, ...(definition.furtherService ? [definition.furtherService] : [])];
  const operations = services.flatMap((service) => methods.filter((method) => method.service === service && method.view === undefined));
  const [first] = operations;
  if (!first) throw new Error(`${definition.service} is not in the contract's catalogue`);
  if (!fact) throw new Error(`${definition.message} is not in the contract's catalogue`);
  const create = operations.find((method) => method.rpc === `Create${fact.short}`);
  return {
    ...definition,
    fact,
    domain: first.domain,
    operations,
    otherParentMessage: create?.input.byName.get("parent")?.alsoRefersTo ?? "",
    parentMessage: create?.input.byName.get("parent")?.refersTo ?? fact.byName.get("uid")?.liesBelow ?? "",
    deletedWithParent: fact.resource?.deletedWithParent ?? false,
  };
};

interface Binding extends BoundResource {
  readonly children: BoundResource[];
  readonly cascades: ResourceReference[];
  readonly blocks: (ResourceReference & { readonly inUseAs: string })[];
}

const bindResource = (resource: Resource, table: string, resources: readonly Resource[], catalogue: Catalogue, version: ShapeVersion): Binding => {
  const { fact, hydrate = {}, computedFields, methodFields = [] } = resource;
  const columns = catalogue.get(table)?.columns;
  if (!columns) throw new Error(`the table ${table} of ${fact.short} does not exist`);
  const shape = shapeOf(fact, table, columns, version);
  if (shape.table.columns[0] !== "uid") throw new Error(`${fact.short} has no field uid`);
  const summaries = Object.entries(hydrate).map(([name, { by, table: source, findSeen }]) => {
    const field = fact.byName.get(name);
    const sourceColumns = catalogue.get(source)?.columns;
    if (!field?.message || !sourceColumns) throw new Error(`${fact.short}.${name} cannot be hydrated from ${source}`);
    return { field, by, shape: shapeOf(field.message, source, sourceColumns), findSeen };
  });
  for (const name of [...(computedFields?.names ?? []), ...methodFields]) {
    if (!fact.byName.has(name)) throw new Error(`${fact.short} has no field ${name} that its file could fill in`);
  }
  const named = (message: string): Resource | undefined => resources.find((other) => other.fact.name === message);
  const [parent, otherParent] = [named(resource.parentMessage), named(resource.otherParentMessage)];
  return { ...resource, shape, summaries, parent, otherParent, children: [], cascades: [], blocks: [] };
};

/** Binds resources to their tables, after schema.ts has checked these. Throws if a definition refers to something missing. */
export const bindResources = (
  resources: readonly Resource[],
  catalogue: Catalogue,
  version: ShapeVersion = "version 2",
): ReadonlyMap<string, BoundResource> => {
  const bound = new Map<string, Binding>();
  for (const each of resources) if (each.table) bound.set(each.fact.name, bindResource(each, each.table, resources, catalogue, version));
  for (const each of bound.values()) {
    for (const message of [each.parentMessage, each.otherParentMessage]) bound.get(message)?.children.push(each);
    for (const { refersTo, name, deletedWithReference, inUseAs } of each.fact.fields) {
      if (deletedWithReference) bound.get(refersTo)?.cascades.push({ resource: each, column: name });
      else if (inUseAs !== "") bound.get(refersTo)?.blocks.push({ resource: each, column: name, inUseAs });
    }
  }
  return bound;
};

export const boundOf = ({ resources }: { readonly resources: ReadonlyMap<string, BoundResource> }, message: MessageName): BoundResource => {
  const found = resources.get(message);
  if (!found) throw new Error(`${message} has no table`);
  return found;
};
