// Creates an organization for another user, with an invite for its owner. Version 1 only.

import { builtInRoleUid } from "#authz";
import { denied, FoundViolations, invalid, type Violation } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { EVERYWHERE, newRoot } from "#base/uid.ts";
import { messageNamed } from "#contract/catalog.ts";
import { messageInView } from "#contract/views.ts";
import { type BoundResource, boundOf, change, checkMessage, type Outcome, resource, type WriteContext } from "#kernel";
import { writeInvite } from "./rules/invite.ts";

const violationsOf = ({ fact }: BoundResource, body: JsonObject, names: Readonly<Record<string, string>>): Violation[] => {
  const found = new FoundViolations();
  checkMessage(fact, body, "", "json", found);
  return found.list.map(({ field, description }) => ({ field: names[field] ?? field, description }));
};

/** Creates an organization owned by the user who accepts the invite, not by the caller. */
const createWithGroup = async (context: WriteContext): Promise<Outcome> => {
  const { request, rights } = context;
  if (!rights.grants.some(({ path }) => path === EVERYWHERE))
    throw denied("Permission denied: only the operator creates organizations for others. To create one for yourself, use Groups/Create.");
  const [group, invite] = [boundOf(context, "chainguard.platform.iam.v2.Group"), boundOf(context, "chainguard.platform.iam.v2.GroupInvite")];
  const roleUid = text(request, "role") || builtInRoleUid("owner");
  const body = { roleUid, ttl: text(request, "ttl"), email: text(request, "email"), singleUse: request.singleUse === true };
  const violations = [
    ...violationsOf(group, { name: text(request, "group") }, { name: "group" }),
    ...violationsOf(invite, body, { roleUid: "role" }),
    // The organization would have no owner.
    ...(roleUid === builtInRoleUid("owner") ? [] : [{ field: "role", description: "must be the built-in role owner, or empty" }]),
  ];
  if (violations.length > 0) throw invalid(violations);
  const uid = newRoot();
  await change(context, group, { kind: "create", parent: EVERYWHERE, uid, body: { name: text(request, "group") } }, "row");
  const record = await writeInvite({ ...context, require: () => {}, delegate: () => {} }, invite, uid, body, "row");
  const reply = messageInView(messageNamed("chainguard.platform.iam.GroupInvite"), invite.fact, record);
  return { reply: reply ?? {} };
};

export const invitedGroup = resource({
  service: "chainguard.platform.iam.GroupInvites",
  message: "chainguard.platform.iam.GroupInvite",
  methods: { CreateWithGroup: { writes: createWithGroup } },
});
