// THE REQUEST PIPELINE. Every request, over every protocol, passes it once, from top to bottom.
//
//   transport     headers to a call whose message is unread             transport/
//   authenticate  token to Caller                                       authn/        UNAUTHENTICATED
//   rates         of the identity and its organization                  rates.ts      RESOURCE_EXHAUSTED
//   turn          a concurrency slot of the organization                fairness-keys.ts    RESOURCE_EXHAUSTED
//   read          the message; unreadable parts become problems         transport/
//   place         resolved by name, among what the caller may see       the resource's file        NOT_FOUND
//   authorize     rights, capability, resource path                     authz/        PERMISSION_DENIED
//                 documents that the organization must have accepted    terms.ts      FAILED_PRECONDITION
//   validate      problems; field behavior, patterns, mask, paging      validate.ts   INVALID_ARGUMENT
//   verb          the operation's handler, in a transaction if it writes  verbs/      NOT_FOUND, FAILED_PRECONDITION, …
//   event         the event's row, in the same transaction              outbox/       (the transaction fails)
//   refusal       recorded for the audit log                            audit/
//   transport     Reply or Fault to bytes                               transport/render.ts
//
// Rights may come from a cache. Then the verb's first statement proves that they still hold (store/access-version.ts). If they do not,
// or if they deny the request, it is handled once more with fresh rights. So both revocations and grants are effective on the next
// request on every replica (decisions: Access). Rights read by this request need no proof: requiring one would let a tenant that
// constantly changes permissions block the others.
//
// Content, bytes outside the message, is read by the operation itself, after authorization and outside any transaction. It arrives
// only once, so such a call always uses fresh rights and is never handled twice.

import type { Caller } from "#authn";
import { bindingsGiving, type Rights, visiblePaths, withoutRights } from "#authz";
import type { FairnessKey } from "#base/fair-queue.ts";
import { type JsonObject, text } from "#base/json.ts";
import { networkOf } from "#base/origin.ts";
import { isRoot, rootOf } from "#base/uid.ts";
import { Fault, unimplemented } from "#base/fault.ts";
import { withRequest } from "#contract/call.ts";
import { describeCall, refuseCall, waitInQueue } from "#calls";
import { isRefusal, recordLast } from "#outbox";
import { checkAccessVersion, type Read, requireAccessVersion, StaleAccess, withAccessVersionCheck, type Write } from "#db";
import { filteredPlaceOf, namedGroupsOf, validate, resourcePathOrEmpty, resourcePathOf } from "./validate.ts";
import { type Call, type CallHeaders, requestSourceOf, type Reply, type Serve, type UnreadCall } from "./call.ts";
import { withRows } from "./change.ts";
import type { Cause, Context, FindPlace, Outcome, PermittedCapabilities, Place, WriteContext, Writes } from "./context.ts";
import { eventOf } from "./event.ts";
import type { Kernel } from "./kernel.ts";
import { authorize, requireAt, requireNotSuspended, requireCanDelegate } from "./permit.ts";
import { replyOf, currentOf } from "./reply.ts";
import { fileInTurn } from "./file-in-turn.ts";
import { faultInView, isWholeList, wholeList } from "./view.ts";
import { writeSafely } from "./safe-write.ts";
import { keyForTarget, keyForCaller, keyForAddress } from "./fairness-keys.ts";
import { requireTerms } from "./terms.ts";

