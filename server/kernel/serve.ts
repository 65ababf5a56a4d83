// THE REQUEST PIPELINE. Every request, over every protocol, passes it once, in these stages:
//
//   transport   headers to a call whose message is unread             transport/
//   admit       token to Caller                                       admit.ts, authn/       UNAUTHENTICATED
//               rates of the identity and its organization            rates.ts               RESOURCE_EXHAUSTED
//               a concurrency slot of the organization                fairness-keys.ts       RESOURCE_EXHAUSTED
//   read        the message; unreadable parts become problems         transport/
//   resolve     the path, or a name among what the caller may see     the resource's file    NOT_FOUND
//   authorize   rights, capability, resource path                     permit.ts, authz/      PERMISSION_DENIED
//               documents that the organization must have accepted    terms.ts               FAILED_PRECONDITION
//   validate    problems; field behavior, patterns, mask, paging      validate.ts            INVALID_ARGUMENT
//   execute     the operation's handler                               verbs/                 NOT_FOUND, FAILED_PRECONDITION, …
//               if it writes, with its event in one transaction       safe-write.ts, perform.ts, outbox/
//   respond     outcome to Reply; Reply or Fault to bytes             reply.ts, transport/render.ts
//   refuse      recorded for the audit log                            audit/
//
// Rights may come from a cache. Then the verb's first statement proves that they still hold (db/access-version.ts). If they do not,
// or if they deny the request, it is handled once more with fresh rights. So both revocations and grants are effective on the next
// request on every replica (decisions: Access). Rights read by this request need no proof: requiring one would let a tenant that
// constantly changes permissions block the others.
//
// Content, bytes outside the message, is read by the operation itself, after authorization and outside any transaction. It arrives
// only once, so such a call always uses proven rights and is never handled twice. Exception: an operation whose place comes from memory
// (context.ts: prove) stores the content where nothing references it, and keeps it for the second attempt (contract: abandon).

import type { Caller } from "#authn";
import { type Rights, visiblePaths, withoutRights } from "#authz";
import type { FairnessKey } from "#base/fair-queue.ts";
import { Fault, unimplemented } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { networkOf } from "#base/origin.ts";
import { rootOf } from "#base/uid.ts";
import { describeCall, refuseCall, waitInQueue } from "#calls";
import { withRequest } from "#contract/call.ts";
import { checkAccessVersion, type Read, requireAccessVersion, type Rows, StaleAccess, withAccessVersionCheck, type Write } from "#db";
import { isRefusal } from "#outbox";
import { admitOpen, authenticate, authenticateAgain, countRequest, mayMissRevocation, requiresFreshRights, rightsOf } from "./admit.ts";
import { type Call, type CallHeaders, type Reply, requestSourceOf, type Serve, type UnreadCall } from "./call.ts";
import type { Answer, Context, Outcome, PermittedCapabilities, Place } from "./context.ts";
import { keyForAddress, keyForCaller, keyForTarget } from "./fairness-keys.ts";
import { fileInTurn } from "./file-in-turn.ts";
import type { Kernel } from "./kernel.ts";
import { perform } from "./perform.ts";
import { authorize, requireAt, requireCanDelegate, requireNotSuspended } from "./permit.ts";
import { currentOf, replyOf } from "./reply.ts";
import { writeSafely } from "./safe-write.ts";
import { requireTerms } from "./terms.ts";
import { filteredPlaceOf, namedGroupsOf, resourcePathOf, resourcePathOrEmpty, validate } from "./validate.ts";
import { faultInView, isWholeList, wholeList } from "./view.ts";

/** What is known of a request so far. */
interface Exchange {
  readonly unread: UnreadCall;
  caller: Caller | undefined;
  call: Call | undefined;
  /** Occupied until the end of the exchange. */
  slot: FairnessKey | undefined;
  /** An attempt with cached rights has failed. */
  isRepeated: boolean;
}

