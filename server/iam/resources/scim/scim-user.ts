// Users provisioned by an identity provider via SCIM (docs/decisions/0053). Active users have the provider's default role; `active:
// false` or deletion revokes, on the next request, all permissions from its sign-ins.

import type { Fault } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { newChild } from "#base/uid.ts";
import { type Outcome, type ReadContext, resource, type WriteContext } from "#kernel";
import { endProvisionedAccess, giveProvisionedRole, isKnownByOid } from "#iam/signin";
import {
  countScimUsers,
  deleteScimMemberships,
  deleteScimRemoval,
  deleteScimUser,
  findScimIdentity,
  findScimUser,
  type GroupOfScimUser,
  insertScimUser,
  listGroupsOfScimUsers,
  listScimUsers,
  lockGroupsOfScimUser,
  lockScimPerson,
  lockScimUser,
  type Provider,
  type ScimUserRow,
  updateScimUser,
  writeScimRemoval,
} from "#iam/store";
import type { Read } from "#db";
import { type ScimRequest, baseOf, listResponse } from "./documents/answer.ts";
import { namingTaken, noResource, requireIfMatch } from "./documents/faults.ts";
import { withCoreNames } from "./documents/names.ts";
import { patched, readOperations } from "./documents/patch.ts";
import { isSameJson } from "./documents/same-json.ts";
import { userAttributes } from "./documents/schemas.ts";
import { isShown, type Shown, shownOf } from "./documents/shown.ts";
import { documentOf, weakVersionOf } from "./documents/document.ts";
import { type ReadUser, readUser, rowVersionsIn, shownUser, userVersionOf } from "./documents/user-document.ts";
import { userQueryOf } from "./documents/query.ts";
import { holdProvider } from "./rules/held-provider.ts";
import { namingPeopleQuota } from "./rules/people-quota.ts";
import { wholePage } from "./rules/whole-page.ts";

const uidOf = ({ request }: ScimRequest): string => `${text(request, "identityProviderUid")}/${text(request, "id")}`;

const noUser = ({ request }: ScimRequest): Fault => noResource("User", text(request, "id"));

const toldUser = (asked: ScimRequest, row: ScimUserRow, groups: readonly GroupOfScimUser[], shown: Shown): JsonObject => {
  const { userName } = documentOf(row);
  return {
    uid: row.uid,
    identityProviderUid: text(asked.request, "identityProviderUid"),
    ...(row.externalId === undefined ? {} : { externalId: row.externalId }),
    userName: userName ?? "",
    active: row.active,
    etag: userVersionOf(row, groups, baseOf(asked)),
    ...(row.identityUid === undefined ? {} : { identityUid: row.identityUid }),
    document: shownUser(row, groups, baseOf(asked), shown),
  };
};

const groupsOf = async (rows: Read, users: readonly ScimUserRow[], shown: Shown, most: number = limits.scimMembersMax): Promise<readonly GroupOfScimUser[]> =>
  isShown("groups", shown) && users.length > 0
    ? listGroupsOfScimUsers(
        rows,
        users.map(({ uid }) => uid),
        most,
      )
    : [];

/** Makes sign-ins by this external ID wait for this transaction (attack 222). */
const lockPerson = async ({ rows, request }: WriteContext, externalId: string | undefined): Promise<void> => {
  if (externalId !== undefined) await lockScimPerson(rows, text(request, "identityProviderUid"), externalId);
};

/**
 * Returns the identity of this external ID, which is locked; undefined if unknown. By the provider's correlation rule the ID is the
 * subject, which determines the identity, or the claim `oid`, which only a sign-in links to one.
 */
const identityOf = async ({ rows, services }: WriteContext, provider: Provider, externalId: string | undefined): Promise<string | undefined> => {
  if (externalId === undefined) return undefined;
  return isKnownByOid(provider) ? findScimIdentity(rows, provider.uid, externalId) : services.authn.personUid(provider.oidc.issuer, externalId);
};

const taken = "another user of this identity provider has the same userName or externalId";

/** Grants or revokes access after provisioning or a change of `active`. Users who signed in before provisioning may have had more. */
const applyActive = (context: WriteContext, provider: Provider, identityUid: string, active: boolean): Promise<void> =>
  active ? giveProvisionedRole(context, provider, identityUid) : endProvisionedAccess(context, provider, identityUid);

const createUser = async (context: WriteContext): Promise<Outcome> => {
  const { request, rows, nowMs } = context;
  const user = readUser(withCoreNames(part(request, "document")));
  const { externalId, active = true, document, ...keys } = user;
  const [provider] = await Promise.all([holdProvider(context), lockPerson(context, externalId)]);
  const identityUid = await identityOf(context, provider, externalId);
  const uid = newChild(provider.uid);
  const kept = JSON.stringify({ ...document, active });
  const row = { ...keys, uid, identityProviderUid: provider.uid, externalId, identityUid, active, document: kept, nowMs };
  // Sent together: if the first fails, the transaction rolls back the second.
  const [made] = await Promise.all([
    namingTaken(namingPeopleQuota(uid, insertScimUser(rows, row)), taken),
    identityUid === undefined ? undefined : applyActive(context, provider, identityUid, active),
  ]);
  if (!made) throw noUser(context);
  return { reply: toldUser(context, made, [], shownOf(request)) };
};

