// The types that all of the kernel stands on: what an answer is given and gives back, and what a resource is. They name
// each other, so they stand in one file below everything that uses them.

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

/** The parts of a running server that the kernel stands on. */
export interface Services {
  readonly store: Store;
  readonly authn: Authn;
  readonly audit: Audit;
  readonly seal: Seal;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** The processes that serve together. */
  readonly siblings: Siblings;
  /** Of this server: "1.2.3". */
  readonly version: string;
  /** The address under which clients know the server; the source of its events. */
  readonly publicUrl: string;
  /** Who publishes documents of our own. */
  readonly publisher: { readonly category: string; readonly name: string; readonly namespace: string; readonly contact: string };
  /** GANTRY_OPEN_ORGANIZATIONS: registered humans may make organizations. */
  readonly openOrganizations: boolean;
  /** GANTRY_FREE_MAIL_DOMAINS: mail domains that are nobody's company, besides the well-known ones. */
  readonly freeMailDomains: readonly string[];
  /** GANTRY_V1_LIST_MAX: most entries that a list of version 1 gives at once. */
  readonly listMax: number;
  /** GANTRY_EGRESS_ALLOW names private addresses: issuers may be reached over plain http there. */
  readonly plainIssuers: boolean;
  /** GANTRY_TERMS_FILE: what organizations can accept, and what needs it. */
  readonly terms: Terms;
  /** Has `work` done when the server stops, while there is a store. */
  onStop(work: () => Promise<void>): void;
  /** Where the bytes of blobs lie. */
  readonly blobs: BlobPlace;
  /** GANTRY_ANONYMOUS_PULL: every repo can be pulled from without a token. */
  readonly anonymousPull: boolean;
  /** When the database was restored last, in milliseconds since 1970; undefined: never. */
  readonly restoredMs: number | undefined;
  /** GANTRY_DELETED_DAYS: for how long what was deleted can be brought back, in milliseconds; 0: not at all. */
  readonly deletedKeptMs: number;
  /** GANTRY_FEED_STALE_HOURS: how long after its last success a source is stale, in milliseconds. */
  readonly feedStaleMs: number;
}

export interface PermittedCapabilities {
  readonly capabilities: readonly string[];
  readonly path: string;
}

/** What an operation gives to others (contract: hands_on). */
export interface Gift {
  /** Besides what the operation itself needs, at its place. */
  readonly rights: readonly PermittedCapabilities[];
  /** When it ends, in milliseconds since 1970; Infinity: never. */
  readonly untilMs: number;
  /** The identity that gets it, where it is known. */
  readonly receiver?: string;
}

export interface Context<Rows extends Read> {
  readonly services: Services;
  readonly method: MethodFact;
  readonly call: Call;
  /** The request, free of what only the server may set. */
  readonly request: JsonObject;
  /** Of an update: the fields that it changes; undefined for every other operation. */
  readonly mask: Mask | undefined;
  /** Of a list: its sort; undefined for every other operation. */
  readonly order: Order | undefined;
  /** Undefined for open operations. */
  readonly caller: Caller | undefined;
  readonly rights: Rights;
  /** Unscoped operations: the topmost paths at which the caller holds what the operation needs. */
  readonly visiblePaths: readonly string[];
  readonly rows: Rows;
  /** The time that rows take. An import gives its source's. */
  readonly nowMs: number;
  /** Throws PERMISSION_DENIED unless the caller holds all of these at `place`. */
  require(capabilities: Iterable<string>, place: string): void;
  /** Throws PERMISSION_DENIED unless what is given, and the right to give it, is the caller's until it ends (permit.ts). */
  handOn(gift: Gift): void;
  /** What was asked of the caller's rights so far, and was there: by it the audit log names the bindings. */
  readonly permitted: readonly PermittedCapabilities[];
  /** The other resources, by message name: for references between them. */
  readonly resources: ReadonlyMap<string, BoundResource>;
}

export type ReadContext = Context<Read>;

/** Who or what changes rows: the events of the change and the audit log name it. */
export interface Cause {
  /** Full name of the operation; the path or command of what is none; "" for what the server does by itself. */
  readonly operation: string;
  /** The operation of version 1 that was called: its version tells of all that follows. Undefined: version 2 does. */
  readonly view?: ViewedMethodFact | undefined;
  /** Who did it: {subject, act}; undefined where nobody was signed in. */
  readonly actor: JsonObject | undefined;
  /** The role bindings that allowed it, as far as rights have been asked for. */
  readonly bindings: () => readonly string[];
  readonly origin: () => Origin;
  readonly requestId: string;
  /** Organizations that see of who did it the uid alone: the user has role bindings there and has not accepted membership. */
  readonly strangerIn?: readonly string[];
}

