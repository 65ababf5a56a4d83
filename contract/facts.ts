// The contract as plain values: paths, capabilities, events, field behaviour, patterns and sort fields. `npm run gen` computes
// them from the descriptors (describe.ts, tools/facts.ts), and catalog.ts reads its output.

import type { Json } from "#base/json.ts";

export type Kind = "string" | "bool" | "int32" | "int64" | "double" | "bytes" | "enum" | "message" | "timestamp" | "duration" | "mask" | "any";

/** The cardinality of a field. */
export type Shape = "one" | "list" | "map";

export interface FieldFact {
  /** "create_time", as in the proto. */
  readonly name: string;
  /** "createTime", as in JSON; "sync_config" if the contract pins it. */
  readonly json: string;
  readonly number: number;
  /** Property of a generated message: [property], or [oneof property, case]. */
  readonly local: readonly [string] | readonly [string, string];
  readonly shape: Shape;
  /** Kind of the value, of list entries, or of map values. */
  readonly kind: Kind;
  readonly keyKind: Kind | undefined;
  readonly message: MessageFact | undefined;
  readonly enum: EnumFact | undefined;
  readonly oneof: string | undefined;
  /** One field of its oneof is required. */
  readonly oneRequired: boolean;
  /** proto3 `optional`: a default differs from absence. */
  readonly presence: boolean;
  readonly required: boolean;
  readonly outputOnly: boolean;
  readonly inputOnly: boolean;
  readonly immutable: boolean;
  /** A Gantry extension of the public message (number 1000 and above): in responses, never in event bodies. */
  readonly additive: boolean;
  /** Holds the uid on which the capabilities are required. */
  readonly scope: boolean;
  readonly pattern: string | undefined;
  readonly maxLength: number;
  readonly minItems: number;
  readonly minimum: number;
  readonly maximum: number;
  readonly example: string;
  readonly redacted: boolean;
  /** A secret that only the creating response contains. */
  readonly shownOnce: boolean;
  /** JSON name of the flag that freezes the value while true; "" for none. */
  readonly fixedWhile: string;
  /** Unchanged by a full replacement. */
  readonly namedOnly: boolean;
  readonly sortable: boolean;
  readonly orderAliases: readonly string[];
  /** Full name of the message that the uid refers to; "" for none. */
  readonly refersTo: string;
  /** For a request's field with `refersTo`: the full name of another message that it may name; otherwise "". */
  readonly alsoRefersTo: string;
  /** For a list of messages: the two fields of the query form "first:second,second". */
  readonly writtenAs: readonly [string, string] | undefined;
  readonly uid: boolean;
  /** For a resource's own uid: its parent message, if no Create states it; otherwise "". */
  readonly liesBelow: string;
  readonly deletedWithReference: boolean;
  /** For a resource's field with `refersTo`: the use that blocks deletion ("bound to identities"); "" if it does not. */
  readonly inUseAs: string;
  readonly version1Only: boolean;
  readonly filter: FilterFact | undefined;
  readonly deprecated: boolean;
  /** For version 1: the place in version 2; undefined for the same name. */
  readonly counterpart: CounterpartFact | undefined;
}

export interface CounterpartFact {
  /** Dotted proto names; "" for the same name; "." if this message's fields are directly in the other one. */
  readonly path: string;
  readonly absent: boolean;
  readonly partial: boolean;
  readonly atRoot: string;
  /** Flags with opposite meanings: absent is false here, hence true there. */
  readonly negated: boolean;
  /** Required there, optional here. */
  readonly optional: boolean;
  /** Path in a create request, if it differs; "" otherwise. */
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
  /** For version 1, if version 2 has a text or other numbers: the meaning of each value, by name. */
  readonly written: ReadonlyMap<string, string>;
  /** Names that look like absence but occur in responses. */
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
  /** Sets of exclusive fields, one of which is required. */
  readonly requiredOneofs: readonly (readonly FieldFact[])[];
  /** Properties of its rows; undefined if it is not a resource. */
  readonly resource: ResourceFact | undefined;
  /** The event that it is the body of, if it is no operation's response. */
  readonly told: EventFact | undefined;
}

export interface ResourceFact {
  /** Proto names of fields that are unique together below one parent; empty for none. */
  readonly unique: readonly string[];
  /** Deleted with its parent; otherwise it blocks the parent's deletion. */
  readonly deletedWithParent: boolean;
  /** Counted against a quota per organization. */
  readonly counted: boolean;
  /** Deleted permanently, without soft delete. */
  readonly deletedForGood: boolean;
}

export interface HttpFact {
  readonly verb: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** "/iam/v2/groups/{uid=**}" */
  readonly template: string;
  /** JSON name of the body's field; "*" for the whole request; "" for none. */
  readonly body: string;
}

