// An identity: a person (root-level uid, made by signing in), or something that a token of another issuer may act as.

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
  // What is wrong with it as a pattern is told first.
  const unbounded = pattern === "" || out.some(({ field }) => field === "claimMatch.issuerPattern") ? undefined : services.authn.issuerPatternProblem(pattern);
  return unbounded === undefined ? out : [...out, { field: "claimMatch.issuerPattern", description: unbounded }];
};

const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "k"];

/**
 * A text that is no key set is stored as it is given: public clients store placeholders, and the exchange says that nobody
 * can act by it (server/authn/foreign-tokens.ts). A private key is a secret that must not lie there.
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
  // resources: Identities. 365 days at most, and when nothing is said.
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
  // decisions: Access. Whoever decides who may act as this identity, or for how long, hands out all that it may do: what it is
  // bound to, also where its own end has passed.
  for (const { standing, capabilities, path, endMs } of (await loadBindings(rows, text(draft, "uid"), nowMs)).bindings)
    if (standing === "counts") context.handOn({ rights: [{ capabilities: [...capabilities], path }], untilMs: Math.min(endMs, endOf(draft)) });
  return [];
};

/** decisions: Access. A person is visible to itself, and to whoever may list identities where it is bound and has agreed to belong (0021). */
const alsoVisible = ({ rights, rows, visiblePaths: reach, only }: VisibilityQuery): Promise<string[]> => findBoundPeople(rows, reach, rights.uid, only);

const lookupIdentity = async ({ services, request }: ReadContext): Promise<Outcome> => ({
  reply: { uid: services.authn.personUid(text(request, "issuer"), text(request, "subject")) },
});

/** The same outcome; where strangers could act as the identity, with a word about it (attack 27). */
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
    // A person who comes back is asked again (docs/decisions/0021).
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
