// Converts descriptors to plain facts; no other code reads protobuf options. `npm run gen` stores the facts of the contract, so
// that only descriptors of other programs and tests are converted at run time.

import { create, type DescEnum, type DescField, type DescMessage, type DescMethod, ScalarType } from "@bufbuild/protobuf";
import * as options from "./gen/gantry/annotations/v1/annotations_pb.js";
import { field_behavior as fieldBehavior, FieldBehavior } from "./gen/google/api/field_behavior_pb.js";
import { http as httpOption } from "./gen/google/api/annotations_pb.js";
import { HttpRuleSchema } from "./gen/google/api/http_pb.js";
import {
  camelCase,
  type CounterpartFact,
  type DistributionFact,
  type EnumFact,
  type EventFact,
  type FieldFact,
  type DelegatesFact,
  type HttpFact,
  jsonPathOf,
  type Kind,
  type MessageFact,
  type MethodFact,
  requiredOneofsOf,
  type ResourceFact,
  type ScimFact,
  type Shape,
  type ViewedMethodFact,
} from "./facts.ts";
import { flagOption, hasOption, messageOption, numbersOption, textOption } from "./options.ts";

const wellKnown: Readonly<Record<string, Kind>> = {
  "google.protobuf.Timestamp": "timestamp",
  "google.protobuf.Duration": "duration",
  "google.protobuf.FieldMask": "mask",
  "google.protobuf.Any": "any",
  // A JSON object of any shape.
  "google.protobuf.Struct": "any",
};

const scalarKind = (scalar: ScalarType): Kind => {
  switch (scalar) {
    case ScalarType.STRING:
      return "string";
    case ScalarType.BOOL:
      return "bool";
    case ScalarType.BYTES:
      return "bytes";
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return "double";
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return "int32";
    default:
      return "int64";
  }
};

const messages = new Map<string, MessageFact>();
const enums = new Map<string, EnumFact>();

const enumFact = (descriptor: DescEnum): EnumFact => {
  const known = enums.get(descriptor.typeName);
  if (known) return known;
  const fact: EnumFact = {
    name: descriptor.typeName,
    numbers: new Map(descriptor.values.map((value) => [value.name, value.number])),
    names: new Map(descriptor.values.map((value) => [value.number, value.name])),
    written: new Map(
      descriptor.values.flatMap((value) => {
        const written = textOption(value, options.written);
        return written === undefined ? [] : [[value.name, written] as const];
      }),
    ),
    answered: new Set(descriptor.values.flatMap((value) => (flagOption(value, options.answered) ? [value.name] : []))),
  };
  enums.set(descriptor.typeName, fact);
  return fact;
};

const valueTypeOf = (field: DescField): { shape: Shape; kind: Kind; keyKind?: Kind; message?: DescMessage; enum?: DescEnum } => {
  const messageKind = (message: DescMessage): Kind => wellKnown[message.typeName] ?? "message";
  switch (field.fieldKind) {
    case "scalar":
      return { shape: "one", kind: scalarKind(field.scalar) };
    case "enum":
      return { shape: "one", kind: "enum", enum: field.enum };
    case "message":
      return { shape: "one", kind: messageKind(field.message), message: field.message };
    case "list":
      if (field.listKind === "scalar") return { shape: "list", kind: scalarKind(field.scalar) };
      if (field.listKind === "enum") return { shape: "list", kind: "enum", enum: field.enum };
      return { shape: "list", kind: messageKind(field.message), message: field.message };
    case "map": {
      const keyKind = scalarKind(field.mapKey);
      if (field.mapKind === "scalar") return { shape: "map", keyKind, kind: scalarKind(field.scalar) };
      if (field.mapKind === "enum") return { shape: "map", keyKind, kind: "enum", enum: field.enum };
      return { shape: "map", keyKind, kind: messageKind(field.message), message: field.message };
    }
  }
};

const comparisons = {
  [options.Comparison.UNSPECIFIED]: "equal",
  [options.Comparison.EQUAL]: "equal",
  [options.Comparison.AFTER]: "after",
  [options.Comparison.INCLUDE]: "include",
  [options.Comparison.OWN]: "own",
} as const;

const writtenPairOf = (written: string): [string, string] | undefined => {
  const [first, second] = written.split(":");
  return first && second ? [first, second] : undefined;
};

