// An identity: a user (root-level uid, created by sign-in), or an identity that tokens of external issuers can assume.

import { loadBindings } from "#authz";
import type { Violation } from "#base/fault.ts";
import { isObject, type JsonObject, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { boundOf, create, type Services, type VisibilityQuery, type Outcome, type ReadContext, resource, type RuleContext, update } from "#kernel";
import { findBoundPeople } from "#iam/store";
import { endOf, endProblem } from "./rules/grant.ts";
import { issuerProblem } from "./rules/issuer.ts";
import { updateMetadata } from "./rules/metadata.ts";
import { widthWarning } from "./rules/width.ts";

const relationships = ["claimMatch", "staticKeys", "awsIdentity", "servicePrincipal"] as const;

const claimMatchViolations = (match: JsonObject, services: Services): Violation[] => {
  const out: Violation[] = [];
  const unfit = text(match, "issuer") ? issuerProblem(text(match, "issuer"), services) : undefined;
  if (unfit !== undefined) out.push({ field: "claimMatch.issuer", description: unfit });
  const pattern = text(match, "issuerPattern");
  out.push(...services.authn.patternViolations({ claimMatch: match }));
  // Errors of the pattern itself come first.
  const unbounded = pattern === "" || out.some(({ field }) => field === "claimMatch.issuerPattern") ? undefined : services.authn.issuerPatternProblem(pattern);
  return unbounded === undefined ? out : [...out, { field: "claimMatch.issuerPattern", description: unbounded }];
};

const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "k"];

/**
 * Invalid key sets are stored as given: clients use placeholders, and the exchange rejects them (server/authn/foreign-tokens.ts). A
 * private key is a secret and must not be stored.
 */
const keysViolation = (json: string): string | undefined => {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch {
    return undefined;
  }
  const keys = typeof parsed === "object" && parsed !== null && "keys" in parsed && Array.isArray(parsed.keys) ? parsed.keys : [parsed];
  const isPrivate = keys.some((key: unknown) => typeof key === "object" && key !== null && privateMembers.some((member) => Object.hasOwn(key, member)));
  return isPrivate ? "must contain public keys only, not a private key" : undefined;
};

const staticKeysViolations = (keys: JsonObject, nowMs: number): Violation[] => {
  const out: Violation[] = [];
  const problem = keysViolation(text(keys, "issuerKeys"));
  if (problem) out.push({ field: "staticKeys.issuerKeys", description: problem });
  if (texts(keys, "audiences").length > 1) out.push({ field: "staticKeys.audiences", description: "must have at most one entry" });
  // resources: Identities. At most 365 days, which is the default.
  const latest = nowMs + limits.staticKeysLifetimeMs;
  const wanted = text(keys, "expirationTime");
  if (!wanted) keys.expirationTime = timestamp(latest);
  else if (Date.parse(wanted) <= nowMs) out.push({ field: "staticKeys.expirationTime", description: "must be in the future" });
  else if (Date.parse(wanted) > latest) out.push({ field: "staticKeys.expirationTime", description: "must be within 365 days" });
  return out;
};

const relationshipViolations = (draft: JsonObject, context: RuleContext): Violation[] => {
  const given = relationships.filter((name) => draft[name] !== undefined && draft[name] !== "SERVICE_PRINCIPAL_UNSPECIFIED");
  if (given.length !== 1) return [{ field: given[1] ?? "claimMatch", description: `exactly one of ${relationships.join(", ")} is needed` }];
  const [kind] = given;
  const value = kind === undefined ? undefined : draft[kind];
  if (!isObject(value)) return [];
  if (kind === "claimMatch") return claimMatchViolations(value, context.services);
  if (kind === "staticKeys") return staticKeysViolations(value, context.nowMs);
  return [...context.services.authn.patternViolations({ awsIdentity: value })];
};

const personViolations = (draft: JsonObject): Violation[] => {
  const out: Violation[] = [];
  if (relationships.some((name) => draft[name] !== undefined))
    out.push({ field: "claimMatch", description: "must not name a user: users sign in and cannot be assumed" });
  if (text(draft, "expireTime") !== "")
    out.push({ field: "expireTime", description: "must not be set for a user. Set expireTime on the user's role bindings" });
  return out;
};

const rules = async (draft: JsonObject, context: RuleContext): Promise<Violation[]> => {
  const { before, rows, nowMs, isUndelete } = context;
  if (!before && !isUndelete) draft.lastSeenTime = timestamp(nowMs);
  if (text(draft, "uid").length === 40) return personViolations(draft);
  const violations = relationshipViolations(draft, context);
  const ends = endProblem(draft, before, nowMs);
  if (ends !== undefined) violations.push({ field: "expireTime", description: ends });
  if (violations.length > 0 || !before) return violations;
  const reassigned = relationships.some((name) => JSON.stringify(draft[name]) !== JSON.stringify(before[name]));
  if (!reassigned && endOf(draft) <= endOf(before)) return [];
  // decisions: Access. Changing who can assume this identity, or for how long, grants all its permissions, even those of an expired
  // identity.
  for (const { standing, capabilities, path, endMs } of (await loadBindings(rows, text(draft, "uid"), nowMs)).bindings)
    if (standing === "counts") context.delegate({ rights: [{ capabilities: [...capabilities], path }], untilMs: Math.min(endMs, endOf(draft)) });
  return [];
};

/** decisions: Access. A user is visible to itself, and to callers who may list identities where it has a binding and accepted membership (0067). */
const alsoVisible = ({ rights, rows, visiblePaths: reach, only }: VisibilityQuery): Promise<string[]> => findBoundPeople(rows, reach, rights.uid, only);

const lookupIdentity = async ({ services, request }: ReadContext): Promise<Outcome> => ({
  reply: { uid: services.authn.personUid(text(request, "issuer"), text(request, "subject")) },
});

/** Adds a warning if unrelated keysByCaller could assume the identity (attack 27). */
const warned = (outcome: Outcome): Outcome => {
  const warning = isObject(outcome.reply.claimMatch) ? widthWarning(outcome.reply.claimMatch) : undefined;
  return warning === undefined ? outcome : { ...outcome, headers: { ...outcome.headers, "gantry-warning": warning } };
};

export const identity = resource({
  service: "chainguard.platform.iam.v2.IdentitiesService",
  message: "chainguard.platform.iam.v2.Identity",
  table: "identities",
  rules,
  alsoVisible,
  sideTables: [
    { table: "profiles", column: "identity_uid" },
    { table: "identity_metadata", column: "uid" },
    { table: "group_access_requests", column: "identity_uid", isDeletedForGood: true },
    // A returning user must accept again (docs/decisions/0067).
    { table: "memberships", column: "identity_uid", isDeletedForGood: true },
    { table: "membership_declines", column: "identity_uid", isDeletedForGood: true },
  ],
  methods: {
    CreateIdentity: { writes: async (context) => warned(await create(boundOf(context, "chainguard.platform.iam.v2.Identity"))(context)) },
    UpdateIdentity: { writes: async (context) => warned(await update(boundOf(context, "chainguard.platform.iam.v2.Identity"))(context)) },
    LookupIdentity: { reads: lookupIdentity },
    UpdateIdentityMetadata: { writes: updateMetadata },
  },
});
