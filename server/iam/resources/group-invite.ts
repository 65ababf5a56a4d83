// An invite lets the holder of its code join a group with a role. Registration accepts it (server/iam/signin).

import type { Violation } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { durationMs, timestamp } from "#base/time.ts";
import { boundOf, holdParent, type Outcome, resource, type RuleContext, type WriteContext } from "#kernel";
import { endOf, endProblem, grantProblem } from "./rules/grant.ts";
import { writeInvite } from "./rules/invite.ts";

const rules = async (draft: JsonObject, context: RuleContext): Promise<Violation[]> => {
  const { parent, nowMs } = context;
  const violations: Violation[] = [];
  const add = (field: string, description: string | undefined): void => {
    if (description !== undefined) violations.push({ field, description });
  };
  const ttlMs = durationMs(text(draft, "ttl"));
  const email = text(draft, "email");
  add("email", email === "" || /^[^\s@]+@[^\s@]+$/.test(email) ? undefined : "email must be an e-mail address");
  const role = text(draft, "roleUid");
  const endMs = endOf(draft);
  add("expireTime", endProblem(draft, undefined, nowMs));
  add("roleUid", await grantProblem(role, parent, context, { untilMs: endMs }));
  if (violations.length > 0) return violations;
  // An expired invite cannot be accepted.
  draft.expirationTime = timestamp(Math.min(nowMs + ttlMs, endMs));
  return [];
};

const createInvite = async (context: WriteContext): Promise<Outcome> => {
  const found = boundOf(context, "chainguard.platform.iam.v2.GroupInvite");
  const parent = text(context.request, "parent");
  holdParent(context, found, parent);
  return { reply: await writeInvite(context, found, parent, part(context.request, "groupInvite"), "cause") };
};

export const groupInvite = resource({
  service: "chainguard.platform.iam.v2.GroupInvitesService",
  message: "chainguard.platform.iam.v2.GroupInvite",
  table: "group_invites",
  rules,
  hydrate: { role: { by: "roleUid", table: "roles" } },
  methods: { CreateGroupInvite: { writes: createInvite } },
});
