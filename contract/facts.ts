// Descriptors, read once into plain facts. After this file nobody touches protobuf options: path, capability,
// event, field behaviour, patterns and sort fields are read from these values alone.

import { create, type DescEnum, type DescField, type DescMessage, type DescMethod, ScalarType } from "@bufbuild/protobuf";
import type { Json } from "#base/json.ts";
import * as options from "./gen/gantry/annotations/v1/annotations_pb.js";
import { field_behavior as fieldBehavior, FieldBehavior } from "./gen/google/api/field_behavior_pb.js";
import { http as httpOption } from "./gen/google/api/annotations_pb.js";
import { HttpRuleSchema } from "./gen/google/api/http_pb.js";
import { flagOption, hasOption, messageOption, numbersOption, textOption } from "./options.ts";

export type Kind = "string" | "bool" | "int32" | "int64" | "double" | "bytes" | "enum" | "message" | "timestamp" | "duration" | "mask" | "any";

/** How many values a field holds. */
export type Shape = "one" | "list" | "map";

export interface FieldFact {
  /** "create_time", as in the proto. */
  readonly name: string;
  /** "createTime", as in JSON; "sync_config" where the contract pins it. */
  readonly json: string;
  readonly number: number;
  /** Property of a generated message that holds the value: [property], or [oneof property, case]. */
  readonly local: readonly [string] | readonly [string, string];
  readonly shape: Shape;
  /** Kind of the value, of a list's entries, of a map's values. */
  readonly kind: Kind;
  /** Kind of a map's keys. */
  readonly keyKind: Kind | undefined;
  readonly message: MessageFact | undefined;
  readonly enum: EnumFact | undefined;
  readonly oneof: string | undefined;
  /** Of the fields of its oneof one is needed. */
  readonly oneRequired: boolean;
  /** proto3 `optional`: an explicit default differs from absence. */
  readonly presence: boolean;
  readonly required: boolean;
  readonly outputOnly: boolean;
  readonly inputOnly: boolean;
  readonly immutable: boolean;
  /** Our addition to the public message (number 1000 and above): on the wire, never in an event's body. */
  readonly additive: boolean;
  /** It holds the uid at which the capabilities are needed. */
  readonly scope: boolean;
  readonly pattern: string | undefined;
  readonly maxLength: number;
  readonly minItems: number;
  readonly minimum: number;
  readonly maximum: number;
  readonly example: string;
  readonly redacted: boolean;
  /** A secret that only the answer of the call that made it shows. */
  readonly shownOnce: boolean;
  /** JSON name of the flag that keeps the value while it is true; "": none. */
  readonly fixedWhile: string;
  /** Never changed by a full replacement. */
  readonly namedOnly: boolean;
  readonly sortable: boolean;
  readonly orderAliases: readonly string[];
  /** Full name of the message whose uid the field holds; "": of none. */
  readonly refersTo: string;
  /** Of a list of messages: the two fields that a query may write as "first:second,second". */
  readonly writtenAs: readonly [string, string] | undefined;
  readonly uid: boolean;
  /** Of a resource's own uid: the message below which it lies, where no Create says so; "": one does. */
  readonly liesBelow: string;
  /** Of a resource's field with `refersTo`: the resource is deleted along with what it refers to. */
  readonly deletedWithReference: boolean;
  /** Of a resource's field with `refersTo`: how it uses what cannot be deleted meanwhile ("bound to identities"); "": it can be. */
  readonly inUseAs: string;
  /** Shown and taken in version 1 alone. */
  readonly version1Only: boolean;
  readonly filter: FilterFact | undefined;
  /** Of version 1: where version 2 has the same; undefined: under the same name. */
  readonly counterpart: CounterpartFact | undefined;
}

export interface CounterpartFact {
  /** Dotted proto names; "": the same name; ".": the fields of this message stand in the other one itself. */
  readonly path: string;
  readonly absent: boolean;
  readonly partial: boolean;
  readonly atRoot: string;
  /** Of two flags that say the opposite of each other: what is not sent is false here, and so true there. */
  readonly negated: boolean;
  /** Required there; here it may be left out. */
  readonly optional: boolean;
}

