// A group: an organization (no parent), or a group inside one. Permissions are inherited down the tree.

import { builtInRoleUid } from "#authz";
import { denied, Fault, invalid, missing, throttled, type Violation } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { EVERYWHERE, isRoot, isUid, newRoot, rootOf } from "#base/uid.ts";
import { type BoundResource, boundOf, change, holdParent, type Outcome, type ReadContext, resource, type RuleContext, type WriteContext } from "#kernel";
import { isBelievedEmail } from "#iam/signin";
import { findNamed, lockRow } from "#db";
import { findVerifiedOrganization, insertAccessRequest, insertMembership } from "#iam/store";
import { companyDomain, isDomain } from "./rules/mail.ts";
import { evictHolders, renameOrganization, undeletedNameViolations } from "./rules/names.ts";

const isOperator = ({ rights }: WriteContext): boolean => rights.grants.some(({ path: place }) => place === EVERYWHERE);

const kindless = "ORG_KIND_UNSPECIFIED";
const kindOf = (group: JsonObject | undefined): string => text(group ?? {}, "kind") || kindless;

const organizationTable = { name: "groups", columns: ["kind", "status"] };

/** A subgroup copies kind and status of its organization (0010: later changes propagate). */
const inherit = async (draft: JsonObject, { rows, parent }: RuleContext): Promise<void> => {
  const [kind, status] = (await lockRow(rows, organizationTable, rootOf(parent), "share")) ?? [];
  draft.kind = kind ?? kindless;
  draft.status = status ?? "ORG_STATUS_READY";
};

const folderViolations = (draft: JsonObject, before: JsonObject | undefined): Violation[] => {
  const foreign = {
    verified: draft.verified === true,
    kind: kindOf(draft) !== kindless && kindOf(draft) !== kindOf(before),
    authorApproval: draft.authorApproval === true,
  };
  return (["verified", "kind", "authorApproval"] as const).flatMap((field) =>
    foreign[field] ? [{ field, description: `${field} belongs to organizations, not to the groups below them` }] : [],
  );
};

// resources: Groups. A verified organization is the only one with its domain name; its kind is required on creation.
const organizationViolations = (draft: JsonObject, before: JsonObject | undefined): Violation[] => {
  const verified = draft.verified === true;
  const out: Violation[] = [];
  if (verified && !isDomain(text(draft, "name")))
    out.push({ field: "name", description: "name must be a domain, such as example.org, for the organization to be verified" });
  if (verified && !before && kindOf(draft) === kindless) out.push({ field: "kind", description: "kind is required of a verified organization" });
  if (!verified && kindOf(before) === kindless && kindOf(draft) !== kindless)
    out.push({ field: "kind", description: "kind is given to verified organizations only" });
  return out;
};

const rules = async (draft: JsonObject, context: RuleContext): Promise<Violation[]> => {
  const { before } = context;
  const uid = text(draft, "uid");
  // A suspended organization is restored as suspended.
  if (!context.isUndelete) draft.status = before?.status ?? "ORG_STATUS_READY";
  const optedOut = draft.authorApproval === true;
  if (isRoot(uid) && optedOut !== (before?.authorApproval === true) && !context.isUndelete) context.require(["advisories.approve"], before ? uid : EVERYWHERE);
  if (!isRoot(uid)) {
    const violations = [...folderViolations(draft, before), ...(await undeletedNameViolations(draft, context))];
    if (violations.length === 0 && !before) await inherit(draft, context);
    if (before) draft.kind = kindOf(before);
    return violations;
  }
  const violations = organizationViolations(draft, before);
  const said = (draft.verified === true) !== (before?.verified === true) || kindOf(draft) !== kindOf(before);
  if (violations.length === 0 && said) context.require(["internal"], before ? uid : EVERYWHERE);
  if (violations.length === 0) await renameOrganization(draft, context);
  if (violations.length === 0 && draft.verified === true && before?.verified !== true) await evictHolders(draft, context);
  return [...violations, ...(await undeletedNameViolations(draft, context))];
};

/** Resolves a parent by name, or by the end of its uid, among the groups where the caller may create. */
const findParent = async ({ rows, visiblePaths: reach }: WriteContext, given: string): Promise<string> => {
  if (isUid(given)) return given;
  const found = await findNamed(rows, "groups", given, reach);
  const [only, ...others] = found;
  if (only === undefined) throw missing("iam", "Group", given);
  if (others.length > 0) throw invalid([{ field: "parent", description: `${found.length} groups match; give the uid` }]);
  return only;
};

const createOrganization = async (context: WriteContext, group: BoundResource, body: JsonObject): Promise<JsonObject> => {
  const { caller, services } = context;
  const human = caller !== undefined && isRoot(caller.uid);
  if (!isOperator(context) && !(services.openOrganizations && human)) {
    throw denied("Permission denied: only the operator can create organizations (GANTRY_OPEN_ORGANIZATIONS allows it to users)");
  }
  const uid = newRoot();
  const { record } = await change(context, group, { kind: "create", parent: EVERYWHERE, uid, body }, "cause");
  // decisions: Access. The creator of an organization becomes its owner; the operator already has all permissions.
  if (caller && !isOperator(context)) {
    // A new organization has no other members who could grant this.
    const founding = { ...context, require: () => {}, delegate: () => {} };
    await insertMembership(context.rows, { group: uid, identityUid: caller.uid, basis: "founding", createTime: timestamp(context.nowMs) });
    const binding = { identityUid: caller.uid, roleUid: builtInRoleUid("owner") };
    await change(founding, boundOf(context, "chainguard.platform.iam.v2.RoleBinding"), { kind: "create", parent: uid, body: binding }, "row");
  }
  return record;
};

