// The types shared by the kernel: inputs and results of operations, and resource definitions. One file, because they refer to each
// other.

import type { Audit } from "#audit/log";
import type { BlobPlace } from "#registry/blobs";
import type { Caller, Authn, ClientPurpose } from "#authn";
import type { Rights } from "#authz";
import type { FieldFact, MessageFact, MethodFact, ViewedMethodFact } from "#contract/facts.ts";
import type { Fault, Violation } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import type { Log } from "#base/log.ts";
import type { Origin } from "#base/origin.ts";
import type { Order } from "#base/page.ts";
import type { Siblings } from "#base/siblings.ts";
import type { Clock } from "#base/time.ts";
import type { Metrics } from "#metrics";
import type { Condition, Read, Store, Write } from "#db";
import type { Call, ReplyContent, ReplyFile } from "./call.ts";
import type { Mask } from "./mask.ts";
import type { Seal } from "./page.ts";
import type { Shape } from "./shape.ts";
import type { Terms } from "./terms.ts";

export interface Services {
  readonly store: Store;
  readonly authn: Authn;
  readonly audit: Audit;
  readonly seal: Seal;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly siblings: Siblings;
  readonly version: string;
  /** The URL for clients, and the source of events. */
  readonly publicUrl: string;
  /** Publisher of documents that the server authors. */
  readonly publisher: { readonly category: string; readonly name: string; readonly namespace: string; readonly contact: string };
  /** GANTRY_OPEN_ORGANIZATIONS */
  readonly openOrganizations: boolean;
  /** GANTRY_FREE_MAIL_DOMAINS, in addition to the well-known domains. */
  readonly freeMailDomains: readonly string[];
  /** GANTRY_V1_LIST_MAX */
  readonly listMax: number;
  /** GANTRY_EGRESS_ALLOW includes private addresses: allow issuers there over plain HTTP. */
  readonly plainIssuers: boolean;
  /** GANTRY_TERMS_FILE */
  readonly terms: Terms;
  /** Registers work for the stop of the server, before the store closes. */
  onStop(work: () => Promise<void>): void;
  readonly blobs: BlobPlace;
  /** GANTRY_ANONYMOUS_PULL */
  readonly anonymousPull: boolean;
  /** Last database restore, in milliseconds since 1970; undefined: never. */
  readonly restoredMs: number | undefined;
  /** GANTRY_DELETED_DAYS in milliseconds; 0: no undelete. */
  readonly deletedKeptMs: number;
  /** GANTRY_FEED_STALE_HOURS in milliseconds. */
  readonly feedStaleMs: number;
}

export interface PermittedCapabilities {
  readonly capabilities: readonly string[];
  readonly path: string;
}

/** Permissions that an operation grants to others (contract: delegates). */
export interface Delegation {
  readonly rights: readonly PermittedCapabilities[];
  /** Expiry in milliseconds since 1970; Infinity: never. */
  readonly untilMs: number;
  readonly receiver?: string;
}

export interface Context<Rows extends Read> {
  readonly services: Services;
  readonly method: MethodFact;
  readonly call: Call;
  /** The request without output-only fields. */
  readonly request: JsonObject;
  /** Updates only: the fields to change. */
  readonly mask: Mask | undefined;
  readonly order: Order | undefined;
  /** Undefined for open operations. */
  readonly caller: Caller | undefined;
  readonly rights: Rights;
  /** Unscoped operations: the topmost paths at which the caller has the required capabilities. */
  readonly visiblePaths: readonly string[];
  readonly rows: Rows;
  /** The time for new rows; imports pass their source's time. */
  readonly nowMs: number;
  /** Throws PERMISSION_DENIED unless the caller has all of these at `place`. */
  require(capabilities: Iterable<string>, place: string): void;
  /** Throws PERMISSION_DENIED unless the caller holds the permissions, and may grant them, until the grant expires (permit.ts). */
  delegate(delegation: Delegation): void;
  /** Permissions checked so far; the audit log derives role bindings from them. */
  readonly permitted: readonly PermittedCapabilities[];
  /** The place comes from memory, and rights may be outdated: the write proves both, or throws StaleAccess (Place.prove). */
  readonly isAssumed?: boolean;
  readonly resources: ReadonlyMap<string, BoundResource>;
}

export type ReadContext = Context<Read>;