export interface FilterFact {
  readonly column: string;
  readonly comparison: "equal" | "after" | "include" | "own";
  readonly unless: string;
  readonly indexed: boolean;
}

export interface EnumFact {
  readonly name: string;
  readonly numbers: ReadonlyMap<string, number>;
  readonly names: ReadonlyMap<number, string>;
  /** Of version 1, where version 2 has a text, or other numbers: what each value stands for, by name. */
  readonly written: ReadonlyMap<string, string>;
  /** Names that stand for absence by their form, and that answers say nevertheless. */
  readonly answered: ReadonlySet<string>;
}

export interface MessageFact {
  /** "chainguard.platform.iam.v2.Group" */
  readonly name: string;
  /** "Group" */
  readonly short: string;
  readonly fields: readonly FieldFact[];
  /** By proto name, JSON name and lower camel case. */
  readonly byName: ReadonlyMap<string, FieldFact>;
  /** Sets of fields that exclude each other, of each of which one is needed. */
  readonly requiredOneofs: readonly (readonly FieldFact[])[];
  /** What follows for its rows; undefined where the contract does not say that there are any. */
  readonly resource: ResourceFact | undefined;
  readonly descriptor: DescMessage;
}

export interface ResourceFact {
  /** Proto names of the fields that no two resources below one parent have all alike; empty: there are none. */
  readonly unique: readonly string[];
  /** Deleted along with its parent; otherwise the parent cannot be deleted while it is there. */
  readonly deletedWithParent: boolean;
  /** Each organization has a quota of them. */
  readonly counted: boolean;
  /** Nothing is kept of it when it is deleted. */
  readonly deletedForGood: boolean;
}

export interface HttpFact {
  readonly verb: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** "/iam/v2/groups/{uid=**}" */
  readonly template: string;
  /** Field that the body fills (JSON name); "*" for the whole request; "" for none. */
  readonly body: string;
}

export interface DistributionFact {
  readonly verb: string;
  /** "/v2/{repo}/blobs/{digest}" */
  readonly template: string;
  /** The request's body is content: bytes that the operation reads as they come. */
  readonly takesContent: boolean;
  /** The answer's body is content. */
  readonly givesContent: boolean;
  /** What it names is made where it does not exist. */
  readonly makesRepo: boolean;
}

export interface ScimFact {
  readonly verb: string;
  /** "/scim/v2/{identity_provider_uid}/Users/{id}" */
  readonly template: string;
}

export interface EventFact {
  readonly type: string;
  readonly extensions: readonly string[];
  readonly audience: "customer" | "internal";
  /** The field that holds the subject: path in JSON names. */
  readonly subject: readonly string[];
  readonly group: "parent" | "self" | "root";
  /** The field whose uid the group follows from: path in JSON names; undefined: the subject. */
  readonly groupFrom: readonly string[] | undefined;
}

/**
 * What proto3 leaves out where a field has no presence of its own. -0 is a double of its own (protobuf.dev, Field Presence),
 * and "0" is one of int64 alone: of a string it is a text.
 */
export const isDefaultValue = ({ kind, enum: values }: FieldFact, value: Json): boolean =>
  value === "" ||
  (kind === "double" ? Object.is(value, 0) : value === 0) ||
  value === false ||
  (kind === "int64" && value === "0") ||
  (kind === "enum" && values?.numbers.get(String(value)) === 0);

/** What an operation gives to others, and for how long. */
export interface HandsOnFact {
  /** "role", "provider", …; "none": nothing by itself. */
  readonly rights: "none" | "role" | "identity" | "provider" | "scim" | "roleHolders" | "invite" | "organization" | "deletion";
  /** Where the request says when it ends: path in JSON names; undefined: it never does. */
  readonly end: readonly string[] | undefined;
  /** Rights from the groups of a sign-in may give it, too. */
  readonly fromSessions: boolean;
}

