// Sign-in sessions of users (docs/decisions/0007). Users list and revoke their own; administrators those through the organization's
// identity providers, with the sign-in only.

import { operatorUid } from "#base/operator.ts";
import { missing } from "#base/fault.ts";
import { type JsonObject, part, text, texts } from "#base/json.ts";
import { pageOf } from "#base/page.ts";
import { isRoot, parentOf } from "#base/uid.ts";
import { answerPage, boundOf, type Outcome, type ReadContext, resource, type WriteContext } from "#kernel";
import { endSessions, recordRevocations, shownSession } from "#iam/signin";
import { countSignInSessions, findSignInSessions, keyOfSession, type SessionFilter, type SessionView } from "#iam/store";
import { findRow } from "#db";
import { personally } from "./rules/personally.ts";

/** Lists sessions; undefined `filter`: none can match. */
const listSessions = (context: ReadContext, filter: SessionFilter | undefined, view: SessionView): Promise<Outcome> => {
  const { caller, rows, nowMs } = context;
  return answerPage(context, async (page) => {
    if (!filter) return pageOf(page, [], 0);
    const total = page.total ?? (await countSignInSessions(rows, filter, view, nowMs));
    const found = await findSignInSessions(rows, filter, view, nowMs, page);
    const records = found.map((session) => ({ key: keyOfSession(session, page.order), record: shownSession(session, view, caller?.grant) }));
    return pageOf(page, records, total);
  });
};

/** Narrows the filter by `uidp`; undefined if nothing can match. Sessions have no children and are not at the root. */
const narrowed = ({ below = [], ...sessions }: SessionFilter, uidp: JsonObject): SessionFilter | undefined => {
  if (text(uidp, "ancestorsOf") !== "" || uidp.inRoot === true) return undefined;
  const [ids, descendantsOf] = [texts(uidp, "ids"), text(uidp, "descendantsOf")];
  return {
    ...sessions,
    identityProviderUid: text(uidp, "childrenOf") || undefined,
    uids: ids.length > 0 ? ids : undefined,
    below: descendantsOf === "" ? below : [...below, descendantsOf],
  };
};

const list = async (context: ReadContext): Promise<Outcome> => {
  const { caller, request } = context;
  const isPerson = caller !== undefined && isRoot(caller.uid) && caller.uid !== operatorUid;
  const filter = isPerson ? narrowed({ identityUid: personally(context, "list their sessions").uid }, part(request, "uidp")) : undefined;
  return listSessions(context, filter, "own");
};

const revoke = async (context: WriteContext): Promise<Outcome> => {
  const { uid: identityUid } = personally(context, "revoke their sessions");
  const { rows, request, nowMs, caller } = context;
  const uid = text(request, "uid");
  const [session] = await endSessions(rows, { uids: [uid], identityUid }, nowMs);
  if (!session) throw missing("sessions", "Session", uid);
  await recordRevocations(context, [session], caller?.grant);
  // The event is already recorded, with less about the caller than the operation's own event.
  return { reply: shownSession(session, "own", caller?.grant), unchanged: true };
};

const revokeAll = async (context: WriteContext): Promise<Outcome> => {
  const { uid: identityUid } = personally(context, "revoke their sessions");
  const { rows, nowMs, caller } = context;
  await recordRevocations(context, await endSessions(rows, { identityUid }, nowMs), caller?.grant);
  return { reply: {} };
};

const requireGroup = async ({ request, rows, resources }: ReadContext): Promise<string> => {
  const uid = text(request, "group");
  for (const message of ["chainguard.platform.iam.v2.Group", "chainguard.platform.iam.v2.IdentityProvider"] as const) {
    const { table } = boundOf({ resources }, message);
    if (table && (await findRow(rows, { name: table, columns: ["uid"] }, uid))) return uid;
  }
  throw missing("iam", "Group", uid);
};

const listOfGroup = async (context: ReadContext): Promise<Outcome> => {
  const { request } = context;
  const ofGroup = { below: [await requireGroup(context)], identityUid: text(request, "identityUid") || undefined };
  return listSessions(context, narrowed(ofGroup, part(request, "uidp")), "organization");
};

const revokeOfGroup = async ({ rows, request, nowMs }: WriteContext): Promise<Outcome> => {
  const uid = text(request, "uid");
  const [session] = await endSessions(rows, { uids: [uid], identityProviderUid: parentOf(uid) }, nowMs);
  if (!session) throw missing("sessions", "Session", uid);
  return { reply: shownSession(session, "organization") };
};

export const session = resource({
  service: "gantry.sessions.v1.SessionsService",
  message: "gantry.sessions.v1.Session",
  methods: {
    ListSessions: { reads: list },
    RevokeSession: { writes: revoke },
    RevokeAllSessions: { writes: revokeAll },
    ListGroupSessions: { reads: listOfGroup },
    RevokeGroupSession: { writes: revokeOfGroup },
  },
});
