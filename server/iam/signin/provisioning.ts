// Effects of SCIM on users and sign-ins (docs/decisions/0053). A provisioned user gets the provider's default role. A deactivated
// user loses role bindings at the provider's group and below, and sessions through the provider. Permissions elsewhere stay.

import { builtInRoleUid, builtInRoleUids } from "#authz";
import { blocked, denied, Fault } from "#base/fault.ts";
import { timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import { boundOf, type ChangeContext, change } from "#kernel";
import {
  deleteRefreshTokensThrough,
  deleteSessionsThrough,
  findPersonOrganization,
  hasOwnersBeside,
  listBindingsBelow,
  lockScimPerson,
  lockScimStanding,
  type Provider,
  writeScimArrival,
  writeScimIdentity,
} from "#iam/store";
import { lockRow, type Write } from "#db";
import { endNamedSession, endSessions, sessionOfFamily } from "./session.ts";

type RoleGiver = Pick<Provider, "parent" | "defaultRole">;

/** Binds the user to the provider's default role, unless bound already or the role was deleted. */
export const makeDefaultBinding = async (context: ChangeContext, { parent, defaultRole: roleUid }: RoleGiver, identityUid: string): Promise<void> => {
  const isThere = builtInRoleUids.includes(roleUid) || (await lockRow(context.rows, { name: "roles", columns: ["uid"] }, roleUid, "key share"));
  if (!isThere) return;
  const wanted = { kind: "create", parent, body: { identityUid, roleUid }, unlessTaken: true } as const;
  await change(context, boundOf(context, "chainguard.platform.iam.v2.RoleBinding"), wanted, "row");
};

/** Enabling SCIM (DELEGATED_RIGHTS_SCIM) and choosing the default role already required the permissions. */
const asAllowed = (context: ChangeContext): ChangeContext => ({ ...context, require: () => {}, delegate: () => {} });

/** Assigns the default role to an active user. */
export const giveProvisionedRole = (context: ChangeContext, provider: RoleGiver, identityUid: string): Promise<void> =>
  makeDefaultBinding(asAllowed(context), provider, identityUid);

/**
 * Deletes the user's role bindings at the provider's group and below, and sessions through the provider. Throws FAILED_PRECONDITION if
 * no owner from outside the provider would remain.
 */
export const endProvisionedAccess = async (context: ChangeContext, provider: Pick<Provider, "uid" | "parent" | "oidc">, identityUid: string): Promise<void> => {
  const { rows, nowMs, services } = context;
  const bindings = await listBindingsBelow(rows, provider.parent, identityUid);
  const people = services.authn.issuerSpellings(provider.oidc.issuer);
  const owner = { group: rootOf(provider.uid), role: builtInRoleUid("owner"), now: timestamp(nowMs) };
  if (bindings.length > 0 && !(await hasOwnersBeside(rows, { ...owner, identityUid, provider: provider.uid, people })))
    throw blocked("SCIM_OWNERS_MISSING", provider.uid, ["the organization would be left without an owner outside this identity provider"]);
  const allowed = asAllowed(context);
  for (const uid of bindings) await change(allowed, boundOf(context, "chainguard.platform.iam.v2.RoleBinding"), { kind: "delete", uid }, "row");
  await deleteSessionsThrough(rows, provider.uid, identityUid);
  for (const { id, client } of await deleteRefreshTokensThrough(rows, provider.uid, identityUid))
    await endNamedSession(rows, sessionOfFamily(id, client), identityUid, nowMs);
  await endSessions(rows, { identityUid, identityProviderUid: provider.uid }, nowMs);
};

/**
 * Locks the user's SCIM state and returns "active" if provisioned. Throws PERMISSION_DENIED if deactivated or removed. Required before
 * sign-ins and issuing tokens.
 */
export const requireNotDeactivated = async (rows: Write, providerUid: string, identityUid: string): Promise<"active" | undefined> => {
  const standing = await lockScimStanding(rows, providerUid, identityUid);
  if (standing === "inactive" || standing === "removed") throw denied("Permission denied: the identity provider has deactivated this account");
  return standing;
};

/** Throws for a deactivated user or a non-member: unlike a sign-in, a token exchange never creates a membership. */
export const requireMemberThrough = async (rows: Write, providerUid: string, identityUid: string): Promise<void> => {
  await requireNotDeactivated(rows, providerUid, identityUid);
  const found = await findPersonOrganization(rows, identityUid, rootOf(providerUid));
  if (found?.acceptTime === undefined) throw new Fault("NOT_FOUND", "account not found, registration required: sign in through the identity provider first");
};

/** Returns whether SCIM identifies the provider's users by the claim `oid` instead of the subject (contract: CorrelationRule). */
export const isKnownByOid = ({ oidc }: Pick<Provider, "oidc">): boolean => oidc.correlationRule === "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID";

/**
 * Applies SCIM's state to a sign-in. Throws PERMISSION_DENIED if the user is deactivated or removed. The external ID then belongs to
 * this identity: with another client ID the same `oid` arrives with another identity, which later deactivations must reach (attack
 * 203). The previous identity loses its access.
 */
export const checkProvisioning = async (
  context: ChangeContext,
  provider: Provider,
  identityUid: string,
  externalId: string,
): Promise<{ readonly isProvisioned: boolean }> => {
  const { rows } = context;
  await lockScimPerson(rows, provider.uid, externalId);
  // With subjects, a user has one identity, because a provider's issuer is immutable (attack 207).
  const isByOid = isKnownByOid(provider);
  if (isByOid) await writeScimArrival(rows, provider.uid, externalId, identityUid);
  const known = isByOid ? await writeScimIdentity(rows, provider.uid, externalId, identityUid) : undefined;
  const standing = await requireNotDeactivated(rows, provider.uid, identityUid);
  if (known?.before !== undefined) await endProvisionedAccess(context, provider, known.before);
  if (known && standing === "active") await giveProvisionedRole(context, provider, identityUid);
  return { isProvisioned: standing === "active" };
};