export interface MethodFact {
  /** "chainguard.platform.iam.v2.GroupsService/GetGroup" */
  readonly name: string;
  readonly service: string;
  /** "GetGroup" */
  readonly rpc: string;
  /** "iam" */
  readonly domain: string;
  /** "v2", "v2beta1"; "" for what is no versioned API of the platform: the issuer's services, and those of our own package. */
  readonly version: string;
  readonly input: MessageFact;
  readonly output: MessageFact;
  readonly http: readonly HttpFact[];
  /** Its path in the OCI Distribution protocol; undefined: it has none. */
  readonly distribution: DistributionFact | undefined;
  /** Its path in SCIM 2.0; undefined: it has none, and no SCIM token is taken. */
  readonly scim: ScimFact | undefined;
  /** Its answer is a file, beside the message. Whoever sends no token is answered by an open endpoint at the same path, if any. */
  readonly givesFile: boolean;
  readonly capabilities: readonly string[];
  readonly unscoped: boolean;
  readonly open: boolean;
  /** Without a token it is answered too, where what it names is open to everybody. */
  readonly anonymous: boolean;
  /** The token may come as a password. */
  readonly basic: boolean;
  /** True: the caller answers in person; it is no tool of an assistant. */
  readonly personal: boolean;
  /** It takes a credential out of use, or gives one for another: it cannot be rehearsed (validateOnly). */
  readonly credentials: boolean;
  /** Path (JSON names) of the request field whose uid says where the capabilities are needed; undefined for unscoped and open calls. */
  readonly scope: readonly string[] | undefined;
  /** JSON name of the request's filter that names groups at each of which the capabilities are needed. */
  readonly groupFilter: string | undefined;
  readonly event: EventFact | undefined;
  /** Undefined: it hands nothing on. */
  readonly handsOn: HandsOnFact | undefined;
  /** True for what changes state: everything that carries an event, and every verb but GET that does not say otherwise. */
  readonly writes: boolean;
  /** Default of order_by. */
  readonly defaultOrder: string;
  /** Where counting a List's results stops; undefined: nowhere. */
  readonly totalMax: number | undefined;
  readonly descriptor: DescMethod;
  /** Of version 1: what it is another shape of. Capabilities, order, what it tells and hands on are that one's, in its names. */
  readonly view: ViewFact | undefined;
}

export interface ViewFact {
  readonly of: MethodFact;
  /** The field of that one's request which this one's fills by itself. */
  readonly requestIn: FieldFact | undefined;
  /** The body of its event is the request, which holds the resource as it has become. */
  readonly tellsRequest: boolean;
}

/** An operation of version 1. */
export interface ViewedMethodFact extends MethodFact {
  readonly view: ViewFact;
}

export const isViewed = (method: MethodFact): method is ViewedMethodFact => method.view !== undefined;

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

const counterpartFact = ({ path, absent, partial, atRoot, negated, optional }: options.Counterpart): CounterpartFact => ({
  path,
  absent,
  partial,
  atRoot,
  negated,
  optional,
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
    writtenAs: writtenPairOf(ours.writtenAs),
    uid: ours.uid,
    liesBelow: ours.liesBelow,
    deletedWithReference: ours.deletedWithReference,
    inUseAs: ours.inUseAs,
    version1Only: ours.version1Only,
    filter: filter && { column: filter.column, comparison: comparisons[filter.comparison], unless: filter.unless, indexed: filter.indexed },
    counterpart: counterpart && counterpartFact(counterpart),
  };
};

/** "create_time" as "createTime": the spelling of masks, also where the contract pins another JSON name. */
const camelCase = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

const resourceFact = (descriptor: DescMessage): ResourceFact | undefined => {
  const option = messageOption(descriptor, options.resource, options.ResourceSchema);
  if (!option) return undefined;
  const { unique, deletedWithParent, counted, deletedForGood } = option;
  const unknown = unique.find((name) => !descriptor.fields.some((field) => field.name === name));
  if (unknown !== undefined) throw new Error(`${descriptor.typeName} is said to be unique by ${unknown}, which is none of its fields`);
  return { unique, deletedWithParent, counted, deletedForGood };
};

/** The fields of the same oneof side by side, where one of them is needed. */
export const requiredOneofsOf = (fields: readonly FieldFact[]): FieldFact[][] => {
  const names = new Set(fields.flatMap(({ oneof, oneRequired }) => (oneRequired && oneof !== undefined ? [oneof] : [])));
  return [...names].map((name) => fields.filter(({ oneof }) => oneof === name));
};