/** The cause of changes to rows, named by their events and the audit log. */
export interface Cause {
  /** Full name of the operation, or else the path or command; "" for the server itself. */
  readonly operation: string;
  /** The version 1 operation that was called: all resulting events use that version. Undefined: version 2. */
  readonly view?: ViewedMethodFact | undefined;
  /** {subject, act}; undefined without an authenticated caller. */
  readonly actor: JsonObject | undefined;
  /** The role bindings that allowed the change. */
  readonly bindings: () => readonly string[];
  readonly origin: () => Origin;
  readonly requestId: string;
  /** Organizations that see only the uid of the user: the user has role bindings there but has not accepted membership. */
  readonly strangerIn?: readonly string[];
}

export interface ChangeContext extends Pick<Context<Write>, "services" | "resources" | "rows" | "nowMs" | "caller" | "require" | "delegate"> {
  readonly cause: Cause;
  /** Rows reported by the event of the cause; each attempt of a transaction starts empty. */
  readonly reportedByCause: string[];
}

export interface WriteContext extends Context<Write>, ChangeContext {}

export interface Outcome {
  readonly reply: JsonObject;
  /** A write without effect records no event (decisions: Safe writes). */
  readonly unchanged?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly parts?: readonly Uint8Array[];
  readonly content?: ReplyContent;
  readonly file?: ReplyFile;
  /** Deliver the event only to this subscription, under this ID. */
  readonly toldOnly?: { readonly subscription: string; readonly eventId: string };
  /** An error thrown after the commit, if its writes must persist. */
  readonly refusal?: Fault;
}

/** Handles one operation. Reads get a Context<Read>, writes a Context<Write> in one transaction. */
export type Answer = (Reads | Writes | Asks) & { readonly findPlace?: FindPlace };

/** The resource that a request names by something other than its uid. */
export interface Place {
  /** Path for the operation's capabilities. */
  readonly path: string;
  /** Further capabilities required there. */
  readonly capabilities?: readonly string[];
  /** The request with the resolved values. */
  readonly request: JsonObject;
  /** Rights for this request instead of the caller's (a registry token that may create a repository). */
  readonly rights?: Rights;
  /** Allowed for all callers. */
  readonly isOpen?: boolean;
  /** Nothing visible was found; fresh rights may show more. The operation responds as for a missing resource. */
  readonly isMissing?: boolean;
  /**
   * The place comes from memory: proves it in the operation's transaction, which throws StaleAccess if it no longer holds. The request is
   * then handled once more with `isProven`.
   */
  readonly prove?: (rows: Write) => void;
}

/** Resolves a request's resource among those visible to the caller; returns a fault in the resource's words if there is none. */
export type FindPlace = (asked: {
  readonly services: Services;
  readonly method: MethodFact;
  readonly request: JsonObject;
  readonly caller: Caller | undefined;
  readonly rights: Rights;
  readonly rows: Read;
  /** Present if a place from memory is allowed: the caller also proves it. */
  readonly assuming?: { readonly hasContent: boolean } | undefined;
}) => Promise<Place | Fault>;

interface Limited {
  /** The client address's rate limit for an open operation; absent if the operation is cheap. */
  readonly countsAs?: ClientPurpose;
}
export interface Reads extends Limited {
  readonly reads: (context: ReadContext) => Promise<Outcome>;
}
export interface Writes extends Limited {
  readonly writes: (context: WriteContext) => Promise<Outcome>;
}
/** A write that queries other systems first (an external issuer): a transaction must not wait for them. */
export interface Asks extends Limited {
  readonly asks: (context: ReadContext) => Promise<Writes>;
}

