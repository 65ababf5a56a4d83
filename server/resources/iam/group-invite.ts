// An invite lets whoever brings its code join a group with a role. Joining is registration's (server/signin).

import type { Rights } from "#authz";
import type { Violation } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { durationMs, timestamp } from "#base/time.ts";
import { covers, newRoot } from "#base/uid.ts";
import { boundOf, change, holdParent, type Outcome, resource, type RuleContext, type WriteContext } from "#kernel";
import { inviteCodeHash, makeInviteCode } from "#signin";
import { endOf, endProblem, grantProblem } from "./rules/grant.ts";

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
  // Nobody can accept what has ended.
  draft.expirationTime = timestamp(Math.min(nowMs + ttlMs, endMs));
  return [];
};

/** The mappings by which the maker's sign-in gives rights here: what is left of them is asked when somebody accepts. */
const mappingsAt = ({ grants }: Rights, place: string): string[] =>
  grants.flatMap(({ isFromSession, path, binding }) => (isFromSession && binding !== undefined && covers(path, place) ? [binding] : []));

const createInvite = async (context: WriteContext): Promise<Outcome> => {
  const found = boundOf(context, "chainguard.platform.iam.v2.GroupInvite");
  const parent = text(context.request, "parent");
  holdParent(context, found, parent);
  const keyId = newRoot();
  const code = makeInviteCode(parent, keyId);
  const body = { ...part(context.request, "groupInvite"), keyId };
  const columns = { code_hash: inviteCodeHash(code), invited_by: context.caller?.uid ?? "", by_mappings: JSON.stringify(mappingsAt(context.rights, parent)) };
  const { record } = await change(context, found, { kind: "create", parent, body, columns }, "cause");
  return { reply: { ...record, code } };
};

export const groupInvite = resource({
  service: "chainguard.platform.iam.v2.GroupInvitesService",
  message: "chainguard.platform.iam.v2.GroupInvite",
  table: "group_invites",
  rules,
  hydrate: { role: { by: "roleUid", table: "roles" } },
  methods: { CreateGroupInvite: { writes: createInvite } },
});