const createGroup = async (context: WriteContext): Promise<Outcome> => {
  const found = boundOf(context, "chainguard.platform.iam.v2.Group");
  const body = part(context.request, "group");
  const given = text(context.request, "parent");
  if (given === "" || given === "/") return { reply: await createOrganization(context, found, body) };
  const parent = await findParent(context, given);
  context.require(["groups.create"], parent);
  holdParent(context, { ...found, parent: found }, parent);
  const { record } = await change(context, found, { kind: "create", parent, body }, "cause");
  return { reply: record };
};

/** Fields visible to non-members. */
const cardFields = ["uid", "name", "verified"] as const;

/** Returns the verified organization of the caller's own domain; undefined if there is none to show. */
const ownOrganization = async (context: Pick<ReadContext, "caller" | "services" | "rows" | "resources">): Promise<JsonObject | undefined> => {
  const { caller, services, rows, resources } = context;
  const domain = companyDomain(caller?.email, services.freeMailDomains);
  const found = resources.get("chainguard.platform.iam.v2.Group");
  if (domain === undefined || !found) return undefined;
  const row = await findVerifiedOrganization(rows, found.shape.table, domain);
  const organization = row && found.shape.read(row, 0);
  if (!caller || !organization || organization.status === "ORG_STATUS_SUSPENDED") return undefined;
  const believed = await isBelievedEmail(context, text(organization, "uid"), caller.act?.iss ?? caller.issuer, caller.email ?? "");
  return believed ? organization : undefined;
};

// The same error for every reason, so that it does not reveal which domains have an organization (resources: Groups).
const noneForYou = (): Fault =>
  new Fault("NOT_FOUND", "no organization found for this caller", { details: [{ kind: "resource", domain: "iam", resource: "Group", name: "-" }] });

const lookupGroup = async (context: ReadContext): Promise<Outcome> => {
  const organization = await ownOrganization(context);
  if (!organization) throw noneForYou();
  return { reply: { group: Object.fromEntries(cardFields.flatMap((field) => (organization[field] === undefined ? [] : [[field, organization[field]]]))) } };
};

/** Notifies the owners, by the operation's event, that a user of their domain requests access. */
const requestAccess = async (context: WriteContext): Promise<Outcome> => {
  const { caller, nowMs, request, rows } = context;
  const uid = text(request, "groupUid");
  const organization = await ownOrganization(context);
  if (!caller || organization?.uid !== uid) throw missing("iam", "Group", uid);
  const askedMs = await insertAccessRequest(rows, uid, caller.uid, nowMs, nowMs - limits.accessRequestMs);
  if (askedMs === undefined) return { reply: {} };
  throw throttled("access to this organization was asked for already; its owners know", {
    name: "access-requests",
    quota: 1,
    windowMs: limits.accessRequestMs,
    retryMs: askedMs + limits.accessRequestMs - nowMs,
  });
};

/** Classifies the domain of the token's e-mail address. It grants nothing, so the address need not be verified (docs/decisions/0018). */
const checkEligibility = async ({ caller, services }: ReadContext): Promise<Outcome> => ({
  reply: { eligible: companyDomain(caller?.email, services.freeMailDomains) !== undefined },
});

export const group = resource({
  service: "chainguard.platform.iam.v2.GroupsService",
  message: "chainguard.platform.iam.v2.Group",
  table: "groups",
  rules,
  sideTables: [
    { table: "registry_settings", column: "root_uid" },
    { table: "terms_acceptances", column: "org_uid" },
    { table: "group_access_requests", column: "group_uid", isDeletedForGood: true },
    // Former members must accept again (docs/decisions/0067).
    { table: "memberships", column: "organization_uid", isDeletedForGood: true },
    // A decline persists.
    { table: "membership_declines", column: "organization_uid" },
    { table: "advisories", column: "uid" },
    { table: "vulnerability_cves", column: "owner" },
    { table: "vulnerabilities", column: "owner" },
    { table: "image_packages", column: "owner" },
    { table: "lifecycles", column: "owner" },
    { table: "affected_images", column: "uid" },
    { table: "image_coverage", column: "owner" },
    { table: "advisory_coverage", column: "uid" },
    { table: "request_group_items", column: "uid" },
    // Pending repos, with their blobs by a trigger; none of them is a repo yet.
    { table: "pending_repos", column: "group_uid", isDeletedForGood: true },
  ],
  methods: {
    CreateGroup: { writes: createGroup },
    LookupGroup: { reads: lookupGroup },
    RequestGroupAccess: { writes: requestAccess },
    CheckEligibility: { reads: checkEligibility },
  },
});
