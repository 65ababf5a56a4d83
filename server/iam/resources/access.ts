// Explains why an identity has a permission, and lists the identities that have it, by the bindings that decide every request.

import { type HeldBinding, missingCapability, loadBindings, operatorGrant, rightsFrom } from "#authz";
import { operatorUid } from "#base/operator.ts";
import { invalid, missing } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { type KeyedRecord, pageOf } from "#base/page.ts";
import { ancestry, covers, EVERYWHERE, isRoot } from "#base/uid.ts";
import { capabilities as everyCapability, capabilityByName } from "#contract/capabilities.ts";
import { methodByName } from "#contract/catalog.ts";
import { answerPage, type Outcome, type ReadContext, resource } from "#kernel";
import { findHolders } from "#iam/store";
import { findRow, findRows, type Read } from "#db";
import { type Effect, seesBindings, shownGrants, type Source } from "./shown/grant.ts";

const operatorSource: Source = { effect: "GIVES", group: EVERYWHERE, groupName: "", binding: "", role: "", roleName: "operator", endMs: undefined };

const capabilitiesOf = (action: string): readonly string[] => {
  const refuse = (description: string) => invalid([{ field: "action", description }]);
  if (!action.includes("/")) {
    if (!capabilityByName(action)) throw refuse(`unknown capability ${JSON.stringify(action)}`);
    return [action];
  }
  const method = methodByName(action);
  if (!method) throw refuse(`unknown operation ${JSON.stringify(action)}`);
  if (method.capabilities.length === 0) throw refuse(`${method.name} asks for no capability`);
  return method.capabilities;
};

const effectOf = ({ path: group, capabilities, standing }: HeldBinding, capability: string, place: string, exists: boolean): Effect | undefined => {
  const has = capabilities.has(capability);
  if (!covers(group, place)) return has && standing === "counts" ? "ELSEWHERE" : undefined;
  if (standing === "outside") return has ? "OUTSIDE_IDENTITY_GROUP" : undefined;
  if (standing === "expired") return has ? "EXPIRED" : undefined;
  if (standing === "suspended") return has ? "SUSPENDED" : undefined;
  // Before the check of existence, which must not be revealed to an organization that the user has not joined.
  if (standing === "pending") return has ? "PENDING" : "ROLE_LACKS_CAPABILITY";
  if (!has) return "ROLE_LACKS_CAPABILITY";
  return exists ? "GIVES" : "NO_IDENTITY";
};

const placeOf = async ({ request, rows }: ReadContext): Promise<string> => {
  const place = text(request, "place");
  if (!(await findRow(rows, { name: "groups", columns: ["uid"] }, place))) throw missing("iam", "Group", place);
  return place;
};

const namesOf = async (rows: Read, table: string, uids: readonly string[]): Promise<ReadonlyMap<string, string>> =>
  new Map((await findRows(rows, { name: table, columns: ["uid", "name"] }, [...new Set(uids)])).map(([uid, name]) => [uid ?? "", name ?? ""]));

const explain = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows, nowMs, caller, rights } = context;
  const place = await placeOf(context);
  const who = text(request, "identityUid") || (caller?.uid ?? "");
  const wanted = capabilitiesOf(text(request, "action"));
  const held = await loadBindings(rows, who, nowMs);
  const theirs = rightsFrom(who, held);
  const bonds = held.bindings.filter(({ path: group }) => covers(group, place) || seesBindings(rights, group));
  const [roles, groups] = await Promise.all([
    namesOf(
      rows,
      "roles",
      bonds.map(({ role }) => role),
    ),
    namesOf(
      rows,
      "groups",
      bonds.map((bond) => bond.path),
    ),
  ]);
  const capabilities = wanted.map((capability): JsonObject => {
    const holds = theirs !== undefined && !theirs.closed && missingCapability(theirs, [capability], place) === undefined;
    const sources = bonds.flatMap((bond): Source[] => {
      const effect = effectOf(bond, capability, place, held.exists);
      if (!effect || holds !== (effect === "GIVES")) return [];
      const { uid: binding, role, path: group, endMs } = bond;
      return [
        {
          effect,
          binding,
          role,
          roleName: roles.get(role) ?? "",
          group,
          groupName: groups.get(group) ?? "",
          endMs: Number.isFinite(endMs) ? endMs : undefined,
        },
      ];
    });
    if (who === operatorUid && operatorGrant.capabilities.has(capability)) sources.push(operatorSource);
    return { capability, held: holds, grants: shownGrants(rights, place, sources) };
  });
  return { reply: { allowed: capabilities.every(({ held: holds }) => holds === true), identityUid: who, capabilities } };
};

const whoCan = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows, rights, nowMs, caller } = context;
  const place = await placeOf(context);
  const name = text(request, "capability");
  const capability = capabilityByName(name);
  if (!capability) throw invalid([{ field: "capability", description: `unknown capability ${JSON.stringify(name)}` }]);
  return answerPage(context, async (page) => {
    const { holders, total } = await findHolders(
      rows,
      {
        ancestry: ancestry(place),
        capability: capability.symbol,
        unboundHolder: operatorGrant.capabilities.has(name) ? operatorUid : undefined,
        nowMs,
      },
      page,
    );
    const mayList = (at: string): boolean => missingCapability(rights, ["identity.list"], at) === undefined;
    const records = holders.map(({ uid, name: called, email, isMember, bindings }): KeyedRecord => {
      // decisions: Access. A user is visible where it has a binding and has accepted membership (0067), other identities in their
      // group.
      const isPerson = isRoot(uid) && uid !== operatorUid;
      const effect: Effect = isRoot(uid) && !isMember ? "PENDING" : "GIVES";
      const sources = bindings.map(
        ({ uid: binding, role, roleName, group, groupName, endMs }): Source => ({ effect, binding, role, roleName, group, groupName, endMs }),
      );
      if (uid === operatorUid) sources.push(operatorSource);
      const known = uid === caller?.uid || mayList(uid) || ((isMember || !isPerson) && bindings.some(({ group }) => mayList(group)));
      const record = {
        identityUid: uid,
        ...(known && called !== "" ? { name: called } : {}),
        ...(known && email !== "" ? { email } : {}),
        grants: shownGrants(rights, place, sources),
      };
      return { key: [uid], record };
    });
    return pageOf(page, records, total ?? page.total ?? 0);
  });
};

/** Reads no row: what the caller holds says nothing about what is there. */
const mine = ({ request, rights }: ReadContext): Promise<Outcome> => {
  const place = text(request, "place");
  const held = everyCapability.filter(({ name }) => missingCapability(rights, [name], place) === undefined);
  return Promise.resolve({ reply: { capabilities: held.map(({ name }) => name) } });
};

export const access = resource({
  service: "gantry.access.v1.AccessService",
  message: "gantry.access.v1.ExplainResponse",
  methods: { Explain: { reads: explain }, Mine: { reads: mine }, WhoCan: { reads: whoCan } },
});