export const makeServe =
  (kernel: Kernel): Serve =>
  async (unread, admitted) => {
    const exchange: Exchange = { unread, caller: undefined, call: undefined, slot: undefined, isRepeated: false };
    describeCall({ operation: (unread.view ?? unread.method).name });
    try {
      if ((unread.method.open || unread.method.anonymous) && (await admitOpen(kernel, unread))) {
        exchange.call = withRequest(unread, await unread.read());
        // An open operation requires membership if the request names a group.
        if (namedGroupsOf(exchange.call).length === 0) {
          return await handle(kernel, exchange.call, { caller: undefined, rights: kernel.nobody, proven: true }, { isProven: true });
        }
      }
      return await serveCaller(kernel, exchange, await admit(kernel, exchange, admitted));
    } catch (thrown) {
      if (exchange.isRepeated) unread.content?.abandon?.();
      throw await refuse(kernel, exchange, thrown);
    } finally {
      if (exchange.slot) kernel.turnsOf(unread.method).leave(exchange.slot);
    }
  };

const admit = async (kernel: Kernel, exchange: Exchange, admitted: Caller | undefined): Promise<Caller> => {
  const { unread } = exchange;
  const found = admitted ?? authenticate(kernel, unread);
  const caller = found instanceof Promise ? await found : found;
  exchange.caller = caller;
  describeCall({ caller: caller.uid });
  countRequest(kernel, unread, caller, admitted);
  const turns = kernel.turnsOf(unread.method);
  const slot = keyForCaller(caller);
  if (!turns.tryAcquire(slot)) await waitInQueue(turns.wait(slot));
  exchange.slot = slot;
  return caller;
};

/** Handles the request with the caller's rights: again with fresh ones, if cached ones are outdated or deny it. */
const serveCaller = async (kernel: Kernel, exchange: Exchange, admitted: Caller): Promise<Reply> => {
  const { unread } = exchange;
  let caller = admitted;
  for (let fresh = requiresFreshRights(kernel, unread, caller); ; fresh = true) {
    const progress = { isProven: fresh };
    const found = rightsOf(kernel, caller, fresh);
    const rights = found instanceof Promise ? await found : found;
    if (!rights) throw withoutRights();
    if (!exchange.call) {
      // Not earlier: the server never reads a message of an unknown caller.
      const reading = unread.read();
      exchange.call = withRequest(unread, reading instanceof Promise ? await reading : reading);
      // Rights or session may have ended while the message arrived.
      if (reading instanceof Promise && mayMissRevocation(unread, caller, fresh)) {
        exchange.caller = caller = await authenticateAgain(kernel, unread, caller);
        continue;
      }
      if (rights.untilMs <= kernel.services.clock()) continue;
    }
    try {
      const reply = await handle(kernel, exchange.call, { caller, rights, proven: fresh }, progress);
      return reply.file ? { ...reply, file: inSlot(kernel, exchange, reply.file) } : reply;
    } catch (thrown) {
      const unsure = thrown instanceof StaleAccess || (thrown instanceof Fault && thrown.code === "PERMISSION_DENIED");
      if (progress.isProven || !unsure) throw thrown;
      exchange.isRepeated = true;
    }
  }
};

/** Keeps the slot until the file is sent. */
const inSlot = (kernel: Kernel, exchange: Exchange, file: NonNullable<Reply["file"]>): NonNullable<Reply["file"]> => {
  const { slot, unread } = exchange;
  exchange.slot = undefined;
  return fileInTurn(file, () => slot && kernel.turnsOf(unread.method).leave(slot));
};

/** Records and delays an error; returns what to throw. */
const refuse = async (kernel: Kernel, { unread, call, caller }: Exchange, thrown: unknown): Promise<unknown> => {
  refuseCall(thrown);
  if (!(thrown instanceof Fault)) {
    if (caller === undefined) await kernel.refusalPace(networkOf(unread.origin().address));
    return thrown;
  }
  if (isRefusal(thrown)) recordUnchanging(kernel, unread, call?.request ?? unread.requestInUrl(), caller, thrown.code);
  if (caller === undefined) await kernel.refusalPace(networkOf(unread.origin().address));
  else if (thrown.code === "RESOURCE_EXHAUSTED") await kernel.refusalPace(rootOf(caller.uid));
  return unread.view ? faultInView(unread.view, thrown) : thrown;
};

