// Which verb answers which operation: by the contract's own naming (AIP-131 to AIP-135).

import type { MethodFact } from "#contract/facts.ts";
import type { Answer } from "../context.ts";
import type { BoundResource } from "../resource.ts";
import { create } from "./create.ts";
import { remove } from "./delete.ts";
import { get } from "./get.ts";
import { list } from "./list.ts";
import { update } from "./update.ts";

/** The standard answer to an operation of this resource; undefined where it is not one of the five verbs. */
export const verbFor = (resource: BoundResource, { rpc, input }: MethodFact): Answer | undefined => {
  const name = resource.fact.short;
  if (rpc === `Get${name}`) return { reads: get(resource) };
  if (rpc === `Create${name}`) return { writes: create(resource) };
  if (rpc === `Update${name}`) return { writes: update(resource) };
  if (rpc === `Delete${name}`) return { writes: remove(resource) };
  if (rpc.startsWith("List") && input.byName.has("page_token")) return { reads: list(resource) };
  return undefined;
};
