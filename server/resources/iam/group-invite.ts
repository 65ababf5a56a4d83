// An invite lets whoever brings its code join a group with a role. Joining is registration's (server/signin).

import { GroupInviteSchema, GroupInvitesService } from "#contract/gen/chainguard/platform/iam/v2/group_invites_pb.js";
import { denied, type Violation } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { durationMs, timestamp } from "#base/time.ts";
import { newRoot } from "#base/uid.ts";
import { boundOf, change, holdParent, type Outcome, resource, type RuleContext, type WriteContext } from "#kernel";
import { inviteCodeHash, makeInviteCode, mayInvite } from "#signin";
import { grantProblem } from "./rules/grant.ts";

const dayMs = 24 * 60 * 60 * 1000;

const ttlProblem = (ttlMs: number): string | undefined => {
  if (ttlMs <= 0) return "ttl must be more than 0s";
  return ttlMs > limits.inviteLifetimeMs ? `ttl must be at most ${limits.inviteLifetimeMs / dayMs} days (${limits.inviteLifetimeMs / 1000}s)` : undefined;
};

const rules = async (draft: JsonObject, context: RuleContext): Promise<Violation[]> => {
  const { parent, caller, rows, nowMs } = context;
  const violations: Violation[] = [];
  const add = (field: string, description: string | undefined): void => {
    if (description !== undefined) violations.push({ field, description });
  };
  const ttlMs = durationMs(text(draft, "ttl"));
  add("ttl", ttlProblem(ttlMs));
  const email = text(draft, "email");
  add("email", email === "" || /^[^\s@]+@[^\s@]+$/.test(email) ? undefined : "email must be an e-mail address");
  const role = text(draft, "roleUid");
  add("roleUid", await grantProblem(role, parent, context));
  if (violations.length > 0) return violations;
  // What groups at an identity provider give ends with the session; the promise would be void before anybody took it up.
  if (!(await mayInvite(rows, caller?.uid ?? "", role, parent, nowMs)))
    throw denied("Permission denied: an invite needs rights by a role binding, which outlast the session");
  draft.expirationTime = timestamp(nowMs + ttlMs);
  return [];
};

const createInvite = async (context: WriteContext): Promise<Outcome> => {
  const found = boundOf(context, GroupInviteSchema);
  const parent = text(context.request, "parent");
  await holdParent(context, found, parent);
  const keyId = newRoot();
  const code = makeInviteCode(parent, keyId);
  const body = { ...part(context.request, "groupInvite"), keyId };
  const columns = { code_hash: inviteCodeHash(code), invited_by: context.caller?.uid ?? "" };
  const { record } = await change(context, found, { kind: "create", parent, body, columns }, "cause");
  return { reply: { ...record, code } };
};

export const groupInvite = resource({
  service: GroupInvitesService,
  message: GroupInviteSchema,
  table: "group_invites",
  rules,
  hydrate: { role: { by: "roleUid", table: "roles" } },
  methods: { CreateGroupInvite: { writes: createInvite } },
});