/** Records errors and dry runs (validateOnly) in the audit log. If the message was not read, with what the URL says. */
const recordUnchanging = ({ services }: Kernel, call: CallHeaders, request: JsonObject, caller: Caller | undefined, code: Fault["code"] | "OK"): void => {
  const { method } = call;
  const subject = resourcePathOrEmpty(method, request);
  describeCall({ path: subject });
  services.audit.recordRefusal({ caller: caller?.uid, operation: (call.view ?? method).name, subject, code, requestSource: requestSourceOf(call) });
};

// ---- a request whose message is read ----------------------------------------------------------------------------

interface Access {
  readonly caller: Caller | undefined;
  readonly rights: Rights;
  /** The rights need no proof: they were read by this request. */
  readonly proven: boolean;
}

/** `progress` tells whether the rights are proven, so that a denial is final. Content arrives once: it is read only after that. */
const handle = async (kernel: Kernel, call: Call, access: Access, progress: { isProven: boolean }): Promise<Reply> => {
  const answer = kernel.answers.get(call.method.name);
  if (!answer) throw unimplemented(`${call.method.service}/${call.method.rpc}`);
  requireNotSuspended(access.rights.closed);
  const nowMs = kernel.services.clock();
  const resolved = answer.findPlace ? await findResource(kernel, call, access, answer.findPlace) : resolve(kernel, call, access, undefined, access.proven);
  progress.isProven = resolved.proven;
  await authorizeAt(kernel, resolved);
  const context = contextOf(kernel, resolved, access, nowMs);
  const outcome = "reads" in answer ? await read(kernel, answer.reads, context) : await write(kernel, answer, context, resolved);
  return replyOf(resolved.call, outcome);
};

interface Resolved {
  readonly call: Call;
  readonly rights: Rights;
  /** Undefined for an operation without one. */
  readonly path: string | undefined;
  readonly place: Place | undefined;
  readonly store: Rows;
  /** Its first statement proves the rights, unless they are proven already. */
  readonly rows: Read;
  readonly proven: boolean;
}

const provingRead = (read: Read, { accessVersion }: Rights, proven: boolean): Read => (proven ? read : withAccessVersionCheck(read, accessVersion));

const rowsOf = ({ services: { store } }: Kernel, call: Call, caller: Caller | undefined, rights: Rights, path: string | undefined): Rows =>
  store.forParty(caller ? keyForTarget(caller, rights, path) : keyForAddress(call.origin().address));

/** `lookedUp`: a statement of this request has proven the rights. */
const resolve = (kernel: Kernel, read: Call, access: Access, place: Place | undefined, lookedUp: boolean): Resolved => {
  const rights = place?.rights ?? access.rights;
  const call = place ? { ...read, request: place.request } : read;
  const path = place ? place.path : resourcePathOf(call);
  describeCall({ path: path ?? filteredPlaceOf(call) });
  const store = rowsOf(kernel, call, access.caller, rights, path);
  const proven = access.proven || (lookedUp && call.content !== undefined);
  return { call, rights, path, place, store, rows: provingRead(store.read, rights, lookedUp), proven };
};