export interface DistributionFact {
  readonly verb: string;
  /** "/v2/{repo}/blobs/{digest}" */
  readonly template: string;
  /** The request's body is content, read as a stream. */
  readonly takesContent: boolean;
  /** The response's body is content. */
  readonly givesContent: boolean;
  /** Creates the repository if it does not exist. */
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
  /** Path of the subject's field, in JSON names. */
  readonly subject: readonly string[];
  readonly group: "parent" | "self" | "root";
  /** Path of the field that determines the group, in JSON names; undefined for the subject. */
  readonly groupFrom?: readonly string[];
}

/**
 * Returns whether proto3 omits the value of a field without presence. -0 is a distinct double (protobuf.dev, Field Presence); "0"
 * is a default only for int64.
 */
export const isDefaultValue = ({ kind, enum: values }: FieldFact, value: Json): boolean =>
  value === "" ||
  (kind === "double" ? Object.is(value, 0) : value === 0) ||
  value === false ||
  (kind === "int64" && value === "0") ||
  (kind === "enum" && values?.numbers.get(String(value)) === 0);

/** The permissions that an operation delegates, and their expiry. */
export interface DelegatesFact {
  /** "none": nothing by itself. */
  readonly rights: "none" | "role" | "identity" | "provider" | "scim" | "roleHolders" | "invite" | "organization" | "deletion";
  /** Path of the expiry in the request, in JSON names; undefined for no expiry. */
  readonly end?: readonly string[];
  /** Callers with permissions from sign-in groups may do it too. */
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
  /** "v2", "v2beta1"; "" for unversioned APIs: the issuer's services and Gantry's own package. */
  readonly version: string;
  readonly input: MessageFact;
  readonly output: MessageFact;
  readonly http: readonly HttpFact[];
  /** Its path in the OCI Distribution protocol, if any. */
  readonly distribution: DistributionFact | undefined;
  /** Its path in SCIM 2.0; without one, SCIM tokens are refused. */
  readonly scim: ScimFact | undefined;
  /** Returns a file. Without a token, a public endpoint at the same path responds instead, if there is one. */
  readonly givesFile: boolean;
  /** A create that takes If-Match and If-None-Match. */
  readonly conditional: boolean;
  readonly capabilities: readonly string[];
  readonly unscoped: boolean;
  readonly open: boolean;
  /** Also serves callers without a token if the resource is public. */
  readonly anonymous: boolean;
  /** The token may be sent as a password. */
  readonly basic: boolean;
  /** Requires the user in person; not offered as a tool to assistants. */
  readonly personal: boolean;
  /** Revokes or exchanges a credential, so validateOnly is not supported. */
  readonly credentials: boolean;
  /** Path (JSON names) of the field whose uid the capabilities are required on; undefined for unscoped and open calls. */
  readonly scope: readonly string[] | undefined;
  /** JSON name of the filter whose groups each require the capabilities. */
  readonly groupFilter: string | undefined;
  readonly event: EventFact | undefined;
  /** Undefined if it delegates nothing. */
  readonly delegates: DelegatesFact | undefined;
  /** True for operations that change state: those with an event, and by default every method other than GET. */
  readonly writes: boolean;
  readonly defaultOrder: string;
  /** Where counting results stops; undefined for no limit. */
  readonly totalMax: number | undefined;
  readonly deprecated: boolean;
  /** For version 1: its counterpart, which defines capabilities, order, events and delegation. */
  readonly view: ViewFact | undefined;
}

export interface CapabilityFact {
  readonly symbol: string;
  readonly name: string;
  readonly number: number;
  /** Only roles with "internal" may have it. */
  readonly internalOnly: boolean;
}

export interface ViewFact {
  readonly of: MethodFact;
  /** The field of the counterpart's request that this request fills. */
  readonly requestIn: FieldFact | undefined;
  /** The event's body is the request with the resource's new state. */
  readonly tellsRequest: boolean;
}

/** An operation of version 1. */
export interface ViewedMethodFact extends MethodFact {
  readonly view: ViewFact;
}

export const isViewed = (method: MethodFact): method is ViewedMethodFact => method.view !== undefined;

/** Returns the groups of oneof fields of which one is required. */
export const requiredOneofsOf = (fields: readonly FieldFact[]): FieldFact[][] => {
  const names = new Set(fields.flatMap(({ oneof, oneRequired }) => (oneRequired && oneof !== undefined ? [oneof] : [])));
  return [...names].map((name) => fields.filter(({ oneof }) => oneof === name));
};

/** Converts a dotted path of proto names to JSON names. */
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

/** "create_time" as "createTime": the spelling in masks, even if the contract pins another JSON name. */
export const camelCase = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