/** Facts about a resource that the contract cannot express. The list is closed; a resource that needs more implements it in `methods`. */
export interface ResourceDefinition {
  readonly service: string;
  /** A service with Gantry's own operations on it. */
  readonly furtherService?: string;
  readonly message: string;
  readonly table?: string;
  /** For a counted resource without `table`: the table that its own file writes. */
  readonly ownTable?: string;
  /** Other rows deleted with it: their `column` starts with its uid. Restored in reverse order. */
  readonly sideTables?: readonly SideTable[];
  /** Columns that a deletion does not keep: a restored row has their defaults. */
  readonly endingColumns?: readonly string[];
  /** Checks constraints across fields or rows, and may set fields of `draft`. Returns violations, or throws another fault. */
  readonly rules?: (draft: JsonObject, context: RuleContext) => Promise<readonly Violation[]> | readonly Violation[];
  /**
   * Throws a fault if the resource cannot be deleted, also when it is deleted by the change of another resource. Not called for cascades.
   * `isAlone`: no row is below it or refers to it.
   */
  readonly requireDeletable?: (context: ChangeContext, uid: string, isAlone: boolean) => Promise<void>;
  /** Writes the change's history in its transaction. Not called for cascaded rows: their history is deleted too (`sideTables`). */
  readonly keepHistory?: (
    context: ChangeContext,
    changed: { readonly before: JsonObject | undefined; readonly after: JsonObject | undefined },
  ) => Promise<void>;
  /**
   * Embedded summaries: the field, the field with the uid to summarize ("parent": the resource's own parent), and the table.
   * `findSeen` selects the summaries that show more than the uid; absent: all.
   */
  readonly hydrate?: Readonly<Record<string, { readonly by: string; readonly table: string; readonly findSeen?: FindSeen }>>;
  /** Fields without a column that its `methods` set. */
  readonly methodFields?: readonly string[];
  /** Returns visible root-level rows outside the caller's branches: built-in roles, users. */
  readonly alsoVisible?: (look: VisibilityQuery) => Promise<readonly string[]>;
  /** Returns a List's conditions: filters that the contract leaves to the resource (COMPARISON_OWN), and rows that it always omits. */
  readonly conditions?: (context: ReadContext) => Promise<readonly Condition[]>;
  /** Fields without a column, computed for all records of a response at once. `names` are JSON names. */
  readonly computedFields?: {
    readonly names: readonly string[];
    readonly compute: (rows: Read, records: readonly JsonObject[]) => Promise<readonly JsonObject[]>;
  };
  /** Resolves the resource, if a request does not name it by uid. */
  readonly findPlace?: FindPlace;
  /** Operations that are not one of the five verbs or need their own handler, by operation name. */
  readonly methods?: Readonly<Record<string, Answer>>;
}

export interface SideTable {
  readonly table: string;
  readonly column: string;
  /** Deleted permanently: an undelete does not restore them. */
  readonly isDeletedForGood?: true;
  readonly capabilities?: readonly string[];
}

/** Returns a predicate: whether a record at `place` may show more than the uid of `uid`. */
export type FindSeen = (
  rows: Read,
  named: readonly { readonly place: string; readonly uid: string }[],
) => Promise<(one: { readonly place: string; readonly uid: string }) => boolean>;

/** A query for root-level rows visible to a caller in addition to its branches. */
export interface VisibilityQuery {
  readonly rights: Rights;
  readonly visiblePaths: readonly string[];
  readonly rows: Read;
  /** Check only this uid; undefined: all. */
  readonly only: string | undefined;
}

export interface RuleContext extends ChangeContext {
  readonly parent: string;
  readonly before: JsonObject | undefined;
  /** The draft restores a deleted resource, so values that a create would fill in are set. */
  readonly isUndelete?: true;
}

export interface Resource extends ResourceDefinition {
  readonly fact: MessageFact;
  readonly domain: string;
  readonly operations: readonly MethodFact[];
  /** The parent's message by the contract: of its Create's parent, or of its uid; "" without a parent. */
  readonly parentMessage: string;
  /** Another message that its Create's parent may name; otherwise "". */
  readonly otherParentMessage: string;
  /** Deleted with its parent by the contract; otherwise it blocks the parent's deletion. */
  readonly deletedWithParent: boolean;
}

export interface ResourceReference {
  readonly resource: BoundResource;
  readonly column: string;
}

export interface BoundResource extends Resource {
  readonly shape: Shape;
  readonly summaries: readonly { readonly field: FieldFact; readonly by: string; readonly shape: Shape; readonly findSeen: FindSeen | undefined }[];
  readonly parent: Resource | undefined;
  readonly otherParent: Resource | undefined;
  readonly children: readonly BoundResource[];
  /** Rows anywhere that are deleted with it because they refer to it. */
  readonly cascades: readonly ResourceReference[];
  /** Rows that block its deletion because they refer to it. `inUseAs` ends the error "cannot delete role that is …". */
  readonly blocks: readonly (ResourceReference & { readonly inUseAs: string })[];
}
