// Looks up operations. The whole catalogue is loaded only for names and version 1: a browser page that uses three services loads
// three.

import type { DescMethod } from "@bufbuild/protobuf";
import { ApiError } from "#client";
import type { MethodFact } from "#contract/facts.ts";

/** "chainguard.platform.iam.v2.GroupsService/GetGroup", a generated descriptor, or facts. */
export type Operation = string | DescMethod | MethodFact;

const facts = new WeakMap<DescMethod, MethodFact>();

const factOfName = async (name: string): Promise<MethodFact> => {
  const { methodByName } = await import("#contract/catalog.ts");
  const method = methodByName(name);
  if (!method) throw new ApiError("UNIMPLEMENTED", `unknown operation ${name}`);
  return method;
};

const factOfDescriptor = async (descriptor: DescMethod): Promise<MethodFact> => {
  const known = facts.get(descriptor);
  if (known) return known;
  const { isView, methodFact } = await import("#contract/describe.ts");
  const fact = isView(descriptor) ? await factOfName(`${descriptor.parent.typeName}/${descriptor.name}`) : methodFact(descriptor);
  facts.set(descriptor, fact);
  return fact;
};

/** Throws UNIMPLEMENTED if the operation is unknown. */
export const operationFact = async (operation: Operation): Promise<MethodFact> => {
  if (typeof operation === "string") return factOfName(operation);
  return "rpc" in operation ? operation : factOfDescriptor(operation);
};