const noFieldOption = create(options.FieldSchema);

const counterpartFact = ({ path, absent, partial, atRoot, negated, optional, createPath }: options.Counterpart): CounterpartFact => ({
  path,
  absent,
  partial,
  atRoot,
  negated,
  optional,
  createPath,
});

const fieldFact = (field: DescField): FieldFact => {
  const value = valueTypeOf(field);
  const behaviours: readonly FieldBehavior[] = numbersOption(field, fieldBehavior);
  const ours = messageOption(field, options.field, options.FieldSchema) ?? noFieldOption;
  const where = `${field.parent.typeName}.${field.name}`;
  if (ours.refersTo === "" && (ours.deletedWithReference || ours.inUseAs !== "")) throw new Error(`${where} says what a deletion does, but not refers_to`);
  if (ours.deletedWithReference && ours.inUseAs !== "") throw new Error(`${where} is deleted along, so it cannot stand in the way: not both`);
  const filter = messageOption(field, options.filter, options.FilterSchema);
  const counterpart = messageOption(field, options.counterpart, options.CounterpartSchema);
  return {
    name: field.name,
    json: field.jsonName,
    number: field.number,
    local: field.oneof ? [field.oneof.localName, field.localName] : [field.localName],
    shape: value.shape,
    kind: value.kind,
    keyKind: value.keyKind,
    message: value.message && value.kind === "message" ? messageFact(value.message) : undefined,
    enum: value.enum && enumFact(value.enum),
    oneof: field.oneof?.name,
    oneRequired: field.oneof !== undefined && flagOption(field.oneof, options.one_required),
    presence: field.proto.proto3Optional,
    required: behaviours.includes(FieldBehavior.REQUIRED),
    outputOnly: behaviours.includes(FieldBehavior.OUTPUT_ONLY),
    inputOnly: behaviours.includes(FieldBehavior.INPUT_ONLY),
    immutable: behaviours.includes(FieldBehavior.IMMUTABLE),
    additive: field.number >= 1000,
    scope: flagOption(field, options.scope),
    pattern: ours.pattern || undefined,
    maxLength: ours.maxLength,
    minItems: ours.minItems,
    minimum: Number(ours.minimum),
    maximum: Number(ours.maximum),
    example: ours.example,
    redacted: ours.redacted || ours.shownOnce,
    shownOnce: ours.shownOnce,
    fixedWhile: camelCase(ours.fixedWhile),
    namedOnly: ours.namedOnly,
    sortable: ours.sortable,
    orderAliases: ours.orderAliases,
    refersTo: ours.refersTo,
    alsoRefersTo: ours.alsoRefersTo,
    writtenAs: writtenPairOf(ours.writtenAs),
    uid: ours.uid,
    liesBelow: ours.liesBelow,
    deletedWithReference: ours.deletedWithReference,
    inUseAs: ours.inUseAs,
    version1Only: ours.version1Only,
    deprecated: field.deprecated,
    filter: filter && { column: filter.column, comparison: comparisons[filter.comparison], unless: filter.unless, indexed: filter.indexed },
    counterpart: counterpart && counterpartFact(counterpart),
  };
};

const resourceFact = (descriptor: DescMessage): ResourceFact | undefined => {
  const option = messageOption(descriptor, options.resource, options.ResourceSchema);
  if (!option) return undefined;
  const { unique, deletedWithParent, counted, deletedForGood } = option;
  const unknown = unique.find((name) => !descriptor.fields.some((field) => field.name === name));
  if (unknown !== undefined) throw new Error(`${descriptor.typeName} is said to be unique by ${unknown}, which is none of its fields`);
  return { unique, deletedWithParent, counted, deletedForGood };
};

