// The facts of the operation that a caller names, from the contract. The whole catalogue is loaded by those alone who name an
// operation by its text, or one of version 1: a page in a browser that uses three services loads three.

import type { DescMethod } from "@bufbuild/protobuf";
import type { FieldFact, MethodFact } from "#contract/facts.ts";
import { ApiError } from "./error.ts";

/** "chainguard.platform.iam.v2.GroupsService/GetGroup", its generated descriptor, or its facts. */
export type Operation = string | DescMethod | MethodFact;

const facts = new WeakMap<DescMethod, MethodFact>();

const factOfName = async (name: string): Promise<MethodFact> => {
  const { methodByName } = await import("#contract/catalog.ts");
  const method = methodByName(name);
  if (!method) throw new ApiError("UNIMPLEMENTED", `there is no operation ${name}`);
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

/** True where the same call twice does no more than once, without anybody's help. */
export const isSafeToRepeat = ({ writes }: MethodFact): boolean => !writes;

/** True where the server keeps the first answer for an idempotency key (decisions: Safe writes): of whoever it knows. */
export const takesIdempotencyKey = ({ writes, open, distribution, scim }: MethodFact): boolean =>
  writes && !open && distribution === undefined && scim === undefined;

/** The field of an answer that holds what is listed: its one list of messages; undefined where it has none or several. */
export const listedField = ({ output }: MethodFact): FieldFact | undefined => {
  const [first, second] = output.fields.filter(({ shape, message }) => shape === "list" && message !== undefined);
  return second === undefined ? first : undefined;
};
