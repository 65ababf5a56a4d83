// THE WAY OF A REQUEST. Every request, from every door, walks this way once and never turns back.
//
//   door        bytes to a Call                                      transport/
//   who         token to Caller                                      authn/        UNAUTHENTICATED
//   may they    rights, capability, place                            authz/        PERMISSION_DENIED
//               documents that the place must have accepted          terms.ts      FAILED_PRECONDITION
//   may it      what could not be read; field behaviour, patterns    behaviour.ts  INVALID_ARGUMENT
//   the verb    the resource's answer, in a transaction if it writes verbs/        NOT_FOUND, FAILED_PRECONDITION, …
//   told        the event's row, in the same transaction             outbox/       (the transaction fails)
//   refused     noted for the audit log                              audit/
//   door        Reply or Fault to bytes                              transport/render.ts
//
// Rights may come from memory. Then the verb's first statement proves that they still hold (store/witness.ts), and
// where they do not, or where they forbid, the way is gone once more with rights read fresh: a revocation and a new
// right both count from the next request on, on every replica (decisions: Access). Rights that this very request has
// read need no proof; asking for one would let whoever changes rights all the time keep everybody else out.

import type { Caller } from "#authn";
import { reach, type Rights } from "#authz";
import { Fault, unauthenticated, unimplemented } from "#base/fault.ts";
import { isRefusal, record } from "#outbox";
import { confirmWitness, Stale, witnessed, type Read } from "#store";
import { behave, namedPlace, placeOf } from "./ask.ts";
import { type Call, entranceOf, type Reply, type Serve } from "./call.ts";
import type { Context, Outcome, Permitted, WriteContext, Writes } from "./context.ts";
import { occurrenceOf } from "./event.ts";
import type { Kernel } from "./kernel.ts";
import { decide, requireAt, requireOpen } from "./permit.ts";
import { answered, currentOf } from "./reply.ts";
import { writeSafely } from "./safe.ts";
import { requireTerms } from "./terms.ts";

export const makeServe = (kernel: Kernel): Serve => async (call) => {
  let caller: Caller | undefined;
  try {
    if (call.method.open) return await walk(kernel, call, undefined, kernel.nobody, true);
    caller = await kernel.house.authn.authenticate(call.authorization, call.identity);
    for (let fresh = false; ; fresh = true) {
      const rights = await kernel.rights.of(caller, kernel.house.clock(), fresh);
      if (!rights) throw unauthenticated("the identity of this token no longer exists");
      try {
        return await walk(kernel, call, caller, rights, fresh);
      } catch (thrown) {
        const unsure = thrown instanceof Stale || (thrown instanceof Fault && thrown.code === "PERMISSION_DENIED");
        if (fresh || !unsure) throw thrown;
      }
    }
  } catch (thrown) {
    if (thrown instanceof Fault && isRefusal(thrown)) noteRefusal(kernel, call, caller, thrown);
    throw thrown;
  }
};

/** For the audit log: what was not done, too. */
const noteRefusal = ({ house }: Kernel, call: Call, caller: Caller | undefined, { code }: Fault): void => {
  house.audit.refused({ caller: caller?.uid, operation: call.method.name, subject: namedPlace(call), code, entrance: entranceOf(call) });
};

const walk = async (kernel: Kernel, call: Call, caller: Caller | undefined, rights: Rights, proven: boolean): Promise<Reply> => {
  const { house } = kernel;
  const { method } = call;
  const nowMs = house.clock();
  const answer = kernel.answers.get(method.name);
  if (!answer) throw unimplemented(`${method.service}/${method.rpc}`);
  const rows = proven ? house.store.read : witnessed(house.store.read, rights.witness);
  requireOpen(rights);
  const place = placeOf(call);
  await decide(kernel, call, rights, place, rows);
  await requireTerms(house.terms, method, place, rows);
  const permitted: Permitted[] = place === undefined ? [] : [{ capabilities: method.capabilities, place }];
  const context: Omit<Context<Read>, "rows"> = {
    house, method, call, caller, rights, nowMs,
    request: behave(call),
    reach: method.unscoped ? reach(rights, method.capabilities) : [],
    resources: kernel.resources,
    permitted,
    require: (wanted, at, untilMs) => {
      const capabilities = [...wanted];
      requireAt(rights, capabilities, at, untilMs);
      permitted.push({ capabilities, place: at });
    },
  };
  if ("reads" in answer) {
    try {
      return answered(call, await answer.reads({ ...context, rows }));
    } finally {
      // An answer that asked the store nothing (LookupIdentity, a role out of reach) has proved nothing yet.
      if (rows.check) await confirmWitness(rows.check.bare, rights.witness);
    }
  }
  const write = "asks" in answer ? await answer.asks({ ...context, rows }) : answer;
  const given = {
    caller: caller?.uid, nowMs, current: currentOf(kernel, context),
    // Before anything else, so that nobody without the right is given an earlier answer again.
    confirm: async (fresh: Read) => (proven ? undefined : confirmWitness(fresh, rights.witness)),
  };
  const outcome = await writeSafely(house.store, call, given, (inside) => perform(write, { ...context, rows: inside }));
  if (outcome.refusal) throw outcome.refusal;
  return answered(call, outcome);
};

/** A write and its event, in the transaction of `context.rows`. */
export const perform = async (answer: Writes, context: WriteContext): Promise<Outcome> => {
  const outcome = await answer.writes(context);
  const occurrence = outcome.unchanged ? undefined : occurrenceOf(context, outcome.reply);
  if (occurrence) await record(context.rows, occurrence, outcome.toldOnly);
  return outcome;
};
