// The facts of the operation that a caller names, from the contract. The whole catalogue is loaded by those alone who name an
// operation by its text, or one of version 1: a page in a browser that uses three services loads three.

import type { DescMethod } from "@bufbuild/protobuf";
import { ApiError } from "#client";
import type { MethodFact } from "#contract/facts.ts";

/** "chainguard.platform.iam.v2.GroupsService/GetGroup", its generated descriptor, or its facts. */
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

/** Throws UNIMPLEMENTED for what is none. */
export const operationFact = async (operation: Operation): Promise<MethodFact> => {
  if (typeof operation === "string") return factOfName(operation);
  return "rpc" in operation ? operation : factOfDescriptor(operation);
};
