// Maps operations to verbs, by the contract's naming (AIP-131 to AIP-135).

import type { MethodFact } from "#contract/facts.ts";
import type { Answer, Context } from "../context.ts";
import type { Read } from "#db";
import type { BoundResource } from "../resource.ts";
import { create } from "./create.ts";
import { remove } from "./delete.ts";
import { get } from "./get.ts";
import { list } from "./list.ts";
import { update } from "./update.ts";

/** Returns the standard handler; undefined if the operation is not one of the five verbs. */
export const verbFor = (resource: BoundResource, { rpc, input }: MethodFact): Answer | undefined => {
  const name = resource.fact.short;
  const shaped = ({ resources }: Pick<Context<Read>, "resources">): BoundResource => resources.get(resource.fact.name) ?? resource;
  if (rpc === `Get${name}`) return { reads: (context) => get(shaped(context))(context) };
  if (rpc === `Create${name}`) return { writes: (context) => create(shaped(context))(context) };
  if (rpc === `Update${name}`) return { writes: (context) => update(shaped(context))(context) };
  if (rpc === `Delete${name}`) return { writes: (context) => remove(shaped(context))(context) };
  if (rpc.startsWith("List") && input.byName.has("page_token")) return { reads: (context) => list(shaped(context))(context) };
  return undefined;
};