/** Resolves a resource that the request does not name by uid. Throws the resource's own fault if there is none. */
const findResource = async (kernel: Kernel, call: Call, access: Access, findPlace: NonNullable<Answer["findPlace"]>): Promise<Resolved> => {
  const { caller, rights, proven } = access;
  const rows = provingRead(rowsOf(kernel, call, caller, rights, undefined).read, rights, proven);
  const assuming = proven ? undefined : { hasContent: call.content !== undefined };
  const place = await findPlace({ services: kernel.services, method: call.method, request: call.request, caller, rights, rows, assuming });
  // Fresh rights may show what cached ones hide.
  if ((place instanceof Fault || place.isMissing) && !proven) throw new StaleAccess();
  if (place instanceof Fault) throw place;
  // Proven by the write.
  if (place.prove) return resolve(kernel, call, access, place, false);
  // A repo that is named by uid needs no statement.
  if (call.content && !proven && rows.check) await checkAccessVersion(rows.check.bare, rights.accessVersion);
  return resolve(kernel, call, access, place, proven || rows.check === undefined || call.content !== undefined);
};

const authorizeAt = async (kernel: Kernel, { call, rights, path, place, rows }: Resolved): Promise<void> => {
  if (!place?.isOpen && !place?.isMissing) {
    await authorize(kernel, call, rights, path, rows);
    if (place?.capabilities) requireAt(rights, place.capabilities, place.path);
  }
  const { terms } = kernel.services;
  if (terms.required.size > 0) await requireTerms(terms, call.method, path, rows);
};

const permittedAt = ({ call: { method }, path, place }: Resolved): PermittedCapabilities[] =>
  path === undefined || place?.isOpen || place?.isMissing ? [] : [{ capabilities: [...method.capabilities, ...(place?.capabilities ?? [])], path }];

const contextOf = (kernel: Kernel, resolved: Resolved, { caller }: Access, nowMs: number): Context<Read> => {
  const { call, rights, path, place, rows } = resolved;
  const { method } = call;
  const permitted = permittedAt(resolved);
  // Without spreading: for an object of this size it costs as much as the rest of this function.
  const { request, mask, order } = validate(call);
  return {
    services: kernel.services,
    method,
    call,
    request,
    mask,
    order,
    caller,
    rights,
    nowMs,
    rows,
    visiblePaths: method.unscoped ? visiblePaths(rights, method.capabilities) : [],
    resources: call.view ? kernel.resourcesInVersion1 : kernel.resources,
    permitted,
    isAssumed: place?.prove !== undefined,
    require: (wanted, at) => {
      const capabilities = [...wanted];
      if (path === undefined) describeCall({ path: at });
      requireAt(rights, capabilities, at);
      permitted.push({ capabilities, path: at });
    },
    delegate: (delegation) => {
      requireCanDelegate(rights, method, path, delegation, nowMs);
      permitted.push(...delegation.rights);
    },
  };
};

const read = async ({ services }: Kernel, reads: (context: Context<Read>) => Promise<Outcome>, context: Context<Read>): Promise<Outcome> => {
  const { call, rows, rights } = context;
  try {
    return await (call.view && isWholeList(call.view) ? wholeList(call.view, reads, services.listMax) : reads)(context);
  } finally {
    // A handler that sent no statement (LookupIdentity, an invisible role) has not proven the rights yet.
    if (rows.check) await checkAccessVersion(rows.check.bare, rights.accessVersion);
  }
};

const write = async (kernel: Kernel, answer: Exclude<Answer, { readonly reads: unknown }>, context: Context<Read>, resolved: Resolved): Promise<Outcome> => {
  const { store, path, place, proven } = resolved;
  const { call, method, caller, rights, nowMs } = context;
  const writes = "asks" in answer ? await answer.asks(context) : answer;
  const given = {
    caller: caller?.uid,
    nowMs,
    current: currentOf(kernel, context),
    // First, so that a caller without permission gets no replayed response.
    confirm: (fresh: Write): void => {
      if (!proven) requireAccessVersion(fresh, rights.accessVersion);
      place?.prove?.(fresh);
    },
    row: kernel.currentReads.has(method.name) ? path : undefined,
  };
  const outcome = await writeSafely(store, call, given, (inside) => perform(writes, context, inside));
  if (outcome.refusal) throw outcome.refusal;
  if (call.validateOnly) recordUnchanging(kernel, call, call.request, caller, "OK");
  return outcome;
};