/** Returns the facts of a message, cached. Throws if its options contradict each other. */
export const messageFact = (descriptor: DescMessage): MessageFact => {
  const known = messages.get(descriptor.typeName);
  if (known) return known;
  const fields: FieldFact[] = [];
  const byName = new Map<string, FieldFact>();
  const requiredOneofs: FieldFact[][] = [];
  const fact: { -readonly [Name in keyof MessageFact]: MessageFact[Name] } = {
    name: descriptor.typeName,
    short: descriptor.name,
    fields,
    byName,
    requiredOneofs,
    resource: resourceFact(descriptor),
    told: undefined,
  };
  messages.set(descriptor.typeName, fact);
  for (const field of descriptor.fields.map(fieldFact)) {
    fields.push(field);
    for (const name of [field.json, field.name, camelCase(field.name)]) byName.set(name, field);
  }
  requiredOneofs.push(...requiredOneofsOf(fields));
  const told = messageOption(descriptor, options.told, options.EventSchema);
  fact.told = told && eventFact(told, fact, fact);
  return fact;
};

const httpFacts = (descriptor: DescMethod, input: MessageFact): HttpFact[] => {
  const rule = messageOption(descriptor, httpOption, HttpRuleSchema);
  if (!rule) return [];
  return [rule, ...rule.additionalBindings].flatMap(({ pattern, body }): HttpFact[] => {
    const bodyField = body === "*" || body === "" ? body : (input.byName.get(body)?.json ?? body);
    switch (pattern.case) {
      case "get":
        return [{ verb: "GET", template: pattern.value, body: bodyField }];
      case "post":
        return [{ verb: "POST", template: pattern.value, body: bodyField }];
      case "patch":
        return [{ verb: "PATCH", template: pattern.value, body: bodyField }];
      case "put":
        return [{ verb: "PUT", template: pattern.value, body: bodyField }];
      case "delete":
        return [{ verb: "DELETE", template: pattern.value, body: bodyField }];
      default:
        return [];
    }
  });
};

const distributionFact = (descriptor: DescMethod): DistributionFact | undefined => {
  const option = messageOption(descriptor, options.distribution, options.DistributionSchema);
  if (!option) return undefined;
  const { verb, path, takesContent, givesContent, makesRepo } = option;
  return { verb, template: path, takesContent, givesContent, makesRepo };
};

const scimFact = (descriptor: DescMethod): ScimFact | undefined => {
  const option = messageOption(descriptor, options.scim, options.ScimSchema);
  return option && { verb: option.verb, template: option.path };
};

const scopePathOf = (input: MessageFact): string[] | undefined => {
  const field = input.fields.find((candidate) => candidate.scope);
  if (!field) return undefined;
  if (!field.message) return [field.json];
  const inner = scopePathOf(field.message);
  return inner && [field.json, ...inner];
};

const groupRules = { [options.Place.UNSPECIFIED]: "parent", [options.Place.SELF]: "self", [options.Place.ROOT]: "root" } as const;

const rightsHandedOn = {
  [options.DelegatedRights.UNSPECIFIED]: undefined,
  [options.DelegatedRights.NONE]: "none",
  [options.DelegatedRights.ROLE]: "role",
  [options.DelegatedRights.IDENTITY]: "identity",
  [options.DelegatedRights.PROVIDER]: "provider",
  [options.DelegatedRights.SCIM]: "scim",
  [options.DelegatedRights.ROLE_HOLDERS]: "roleHolders",
  [options.DelegatedRights.INVITE]: "invite",
  [options.DelegatedRights.ORGANIZATION]: "organization",
  [options.DelegatedRights.DELETION]: "deletion",
} as const;

const delegatesFact = (descriptor: DescMethod, input: MessageFact): DelegatesFact | undefined => {
  const option = messageOption(descriptor, options.delegates, options.DelegatesSchema);
  if (!option) return undefined;
  const { rights: wanted, end, fromSessions } = option;
  const rights = rightsHandedOn[wanted];
  if (rights === undefined) throw new Error(`${descriptor.name} hands on, but does not say which rights`);
  // Session callers may not delegate without an expiry.
  if (fromSessions && end === "") throw new Error(`${descriptor.name} hands on rights of sessions, but nothing in its request says for how long`);
  return { rights, ...(end === "" ? {} : { end: jsonPathOf(input, end) }), fromSessions };
};
const groupFilterMessage = "gantry.lists.v1.GroupFilter";

const domainAndVersionOf = (typeName: string): [string, string] => {
  const match = /^chainguard\.platform\.([a-z]+)(?:\.(v\d+(?:beta\d+)?))?\./.exec(typeName);
  return [match?.[1] ?? typeName.split(".")[0] ?? "", match?.[2] ?? ""];
};

