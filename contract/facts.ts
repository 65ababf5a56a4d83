// What the contract says, as plain values: paths, capabilities, events, field behaviour, patterns and sort fields. They are computed
// from the descriptors once, by `npm run gen` (describe.ts, tools/facts.ts), and read from its output (catalog.ts).

import type { Json } from "#base/json.ts";

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
  readonly deprecated: boolean;
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
  /** Where the request of a create has it, if elsewhere; "" otherwise. */
  readonly createPath: string;
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
  /** The event that it is the body of, where no operation's answer is. */
  readonly told: EventFact | undefined;
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
  readonly groupFrom?: readonly string[];
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
  readonly end?: readonly string[];
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
  readonly deprecated: boolean;
  /** Of version 1: what it is another shape of. Capabilities, order, what it tells and hands on are that one's, in its names. */
  readonly view: ViewFact | undefined;
}

export interface CapabilityFact {
  readonly symbol: string;
  readonly name: string;
  readonly number: number;
  /** Only a role that carries "internal" too may carry it. */
  readonly internalOnly: boolean;
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

/** The fields of the same oneof side by side, where one of them is needed. */
export const requiredOneofsOf = (fields: readonly FieldFact[]): FieldFact[][] => {
  const names = new Set(fields.flatMap(({ oneof, oneRequired }) => (oneRequired && oneof !== undefined ? [oneof] : [])));
  return [...names].map((name) => fields.filter(({ oneof }) => oneof === name));
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

/** "create_time" as "createTime": the spelling of masks, also where the contract pins another JSON name. */
export const camelCase = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