const lockSeen = async (context: WriteContext): Promise<ScimUserRow> => {
  const row = await lockScimUser(context.rows, uidOf(context));
  if (!row) throw noUser(context);
  requireIfMatch(rowVersionsIn(text(context.request, "ifMatch")), weakVersionOf(row));
  return row;
};

/** Revokes the access of a user that was deleted or now has another external ID, and records the removal. */
const endUser = async (context: WriteContext, provider: Provider, { uid, externalId, identityUid }: ScimUserRow): Promise<void> => {
  const removal = { identityProviderUid: provider.uid, identityUid, nowMs: context.nowMs };
  if (externalId !== undefined) await namingPeopleQuota(uid, writeScimRemoval(context.rows, { ...removal, externalId }));
  if (identityUid !== undefined) await endProvisionedAccess(context, provider, identityUid);
};

/** Writes the user; an omitted `active` stays. */
const writeUser = async (context: WriteContext, provider: Provider, before: ScimUserRow, wanted: ReadUser): Promise<Outcome> => {
  const { request, rows, nowMs } = context;
  const shown = shownOf(request);
  const { externalId, active = before.active, document: kept, ...keys } = wanted;
  if (isSameJson(kept, documentOf(before))) return { reply: toldUser(context, before, await groupsOf(rows, [before], shown), shown), unchanged: true };
  const isOther = externalId !== before.externalId;
  if (isOther) await lockPerson(context, externalId);
  const identityUid = isOther ? await identityOf(context, provider, externalId) : before.identityUid;
  const row = await namingTaken(
    updateScimUser(rows, { ...keys, uid: before.uid, externalId, identityUid, active, document: JSON.stringify(kept), nowMs }),
    taken,
  );
  if (!row) throw noUser(context);
  // A returning user frees the row of an earlier removal.
  if (isOther && externalId !== undefined) await deleteScimRemoval(rows, provider.uid, externalId);
  if (isOther) await endUser(context, provider, before);
  if (identityUid !== undefined && (isOther || active !== before.active)) await applyActive(context, provider, identityUid, active);
  return { reply: toldUser(context, row, await groupsOf(rows, [row], shown), shown) };
};

/** Attributes that a PUT may omit without a change (RFC 7644, 3.5.1). */
const keptByReplace = ({ externalId, active }: JsonObject): JsonObject => ({
  ...(externalId === undefined ? {} : { externalId }),
  ...(active === undefined ? {} : { active }),
});

const replaceUser = async (context: WriteContext): Promise<Outcome> => {
  const wanted = readUser(withCoreNames(part(context.request, "document")));
  const provider = await holdProvider(context);
  const before = await lockSeen(context);
  const document = { ...keptByReplace(documentOf(before)), ...wanted.document };
  return writeUser(context, provider, before, { ...wanted, externalId: wanted.externalId ?? before.externalId, document });
};

const patchUser = async (context: WriteContext): Promise<Outcome> => {
  const operations = readOperations(part(context.request, "document"));
  const provider = await holdProvider(context);
  const before = await lockSeen(context);
  return writeUser(context, provider, before, readUser(patched(documentOf(before), operations, userAttributes)));
};

const removeUser = async (context: WriteContext): Promise<Outcome> => {
  const provider = await holdProvider(context);
  // Locks groups before the user, in the order of membership changes.
  await lockGroupsOfScimUser(context.rows, uidOf(context));
  const before = await lockSeen(context);
  await deleteScimMemberships(context.rows, before.uid, context.nowMs);
  await deleteScimUser(context.rows, before.uid);
  await endUser(context, provider, before);
  const { document: _, ...told } = toldUser(context, before, [], shownOf({}));
  return { reply: told };
};

const getUser = async (context: ReadContext): Promise<Outcome> => {
  const row = await findScimUser(context.rows, uidOf(context));
  if (!row) throw noUser(context);
  const shown = shownOf(context.request);
  return { reply: toldUser(context, row, await groupsOf(context.rows, [row], shown), shown) };
};

const listUsers = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const query = userQueryOf(request);
  const shown = shownOf(request);
  const [found, totalResults] = await Promise.all([query.limit === 0 ? [] : listScimUsers(rows, query), countScimUsers(rows, query)]);
  const base = baseOf(context);
  const page = await wholePage(
    found,
    (users, most) => groupsOf(rows, users, shown, most),
    ({ userUid }) => userUid,
  );
  const resources = page.map(([row, groups]) => shownUser(row, groups, base, shown));
  return { reply: { document: listResponse(resources, totalResults, query.skip) } };
};

export const scimUser = resource({
  service: "gantry.scim.v1.ScimUsersService",
  message: "gantry.scim.v1.ScimUser",
  ownTable: "scim_users",
  methods: {
    ListScimUsers: { reads: listUsers },
    GetScimUser: { reads: getUser },
    CreateScimUser: { writes: createUser },
    ReplaceScimUser: { writes: replaceUser },
    PatchScimUser: { writes: patchUser },
    DeleteScimUser: { writes: removeUser },
  },
});