const eventFact = (event: options.Event, body: MessageFact, input: MessageFact): EventFact => ({
  type: event.type,
  extensions: event.extensions,
  audience: event.audience === options.Audience.INTERNAL ? "internal" : "customer",
  // If the body lacks the field, it is in the request.
  subject: jsonPathOf(body.byName.has((event.subject || "uid").split(".")[0] ?? "") ? body : input, event.subject || "uid"),
  group: groupRules[event.group],
  ...(event.groupFrom ? { groupFrom: jsonPathOf(body, event.groupFrom) } : {}),
});

/** Returns the facts of an operation. Throws if its access option is missing. */
export const methodFact = (descriptor: DescMethod): MethodFact => {
  const name = `${descriptor.parent.typeName}/${descriptor.name}`;
  const access = messageOption(descriptor, options.access, options.AccessSchema);
  if (!access) throw new Error(`${name} does not say who may call it: it has no option access`);
  const input = messageFact(descriptor.input);
  const output = messageFact(descriptor.output);
  const event = messageOption(descriptor, options.event, options.EventSchema);
  const list = messageOption(descriptor, options.list, options.ListSchema);
  const body = output.name === "google.protobuf.Empty" ? input : output;
  const http = httpFacts(descriptor, input);
  const distribution = distributionFact(descriptor);
  const scim = scimFact(descriptor);
  const verb = http[0]?.verb ?? distribution?.verb ?? scim?.verb;
  const [domain, version] = domainAndVersionOf(name);
  const scope = access.unscoped || access.open || access.capabilities.length === 0 ? undefined : scopePathOf(input);
  if (!access.open && !access.unscoped && access.capabilities.length > 0 && !scope) {
    throw new Error(`${name} needs capabilities, but no field of its request has the option scope`);
  }
  return {
    name,
    service: descriptor.parent.typeName,
    rpc: descriptor.name,
    domain,
    version,
    input,
    output,
    http,
    distribution,
    scim,
    givesFile: flagOption(descriptor, options.gives_file),
    conditional: flagOption(descriptor, options.conditional),
    capabilities: access.capabilities,
    unscoped: access.unscoped,
    open: access.open,
    anonymous: access.anonymous,
    basic: access.basic,
    personal: access.personal,
    credentials: access.credentials,
    scope,
    groupFilter: input.fields.find((field) => field.scope && field.message?.name === groupFilterMessage)?.json,
    event: event && eventFact(event, body, input),
    delegates: delegatesFact(descriptor, input),
    writes: event !== undefined || (verb !== undefined && verb !== "GET" && !access.reads),
    defaultOrder: list?.defaultOrder || "uid",
    totalMax: Number(list?.totalMax ?? 0) || undefined,
    deprecated: descriptor.deprecated,
    view: undefined,
  };
};

/**
 * Returns the facts of a version 1 operation: those of its counterpart, with its own messages and paths.
 * `find` looks up operations of version 2. Throws if the counterpart does not exist.
 */
export const viewedMethodFact = (descriptor: DescMethod, find: (name: string) => MethodFact | undefined): ViewedMethodFact => {
  const name = `${descriptor.parent.typeName}/${descriptor.name}`;
  const { of: viewed = "", requestIn = "", tellsRequest = false } = messageOption(descriptor, options.view, options.ViewSchema) ?? {};
  const of = find(viewed);
  if (!of) throw new Error(`${name} is a view of ${viewed}, which does not exist`);
  if (hasOption(descriptor, options.access) || hasOption(descriptor, options.event)) throw new Error(`${name} says what ${viewed} says already`);
  const input = messageFact(descriptor.input);
  return {
    ...of,
    name,
    service: descriptor.parent.typeName,
    rpc: descriptor.name,
    domain: domainAndVersionOf(name)[0],
    version: "v1",
    input,
    output: messageFact(descriptor.output),
    http: httpFacts(descriptor, input),
    deprecated: descriptor.deprecated,
    view: { of, requestIn: requestIn === "" ? undefined : of.input.byName.get(requestIn), tellsRequest },
  };
};

/** Returns true for a view of a version 2 operation. */
export const isView = (descriptor: DescMethod): boolean => hasOption(descriptor, options.view);