/** The facts of one message; computed once. Throws where its options contradict each other. */
export const messageFact = (descriptor: DescMessage): MessageFact => {
  const known = messages.get(descriptor.typeName);
  if (known) return known;
  const fields: FieldFact[] = [];
  const byName = new Map<string, FieldFact>();
  const requiredOneofs: FieldFact[][] = [];
  const fact: MessageFact = {
    name: descriptor.typeName,
    short: descriptor.name,
    fields,
    byName,
    requiredOneofs,
    resource: resourceFact(descriptor),
    descriptor,
  };
  messages.set(descriptor.typeName, fact);
  for (const field of descriptor.fields.map(fieldFact)) {
    fields.push(field);
    for (const name of [field.json, field.name, camelCase(field.name)]) byName.set(name, field);
  }
  requiredOneofs.push(...requiredOneofsOf(fields));
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

/** A dotted path of proto names in JSON names. */
export const jsonPathOf = (input: MessageFact, dotted: string): string[] => {
  const out: string[] = [];
  let message: MessageFact | undefined = input;
  for (const name of dotted.split(".")) {
    const field: FieldFact | undefined = message?.byName.get(name);
    out.push(field?.json ?? name);
    message = field?.message;
  }
  return out;
};

const groupRules = { [options.Place.UNSPECIFIED]: "parent", [options.Place.SELF]: "self", [options.Place.ROOT]: "root" } as const;

const rightsHandedOn = {
  [options.RightsHandedOn.UNSPECIFIED]: undefined,
  [options.RightsHandedOn.NONE]: "none",
  [options.RightsHandedOn.ROLE]: "role",
  [options.RightsHandedOn.IDENTITY]: "identity",
  [options.RightsHandedOn.PROVIDER]: "provider",
  [options.RightsHandedOn.SCIM]: "scim",
  [options.RightsHandedOn.ROLE_HOLDERS]: "roleHolders",
  [options.RightsHandedOn.INVITE]: "invite",
  [options.RightsHandedOn.ORGANIZATION]: "organization",
  [options.RightsHandedOn.DELETION]: "deletion",
} as const;

const handsOnFact = (descriptor: DescMethod, input: MessageFact): HandsOnFact | undefined => {
  const option = messageOption(descriptor, options.hands_on, options.HandsOnSchema);
  if (!option) return undefined;
  const { rights: wanted, end, fromSessions } = option;
  const rights = rightsHandedOn[wanted];
  if (rights === undefined) throw new Error(`${descriptor.name} hands on, but does not say which rights`);
  // Without an end it would be for good, which they may not give.
  if (fromSessions && end === "") throw new Error(`${descriptor.name} hands on rights of sessions, but nothing in its request says for how long`);
  return { rights, end: end === "" ? undefined : jsonPathOf(input, end), fromSessions };
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
  // Where the body does not say it, the request does.
  subject: jsonPathOf(body.byName.has((event.subject || "uid").split(".")[0] ?? "") ? body : input, event.subject || "uid"),
  group: groupRules[event.group],
  groupFrom: event.groupFrom ? jsonPathOf(body, event.groupFrom) : undefined,
});

/** The event that a message is the body of, where no operation's answer is. */
export const toldEventOf = (message: MessageFact): EventFact | undefined => {
  const told = messageOption(message.descriptor, options.told, options.EventSchema);
  return told && eventFact(told, message, message);
};

/** The facts of one operation. Throws where the contract forgot to say who may call it. */
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
    handsOn: handsOnFact(descriptor, input),
    writes: event !== undefined || (verb !== undefined && verb !== "GET" && !access.reads),
    defaultOrder: list?.defaultOrder || "uid",
    totalMax: Number(list?.totalMax ?? 0) || undefined,
    descriptor,
    view: undefined,
  };
};

/**
 * The facts of an operation of version 1: what the contract says of its counterpart, with messages and paths of its own.
 * `find` gives operations of version 2 by name. Throws where there is none such.
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
    descriptor,
    view: { of, requestIn: requestIn === "" ? undefined : of.input.byName.get(requestIn), tellsRequest },
  };
};

/** True for an operation that is another shape of one of version 2. */
export const isView = (descriptor: DescMethod): boolean => hasOption(descriptor, options.view);
