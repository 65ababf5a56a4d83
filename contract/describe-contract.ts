// Computes the facts of the whole contract from its descriptors, for `npm run gen`.

import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { isView, messageFact, methodFact, viewedMethodFact } from "./describe.ts";
import { files } from "./descriptors.ts";
import type { Contract } from "./fact-data.ts";
import type { CapabilityFact, MethodFact, ViewedMethodFact } from "./facts.ts";
import { CapabilitySchema } from "./gen/chainguard/capabilities/capabilities_pb.js";
import { capability, CapabilityFactSchema } from "./gen/gantry/annotations/v1/annotations_pb.js";
import { messageOption } from "./options.ts";
import { linksOfMethod, scopeInView } from "./links.ts";

const services = files.flatMap((file) => file.services);
/** A package has one version: a service without counterparts is version 1 if others in its package are. */
const packagesOfVersion1 = new Set(services.filter(({ methods: own }) => own.some(isView)).map(({ file }) => file.proto.package));
const isVersion1 = ({ file }: DescService): boolean => packagesOfVersion1.has(file.proto.package);
const descriptorsOf = (chosen: readonly DescService[]): DescMethod[] => chosen.flatMap((service) => service.methods);

/** Adds the path of the scope in its own request. Throws if a field has no counterpart. */
const withOwnScope = (method: ViewedMethodFact): ViewedMethodFact => {
  linksOfMethod(method);
  return { ...method, scope: scopeInView(method) };
};

const describeCapabilities = (): CapabilityFact[] =>
  CapabilitySchema.values
    .flatMap((value): CapabilityFact[] => {
      const option = messageOption(value, capability, CapabilityFactSchema);
      return option ? [{ symbol: value.name, name: option.name, number: value.number, internalOnly: option.internalOnly }] : [];
    })
    .sort((one, other) => one.number - other.number);

/** Throws if the contract is contradictory or incomplete. */
export const describeContract = (): Contract => {
  const methods = descriptorsOf(services.filter((service) => !isVersion1(service))).map(methodFact);
  const byName = new Map(methods.map((method) => [method.name, method]));
  const version1 = descriptorsOf(services.filter(isVersion1)).map(
    (method): MethodFact => (isView(method) ? withOwnScope(viewedMethodFact(method, (name) => byName.get(name))) : { ...methodFact(method), version: "v1" }),
  );
  const messages = new Map(files.flatMap((file) => file.messages.map((message) => [message.typeName, messageFact(message)] as const)));
  return { messages, methods, version1, capabilities: describeCapabilities() };
};