export const makeServe =
  (kernel: Kernel): Serve =>
  async (unread, admitted) => {
    let caller: Caller | undefined;
    let call: Call | undefined;
    let entered: FairnessKey | undefined;
    const turns = kernel.turnsOf(unread.method);
    describeCall({ operation: (unread.view ?? unread.method).name });
    try {
      const isAnonymous = unread.method.anonymous && (await kernel.services.authn.isAnonymous(unread.authorization));
      if (unread.method.open || isAnonymous) {
        const purpose = isAnonymous ? "open-reads" : kernel.answers.get(unread.method.name)?.countsAs;
        if (purpose !== undefined) kernel.services.authn.clientLimits.take(purpose, unread.origin().address);
        call = withRequest(unread, await unread.read());
        // An open operation requires membership if the request names a group.
        if (namedGroupsOf(call).length === 0) return await handle(kernel, call, undefined, kernel.nobody, true);
      }
      caller = admitted ?? (await callerOf(kernel, unread));
      describeCall({ caller: caller.uid });
      const fairnessKey = keyForCaller(caller);
      if (!admitted) kernel.rates.take(fairnessKey);
      if (caller.scim && unread.method.writes) kernel.rates.takeScimWrite(fairnessKey);
      if (!turns.tryAcquire(fairnessKey)) await waitInQueue(turns.wait(fairnessKey));
      entered = fairnessKey;
      // A SCIM token is read with each request, so its rights are always fresh.
      for (let fresh = unread.content !== undefined || caller.scim !== undefined; ; fresh = true) {
        const rights = caller.scim ? scimRights(kernel, caller.scim) : await kernel.rights.of(caller, kernel.services.clock(), fresh);
        if (!rights) throw withoutRights();
        if (!call) {
          // Not earlier: the server never reads a message of an unknown caller.
          const reading = unread.read();
          call = withRequest(unread, reading instanceof Promise ? await reading : reading);
          // The session may be revoked while the message arrives (attack 202). Rights of a user that are proven later detect this by
          // their version; others do not. SCIM writes check in their transaction.
          const isUnproven = caller.grant !== undefined && (fresh || !isRoot(caller.uid));
          if (reading instanceof Promise && (isUnproven || (caller.scim && !unread.method.writes))) {
            if (caller.scim) caller = await callerOf(kernel, unread);
            continue;
          }
          // The rights may have expired while the message arrived.
          if (rights.untilMs <= kernel.services.clock()) continue;
        }
        try {
          const reply = await handle(kernel, call, caller, rights, fresh);
          if (!reply.file) return reply;
          entered = undefined;
          return { ...reply, file: fileInTurn(reply.file, () => turns.leave(fairnessKey)) };
        } catch (thrown) {
          const unsure = thrown instanceof StaleAccess || (thrown instanceof Fault && thrown.code === "PERMISSION_DENIED");
          if (fresh || !unsure) throw thrown;
        }
      }
    } catch (thrown) {
      refuseCall(thrown);
      if (thrown instanceof Fault && isRefusal(thrown)) recordUnchanging(kernel, unread, call?.request ?? unread.requestInUrl(), caller, thrown.code);
      if (caller === undefined) await kernel.refusalPace(networkOf(unread.origin().address));
      else if (thrown instanceof Fault && thrown.code === "RESOURCE_EXHAUSTED") await kernel.refusalPace(rootOf(caller.uid));
      throw unread.view && thrown instanceof Fault ? faultInView(unread.view, thrown) : thrown;
    } finally {
      if (entered) turns.leave(entered);
    }
  };

/** SCIM accepts only identity providers, each at its own address, and they have no other access. Registry tokens are for the registry only. */
const callerOf = ({ services: { authn } }: Kernel, { method, authorization, identity, origin, requestInUrl }: UnreadCall): Caller | Promise<Caller> => {
  if (method.scim) return authn.authenticateScim(text(requestInUrl(), "identityProviderUid"), authorization);
  return method.distribution
    ? authn.authenticateRegistry(authorization, identity, () => origin().address)
    : authn.authenticate(authorization, identity, () => origin().address);
};

/** No rights: what SCIM may do is defined by its operations. */
const scimRights = ({ nobody }: Kernel, { isClosed }: NonNullable<Caller["scim"]>): Rights => ({ ...nobody, closed: isClosed });

/** Records errors and dry runs (validateOnly) in the audit log. If the message was not read, with what the URL says. */
const recordUnchanging = ({ services }: Kernel, call: CallHeaders, request: JsonObject, caller: Caller | undefined, code: Fault["code"] | "OK"): void => {
  const { method } = call;
  const subject = resourcePathOrEmpty(method, request);
  describeCall({ path: subject });
  services.audit.recordRefusal({ caller: caller?.uid, operation: (call.view ?? method).name, subject, code, requestSource: requestSourceOf(call) });
};

/** A read that proves the rights with its first statement, unless they are proven already. */
const provingRead = (read: Read, { accessVersion }: Rights, proven: boolean): Read => (proven ? read : withAccessVersionCheck(read, accessVersion));

