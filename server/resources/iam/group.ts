// A group: an organization (no parent), or a folder in one. Rights flow down the tree that groups make.

import { GroupSchema, GroupsService } from "#contract/gen/chainguard/platform/iam/v2/groups_pb.js";
import { builtInRoleUid } from "#authz";
import { denied, invalid, missing, type Violation } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { covers, EVERYWHERE, isRoot, isUid, newChild, newRoot } from "#base/uid.ts";
import { type Bound, holdParent, insert, type Outcome, resource, type RuleContext, type WriteContext } from "#kernel";
import { findNamed, insertRow } from "#store";

const isOperator = ({ rights }: WriteContext): boolean => rights.grants.some(({ place }) => place === EVERYWHERE);

// Verified and kind say something about an organization, and only the operator says it (resources: Groups).
const rules = (draft: JsonObject, context: RuleContext): Violation[] => {
  const { before } = context;
  draft.status = before ? (before.status ?? "ORG_STATUS_READY") : "ORG_STATUS_READY";
  if (before && !isOperator(context)) {
    // A full replacement by somebody else leaves them as they are.
    draft.verified ??= before.verified ?? false;
    draft.kind ??= before.kind ?? "ORG_KIND_UNSPECIFIED";
  }
  const root = isRoot(text(draft, "uid"));
  return (["verified", "kind"] as const).flatMap((field) => {
    const wanted = draft[field] ?? false;
    const unset = wanted === false || wanted === "ORG_KIND_UNSPECIFIED";
    if (unset || wanted === before?.[field]) return [];
    if (!root) return [{ field, description: `${field} belongs to organizations, not to the groups below them` }];
    return isOperator(context) ? [] : [{ field, description: `${field} is set by the operator only` }];
  });
};

/** A parent given by its name, or by the end of its uid, among the groups where the caller may create. */
const findParent = async ({ rows, reach }: WriteContext, given: string): Promise<string> => {
  if (isUid(given)) return given;
  const found = await findNamed(rows, "groups", given);
  const seen = found.filter((uid) => reach.some((place) => covers(place, uid)));
  const [only, ...others] = seen;
  if (only === undefined) throw missing("iam", "Group", given);
  if (others.length > 0) throw invalid([{ field: "parent", description: `${seen.length} groups match; give the uid` }]);
  return only;
};

const createOrganization = async (context: WriteContext, group: Bound, body: JsonObject): Promise<JsonObject> => {
  const { caller, house } = context;
  const human = caller !== undefined && isRoot(caller.uid);
  if (!isOperator(context) && !(house.openOrganizations && human)) {
    throw denied("Permission denied: only the operator makes organizations here (GANTRY_OPEN_ORGANIZATIONS opens it to people)");
  }
  const uid = newRoot();
  const made = await insert(context, group, EVERYWHERE, body, uid);
  // decisions: Access. Whoever makes an organization owns it; the operator holds every one already.
  if (caller && !isOperator(context)) {
    const now = timestamp(context.nowMs);
    const values = { uid: newChild(uid), identity_uid: caller.uid, role_uid: builtInRoleUid("owner"), create_time: now, update_time: now };
    await insertRow(context.rows, { name: "role_bindings", columns: [] }, values);
  }
  return made;
};

const createGroup = async (context: WriteContext): Promise<Outcome> => {
  const found = context.resources.get(GroupSchema.typeName);
  if (!found) throw new Error("groups have no table");
  const body = part(context.request, "group");
  const given = text(context.request, "parent");
  if (given === "" || given === "/") return { reply: await createOrganization(context, found, body) };
  const parent = await findParent(context, given);
  context.require(["groups.create"], parent);
  await holdParent(context, { ...found, parent: found }, parent);
  return { reply: await insert(context, found, parent, body) };
};

export const group = resource({
  service: GroupsService,
  message: GroupSchema,
  table: "groups",
  rules,
  methods: { CreateGroup: { writes: createGroup } },
});
