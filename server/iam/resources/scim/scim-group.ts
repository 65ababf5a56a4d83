// Groups of an identity provider and their members (docs/decisions/0053): members get the roles of the provider's mappings in their
// sign-in sessions. A change writes only rows of added or removed members.

import type { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { newChild } from "#base/uid.ts";
import { namingQuota, type Outcome, type ReadContext, resource, type WriteContext } from "#kernel";
import {
  countScimGroups,
  deleteOtherScimMembers,
  deleteScimGroup,
  deleteScimMembers,
  findScimGroup,
  insertScimGroup,
  insertScimMembers,
  listScimGroups,
  listScimMembers,
  lockScimGroup,
  lockScimUserUids,
  type ScimGroupRow,
  type ScimMember,
  updateScimGroup,
} from "#iam/store";
import type { Read } from "#db";
import { type ScimRequest, baseOf, listResponse } from "./documents/answer.ts";
import { documentOf, idOf, weakVersionOf } from "./documents/document.ts";
import { namingTaken, noResource, requireIfMatch, scimFault } from "./documents/faults.ts";
import { valueNamed, withCoreNames } from "./documents/names.ts";
import { memberIdsOf, type ReadGroup, readGroup, shownGroup } from "./documents/group-document.ts";
import { memberFilterOf, type Operation, patched, readOperations } from "./documents/patch.ts";
import { groupQueryOf } from "./documents/query.ts";
import { isSameJson } from "./documents/same-json.ts";
import { groupAttributes } from "./documents/schemas.ts";
import { isShown, type Shown, shownOf } from "./documents/shown.ts";
import { holdProvider } from "./rules/held-provider.ts";
import { wholePage } from "./rules/whole-page.ts";

interface Moves {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

const groupUidOf = ({ request }: ScimRequest): string => `${text(request, "identityProviderUid")}/${text(request, "id")}`;

const noGroup = ({ request }: ScimRequest): Fault => noResource("Group", text(request, "id"));

const toldIds = (uids: readonly string[]): string[] => uids.slice(0, limits.scimToldMembersMax).map(idOf);

/** Returns the event body of a group; `document`: the response. */
const toldGroup = ({ request }: ScimRequest, row: ScimGroupRow, { added, removed }: Moves, document?: JsonObject): JsonObject => ({
  uid: row.uid,
  identityProviderUid: text(request, "identityProviderUid"),
  ...(row.externalId === undefined ? {} : { externalId: row.externalId }),
  displayName: text(documentOf(row), "displayName"),
  etag: weakVersionOf(row),
  addedCount: added.length,
  removedCount: removed.length,
  addedUsers: toldIds(added),
  removedUsers: toldIds(removed),
  ...(document ? { document } : {}),
});

const nobody: Moves = { added: [], removed: [] };

const membersOf = async (rows: Read, groups: readonly ScimGroupRow[], shown: Shown, most: number = limits.scimMembersMax): Promise<readonly ScimMember[]> =>
  isShown("members", shown) && groups.length > 0
    ? listScimMembers(
        rows,
        groups.map(({ uid }) => uid),
        most,
      )
    : [];

const answered = async (context: WriteContext | ReadContext, row: ScimGroupRow, moves: Moves): Promise<JsonObject> => {
  const shown = shownOf(context.request);
  return toldGroup(context, row, moves, shownGroup(row, await membersOf(context.rows, [row], shown), baseOf(context), shown));
};

const taken = "another group of this identity provider has the same externalId";

/** Returns the uids of members; throws 400 invalidValue for unknown users. */
const usersOf = async ({ rows, request }: WriteContext, members: Json | undefined): Promise<string[]> => {
  const provider = text(request, "identityProviderUid");
  const wanted = [...new Set(memberIdsOf(members))].map((id) => `${provider}/${id}`);
  const known = new Set(wanted.length === 0 ? [] : await lockScimUserUids(rows, wanted));
  const unknown = wanted.find((uid) => !known.has(uid));
  if (unknown !== undefined) throw scimFault("invalidValue", `members: ${idOf(unknown)} is not a user of this identity provider`);
  return wanted;
};

/** Adds new members and returns them; throws RESOURCE_EXHAUSTED if the quota scim-members is exceeded. */
const addMembers = async ({ rows }: WriteContext, groupUid: string, users: readonly string[]): Promise<string[]> =>
  users.length === 0 ? [] : namingQuota(groupUid, insertScimMembers(rows, groupUid, users));

const createGroup = async (context: WriteContext): Promise<Outcome> => {
  const { request, rows, nowMs } = context;
  const sent = withCoreNames(part(request, "document"));
  const { document, ...group } = readGroup(sent);
  const { uid: provider } = await holdProvider(context);
  const uid = newChild(provider);
  const users = await usersOf(context, valueNamed(sent, "members"));
  const made = insertScimGroup(rows, provider, { ...group, uid, document: JSON.stringify(document), nowMs });
  await namingTaken(namingQuota(uid, made), taken);
  const added = await addMembers(context, uid, users);
  const row = await findScimGroup(rows, uid);
  if (!row) throw noGroup(context);
  return { reply: await answered(context, row, { added, removed: [] }) };
};

const lockSeenGroup = async (context: WriteContext): Promise<ScimGroupRow> => {
  const row = await lockScimGroup(context.rows, groupUidOf(context));
  if (!row) throw noGroup(context);
  requireIfMatch(text(context.request, "ifMatch"), weakVersionOf(row));
  return row;
};

const writeGroup = async (context: WriteContext, before: ScimGroupRow, { document, ...group }: ReadGroup, moves: Moves): Promise<ScimGroupRow | undefined> => {
  const { rows, nowMs } = context;
  if (moves.added.length + moves.removed.length === 0 && isSameJson(document, documentOf(before))) return undefined;
  const row = await namingTaken(updateScimGroup(rows, { ...group, uid: before.uid, document: JSON.stringify(document), nowMs }), taken);
  if (!row) throw noGroup(context);
  return row;
};

const replaceGroup = async (context: WriteContext): Promise<Outcome> => {
  const { request, rows } = context;
  const sent = withCoreNames(part(request, "document"));
  const kept = valueNamed(sent, "externalId");
  await holdProvider(context);
  const before = await lockSeenGroup(context);
  // An omitted externalId stays (RFC 7644, 3.5.1).
  const wanted = readGroup(kept === undefined && before.externalId !== undefined ? { ...sent, externalId: before.externalId } : sent);
  const users = await usersOf(context, valueNamed(sent, "members"));
  const removed = await deleteOtherScimMembers(rows, before.uid, users);
  const added = await addMembers(context, before.uid, users);
  const row = await writeGroup(context, before, wanted, { added, removed });
  return { reply: await answered(context, row ?? before, { added, removed }), unchanged: row === undefined };
};

interface MemberOperation extends Pick<Operation, "op" | "value"> {
  /** The member ID in the filter; undefined: all. */
  readonly filter: string | undefined;
}

const memberOperationOf = (op: Operation["op"], path: string, value: Json | undefined): MemberOperation[] => {
  const named = memberFilterOf(path);
  if (!named) return [];
  const other = isObject(value) ? valueNamed(value, "value") : value;
  if (named.id !== undefined && op !== "remove" && typeof other === "string" && other !== named.id)
    throw scimFault("invalidValue", "a member cannot be changed to another user. Remove the member and add the other user");
  return [{ op, filter: named.id, value }];
};

const memberOperationsOf = ({ op, path, value }: Operation): MemberOperation[] =>
  path === undefined
    ? Object.entries(isObject(value) ? value : {}).flatMap(([name, each]) => memberOperationOf(op, name, each))
    : memberOperationOf(op, path, value);

const moveMembers = async (context: WriteContext, uid: string, { op, filter, value }: MemberOperation): Promise<Moves> => {
  const { rows, request } = context;
  const provider = text(request, "identityProviderUid");
  if (op === "remove") {
    if (filter === undefined && (value ?? null) === null) return { added: [], removed: await deleteOtherScimMembers(rows, uid, []) };
    const gone = (filter === undefined ? memberIdsOf(value) : [filter]).map((id) => `${provider}/${id}`);
    return { added: [], removed: await deleteScimMembers(rows, uid, gone) };
  }
  const users = await usersOf(context, filter === undefined ? value : [filter]);
  const removed = op === "replace" && filter === undefined ? await deleteOtherScimMembers(rows, uid, users) : [];
  return { added: await addMembers(context, uid, users), removed };
};

const withoutMembers = (operation: Operation): Operation | undefined => {
  if (memberOperationsOf(operation).length === 0) return operation;
  if (operation.path !== undefined || !isObject(operation.value)) return undefined;
  const rest = Object.fromEntries(Object.entries(operation.value).filter(([name]) => !memberFilterOf(name)));
  return Object.keys(rest).length === 0 ? undefined : { ...operation, value: rest };
};

const patchGroup = async (context: WriteContext): Promise<Outcome> => {
  const operations = readOperations(part(context.request, "document"));
  await holdProvider(context);
  const before = await lockSeenGroup(context);
  const wanted = readGroup(
    patched(
      documentOf(before),
      operations.flatMap((each) => withoutMembers(each) ?? []),
      groupAttributes,
    ),
  );
  const [added, removed] = [new Set<string>(), new Set<string>()];
  for (const operation of operations.flatMap(memberOperationsOf)) {
    const moves = await moveMembers(context, before.uid, operation);
    // A member removed and added back in one request has not changed.
    for (const uid of moves.removed) if (!added.delete(uid)) removed.add(uid);
    for (const uid of moves.added) if (!removed.delete(uid)) added.add(uid);
  }
  const moves = { added: [...added], removed: [...removed] };
  const row = await writeGroup(context, before, wanted, moves);
  const asksForSome = text(context.request, "attributes") !== "";
  const reply = asksForSome ? await answered(context, row ?? before, moves) : toldGroup(context, row ?? before, moves);
  return { reply, unchanged: row === undefined };
};

const removeGroup = async (context: WriteContext): Promise<Outcome> => {
  await holdProvider(context);
  const before = await lockSeenGroup(context);
  await deleteScimGroup(context.rows, before.uid);
  return { reply: toldGroup(context, before, nobody) };
};

const getGroup = async (context: ReadContext): Promise<Outcome> => {
  const row = await findScimGroup(context.rows, groupUidOf(context));
  if (!row) throw noGroup(context);
  return { reply: await answered(context, row, nobody) };
};

const listGroups = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const query = groupQueryOf(request);
  const shown = shownOf(request);
  const [found, totalResults] = await Promise.all([query.limit === 0 ? [] : listScimGroups(rows, query), countScimGroups(rows, query)]);
  const base = baseOf(context);
  const page = await wholePage(
    found,
    (groups, most) => membersOf(rows, groups, shown, most),
    ({ groupUid }) => groupUid,
  );
  const resources = page.map(([row, members]) => shownGroup(row, members, base, shown));
  return { reply: { document: listResponse(resources, totalResults, query.skip) } };
};

export const scimGroup = resource({
  service: "gantry.scim.v1.ScimGroupsService",
  message: "gantry.scim.v1.ScimGroup",
  ownTable: "scim_groups",
  methods: {
    ListScimGroups: { reads: listGroups },
    GetScimGroup: { reads: getGroup },
    CreateScimGroup: { writes: createGroup },
    ReplaceScimGroup: { writes: replaceGroup },
    PatchScimGroup: { writes: patchGroup },
    DeleteScimGroup: { writes: removeGroup },
  },
});