const placed = async (
  kernel: Kernel,
  findPlace: FindPlace,
  { method, request }: Call,
  caller: Caller | undefined,
  rights: Rights,
  asked: { readonly rows: Read; readonly proven: boolean },
): Promise<Place> => {
  const found = await findPlace({ services: kernel.services, method, request, caller, rights, rows: asked.rows });
  // Fresh rights may show what cached ones hide.
  if ((found instanceof Fault || found.isMissing) && !asked.proven) throw new StaleAccess();
  if (found instanceof Fault) throw found;
  return found;
};

const handle = async (kernel: Kernel, read: Call, caller: Caller | undefined, ofCaller: Rights, proven: boolean): Promise<Reply> => {
  const { services } = kernel;
  const { method } = read;
  const nowMs = services.clock();
  const answer = kernel.answers.get(method.name);
  if (!answer) throw unimplemented(`${method.service}/${method.rpc}`);
  requireNotSuspended(ofCaller.closed);
  const { findPlace } = answer;
  const home = caller ? keyForTarget(caller, ofCaller, undefined) : keyForAddress(read.origin().address);
  const looked = findPlace && provingRead(services.store.forParty(home).read, ofCaller, proven);
  const place = findPlace && looked && (await placed(kernel, findPlace, read, caller, ofCaller, { rows: looked, proven }));
  const rights = place?.rights ?? ofCaller;
  const call = place ? { ...read, request: place.request } : read;
  const path = place ? place.path : resourcePathOf(call);
  describeCall({ path: path ?? filteredPlaceOf(call) });
  const store = services.store.forParty(caller ? keyForTarget(caller, rights, path) : keyForAddress(call.origin().address));
  const rows = provingRead(store.read, rights, proven || (looked !== undefined && looked.check === undefined));
  if (!place?.isOpen && !place?.isMissing) {
    await authorize(kernel, call, rights, path, rows);
    if (place?.capabilities) requireAt(rights, place.capabilities, place.path);
  }
  await requireTerms(services.terms, method, path, rows);
  const permitted: PermittedCapabilities[] =
    path === undefined || place?.isOpen || place?.isMissing ? [] : [{ capabilities: [...method.capabilities, ...(place?.capabilities ?? [])], path }];
  // Without spreading: for an object of this size it costs as much as the rest of this function.
  const { request, mask, order } = validate(call);
  const context: Context<Read> = {
    services,
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
  if ("reads" in answer) {
    try {
      const reads = call.view && isWholeList(call.view) ? wholeList(call.view, answer.reads, services.listMax) : answer.reads;
      return replyOf(call, await reads(context));
    } finally {
      // A handler that sent no statement (LookupIdentity, an invisible role) has not proven the rights yet.
      if (rows.check) await checkAccessVersion(rows.check.bare, rights.accessVersion);
    }
  }
  const write = "asks" in answer ? await answer.asks(context) : answer;
  const given = {
    caller: caller?.uid,
    nowMs,
    current: currentOf(kernel, context),
    // First, so that a caller without permission gets no replayed response.
    confirm: (fresh: Write): void => {
      if (!proven) requireAccessVersion(fresh, rights.accessVersion);
    },
  };
  const row = kernel.currentReads.has(method.name) ? path : undefined;
  const outcome = await writeSafely(store, call, { ...given, row }, (inside) => perform(write, context, inside));
  if (outcome.refusal) throw outcome.refusal;
  if (call.validateOnly) recordUnchanging(kernel, call, call.request, caller, "OK");
  return replyOf(call, outcome);
};

const causeOf = ({ call, method, caller, rights, permitted }: Omit<Context<Read>, "rows">): Cause => ({
  operation: (call.view ?? method).name,
  view: call.view,
  actor: caller && { subject: caller.uid, ...(caller.act ? { act: { ...caller.act } } : {}) },
  bindings: () => [...new Set(permitted.flatMap(({ capabilities, path }) => bindingsGiving(rights, capabilities, path)))],
  origin: call.origin,
  requestId: call.requestId,
});

export const perform = async (answer: Writes, request: Omit<Context<Read>, "rows">, rows: Write): Promise<Outcome> => {
  const context: WriteContext = { ...request, rows, cause: causeOf(request), reportedByCause: [] };
  const outcome = await answer.writes(context);
  const event = outcome.unchanged ? undefined : eventOf(context, context.method, context.request, outcome.reply);
  if (event) recordLast(rows, withRows(event, context), outcome.toldOnly);
  return outcome;
};