/** What a change of rows (change.ts) needs, whatever causes it: a request, a sign-in, an import, a command, or the server by itself. */
export interface ChangeContext extends Pick<Context<Write>, "services" | "resources" | "rows" | "nowMs" | "caller" | "require" | "handOn"> {
  readonly cause: Cause;
  /** The rows that the cause's own event tells; each attempt of a transaction begins with none. */
  readonly toldByCause: string[];
}

export interface WriteContext extends Context<Write>, ChangeContext {}

export interface Outcome {
  readonly reply: JsonObject;
  /** A write that changed nothing makes no event (decisions: Safe writes). */
  readonly unchanged?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** A list of version 1 that has become bytes (view.ts). */
  readonly parts?: readonly Uint8Array[];
  /** Bytes that go with the reply. */
  readonly content?: ReplyContent;
  /** A file that is the answer. */
  readonly file?: ReplyFile;
  /** The event goes to this one subscription, under this id. */
  readonly toldOnly?: { readonly subscription: string; readonly eventId: string };
  /** What was written is kept, and then this is thrown: a refusal that must be remembered. */
  readonly refusal?: Fault;
}

/** Answers one operation. Reads get a Context<Read>, writes a Context<Write> in one transaction. */
export type Answer = (Reads | Writes | Asks) & { readonly findPlace?: FindPlace };

/** A place that a request names by something else than its uid. */
export interface Place {
  /** Where the operation's capabilities are needed. */
  readonly path: string;
  /** Needed there besides. */
  readonly capabilities?: readonly string[];
  /** The request with what was found. */
  readonly request: JsonObject;
  /** The rights that count here, if they differ from those that it was found with (a repository that a registry token may create). */
  readonly rights?: Rights;
  /** Everybody may do this here. */
  readonly isOpen?: boolean;
  /** Nothing is there that the caller may see; newer rights may show something. The operation answers as for nothing. */
  readonly isMissing?: boolean;
}

/**
 * Finds the place of a request among what the caller may see: a place that is not to be seen is not found. The fault says so
 * in the words of the resource.
 */
export type FindPlace = (asked: {
  readonly services: Services;
  readonly method: MethodFact;
  readonly request: JsonObject;
  readonly caller: Caller | undefined;
  readonly rights: Rights;
  readonly rows: Read;
}) => Promise<Place | Fault>;

interface Limited {
  /** Of an open operation: what a call of it counts as for its client's address. Absent: it costs next to nothing. */
  readonly countsAs?: ClientPurpose;
}
export interface Reads extends Limited {
  readonly reads: (context: ReadContext) => Promise<Outcome>;
}
export interface Writes extends Limited {
  readonly writes: (context: WriteContext) => Promise<Outcome>;
}
/** A write that must ask others first (a foreign issuer): nobody is waited for inside a transaction. */
export interface Asks extends Limited {
  readonly asks: (context: ReadContext) => Promise<Writes>;
}

// ---- resources --------------------------------------------------------------------------------------------------

/**
 * What a resource's file says: only what the contract cannot. The list is closed: a resource that needs more answers
 * the operation itself, in `methods`.
 */
