// A role binding assigns a role to an identity in a group and below.

import { operatorUid } from "#base/operator.ts";
import { Fault, invalid, type Violation } from "#base/fault.ts";
import { isObject, type JsonObject, part, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { limits } from "#base/limits.ts";
import { covers, isRoot, isUid, parentOf } from "#base/uid.ts";
import { type BoundResource, boundOf, change, holdParent, type Outcome, resource, type RuleContext, type WriteContext } from "#kernel";
import { findSeenIdentities, insertMembership, isDismissedAt } from "#iam/store";
import { lockRow } from "#db";
import { endOf, endProblem, grantProblem } from "./rules/grant.ts";

// A binding reaches down from the identity's own group, never sideways or up: otherwise a subgroup's identity could access the root
// group's registry (requirement: Authentication 4). Users are above all groups, and may get bindings before they first sign in.
const identityViolation = async (identity: string, { parent, rows, isUndelete }: RuleContext): Promise<string | undefined> => {
  if (identity === "") return "identityUid is required";
  if (isRoot(identity)) {
    // A binding removed by SCIM is not restored by an undelete (0053), only by a new grant.
    return isUndelete && (await isDismissedAt(rows, identity, parent)) ? "was deactivated or removed by an identity provider (SCIM)" : undefined;
  }
  if (!covers(parentOf(identity), parent)) return "must belong to this group or to one above it";
  return (await lockRow(rows, { name: "identities", columns: ["uid"] }, identity, "key share")) ? undefined : "does not exist";
};

const rules = async (draft: JsonObject, context: RuleContext): Promise<Violation[]> => {
  const { parent, before, nowMs } = context;
  const violations: Violation[] = [];
  const problem = await identityViolation(text(draft, "identityUid"), context);
  if (problem) violations.push({ field: "identityUid", description: problem });
  const role = text(draft, "roleUid");
  if (role === "") violations.push({ field: "roleUid", description: "roleUid is required" });
  if (violations.length > 0) return violations;
  const receiver = text(draft, "identityUid");
  // An update is a grant if it adds permissions or extends them.
  const gives = !before || receiver !== before.identityUid || role !== before.roleUid || endOf(draft) > endOf(before);
  const unfit = await grantProblem(role, parent, context, gives ? { untilMs: endOf(draft), receiver } : undefined);
  if (unfit !== undefined) violations.push({ field: "roleUid", description: unfit });
  const ends = endProblem(draft, before, nowMs);
  if (ends !== undefined) violations.push({ field: "expireTime", description: ends });
  return violations;
};

const createBinding = async (context: WriteContext, resource: BoundResource, parent: string, body: JsonObject): Promise<JsonObject> => {
  const { caller, rows, nowMs } = context;
  const identityUid = text(body, "identityUid");
  // The operator's bindings make a user a member (0067). Inserted before the row, since the row's event shows the user.
  if (caller?.uid === operatorUid && isUid(identityUid) && isRoot(identityUid))
    await insertMembership(rows, { group: parent, identityUid, basis: "operator", createTime: timestamp(nowMs) });
  return (await change(context, resource, { kind: "create", parent, body }, "cause")).record;
};

const create = async (context: WriteContext): Promise<Outcome> => {
  const found = boundOf(context, "chainguard.platform.iam.v2.RoleBinding");
  const parent = text(context.request, "parent");
  holdParent(context, found, parent);
  return { reply: await createBinding(context, found, parent, part(context.request, "roleBinding")) };
};

// AIP-233: all or nothing, in the order of the requests.
const batchCreate = async (context: WriteContext): Promise<Outcome> => {
  const found = boundOf(context, "chainguard.platform.iam.v2.RoleBinding");
  const parent = text(context.request, "parent");
  const shared = text(context.request, "roleUid");
  const requests = Array.isArray(context.request.requests) ? context.request.requests.filter(isObject) : [];
  if (requests.length > limits.batchMax) throw invalid([{ field: "requests", description: `must have at most ${limits.batchMax} entries` }]);
  const violations: Violation[] = [];
  const bodies = requests.map((request, index) => {
    const at = `requests[${index}]`;
    const binding = part(request, "roleBinding");
    // Attack 4: a batch that checks only its first item.
    if (text(request, "parent") !== "" && text(request, "parent") !== parent)
      violations.push({ field: `${at}.parent`, description: "differs from the batch's parent" });
    const role = text(binding, "roleUid");
    if (shared !== "" && role !== "" && role !== shared)
      violations.push({ field: `${at}.roleBinding.roleUid`, description: "differs from the batch's roleUid" });
    const ends = text(binding, "expireTime");
    return { identityUid: text(binding, "identityUid"), roleUid: role || shared, ...(ends === "" ? {} : { expireTime: ends }) };
  });
  if (violations.length > 0) throw invalid(violations);
  holdParent(context, found, parent);
  const made: JsonObject[] = [];
  for (const [index, body] of bodies.entries()) made.push(await named(`requests[${index}].roleBinding`, createBinding(context, found, parent, body)));
  return { reply: { roleBindings: made } };
};

/** Prefixes the fields of an error with the batch's path. */
const named = async (prefix: string, made: Promise<JsonObject>): Promise<JsonObject> => {
  try {
    return await made;
  } catch (thrown) {
    const detail = thrown instanceof Fault ? thrown.details.find((each) => each.kind === "fields") : undefined;
    if (!detail) throw thrown;
    throw invalid(detail.violations.map(({ field, description }) => ({ field: `${prefix}.${field}`, description })));
  }
};

export const roleBinding = resource({
  service: "chainguard.platform.iam.v2.RoleBindingsService",
  message: "chainguard.platform.iam.v2.RoleBinding",
  table: "role_bindings",
  rules,
  // Readers need names, not only uids.
  hydrate: {
    // Until a user accepts membership, an organization sees only the user's uid (0067).
    identity: { by: "identityUid", table: "identities", findSeen: findSeenIdentities },
    group: { by: "parent", table: "groups" },
    role: { by: "roleUid", table: "roles" },
  },
  methods: { CreateRoleBinding: { writes: create }, BatchCreateRoleBindings: { writes: batchCreate } },
});