export interface ResourceDefinition {
  /** Full names in the contract. */
  readonly service: string;
  /** A service of our own with operations on it that the public one has not. */
  readonly furtherService?: string;
  readonly message: string;
  /** The table of its rows; absent for what has none. */
  readonly table?: string;
  /** Of a counted one without such a table: the one that its own file writes. */
  readonly ownTable?: string;
  /** Further rows, of no resource, that are deleted along: those whose `column` starts with its uid. The last come back first. */
  readonly sideTables?: readonly SideTable[];
  /** Columns that are not kept of a deleted row: what comes back has their defaults. */
  readonly endingColumns?: readonly string[];
  /**
   * What must hold across fields or rows before a create or update is written. `draft` is the resource as it would
   * be; change it to fill in what the server decides. Returns violations, or throws another fault.
   */
  readonly rules?: (draft: JsonObject, context: RuleContext) => Promise<readonly Violation[]> | readonly Violation[];
  /**
   * Writes what is kept of a change besides its event, in the change's transaction, whoever makes it. Not asked about rows that go
   * along with others: what is kept of them goes along, too (`sideTables`).
   */
  readonly keepHistory?: (
    context: ChangeContext,
    changed: { readonly before: JsonObject | undefined; readonly after: JsonObject | undefined },
  ) => Promise<void>;
  /**
   * Embedded summaries of others: the field, the field whose uid it shows ("parent" for the resource's own), and the table.
   * `findSeen`: of which others more than the uid is shown where the record lies; absent: of all.
   */
  readonly hydrate?: Readonly<Record<string, { readonly by: string; readonly table: string; readonly findSeen?: FindSeen }>>;
  /** Fields without a column that its own `methods` put into their answers. */
  readonly methodFields?: readonly string[];
  /** Root-level rows that the caller sees besides its branches: built-in roles, people. */
  readonly alsoVisible?: (look: VisibilityQuery) => Promise<readonly string[]>;
  /** Of a List: filters that the contract leaves to the resource (COMPARISON_OWN), and what it leaves out by itself. */
  readonly conditions?: (context: ReadContext) => Promise<readonly Condition[]>;
  /** Fields without a column that are computed for all records of an answer at once. `names` are JSON names. */
  readonly computedFields?: {
    readonly names: readonly string[];
    readonly compute: (rows: Read, records: readonly JsonObject[]) => Promise<readonly JsonObject[]>;
  };
  /** How its operations find the place that a request names, where it is not by the uid. */
  readonly findPlace?: FindPlace;
  /** Operations that are not one of the five verbs, or need their own answer. Keyed by the operation's name. */
  readonly methods?: Readonly<Record<string, Answer>>;
}

/** Rows that are deleted along with a resource. */
export interface SideTable {
  readonly table: string;
  readonly column: string;
  /** Nothing is kept of them: an undelete brings none back. */
  readonly isDeletedForGood?: true;
  /** What an undelete needs where the resource is to bring any of them back. */
  readonly capabilities?: readonly string[];
}

/** Of which of these, named by records at these places, more than the uid is shown there. */
export type FindSeen = (
  rows: Read,
  named: readonly { readonly place: string; readonly uid: string }[],
) => Promise<(one: { readonly place: string; readonly uid: string }) => boolean>;

/** A look for root-level rows that a caller sees besides its branches. */
export interface VisibilityQuery {
  readonly rights: Rights;
  /** The paths at which the caller holds what the operation needs. */
  readonly visiblePaths: readonly string[];
  readonly rows: Read;
  /** Only this uid matters; undefined: all. */
  readonly only: string | undefined;
}

export interface RuleContext extends ChangeContext {
  readonly parent: string;
  /** The resource before an update; undefined on create. */
  readonly before: JsonObject | undefined;
  /** The draft is what was deleted, and comes back as it was: what a create would fill in is there. */
  readonly isUndelete?: true;
}

/** A resource as the kernel knows it: its definition beside the contract's facts. */
export interface Resource extends ResourceDefinition {
  readonly fact: MessageFact;
  readonly domain: string;
  readonly operations: readonly MethodFact[];
  /** The message of what it lies below, by the contract: of its Create's parent, or said of its uid; "": of nothing. */
  readonly parentMessage: string;
  /** By the contract: it is deleted along with its parent; otherwise the parent cannot be deleted while it is there. */
  readonly deletedWithParent: boolean;
}

/** Rows of a resource that refer to another by one of their columns. */
export interface ResourceReference {
  readonly resource: BoundResource;
  readonly column: string;
}

/** A resource whose table has been found. */
export interface BoundResource extends Resource {
  readonly shape: Shape;
  readonly summaries: readonly { readonly field: FieldFact; readonly by: string; readonly shape: Shape; readonly findSeen: FindSeen | undefined }[];
  readonly parent: Resource | undefined;
  /** What lies directly below it, by the contract. */
  readonly children: readonly BoundResource[];
  /** Rows that are deleted along, wherever they lie, because they refer to it. */
  readonly cascades: readonly ResourceReference[];
  /** Rows that keep it from being deleted because they refer to it. `inUseAs` ends the refusal "cannot delete role that is …". */
  readonly blocks: readonly (ResourceReference & { readonly inUseAs: string })[];
}
