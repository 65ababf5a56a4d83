// What SCIM gives a person and takes away again, and who may not sign in because of it (docs/decisions/0053). A person whom the
// provider announces has its default role, as by a sign-in through it; who is not active any more has nothing at its group or below
// it, nor anything that a sign-in through it gave. Rights elsewhere are others' to give, and stay.

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

/** As much of a provider as gives its default role. */
type RoleGiver = Pick<Provider, "parent" | "defaultRole">;

/** Binds the person to the provider's default role, unless it is bound already or the role is gone. */
export const makeDefaultBinding = async (context: ChangeContext, { parent, defaultRole: roleUid }: RoleGiver, identityUid: string): Promise<void> => {
  const isThere = builtInRoleUids.includes(roleUid) || (await lockRow(context.rows, { name: "roles", columns: ["uid"] }, roleUid, "key share"));
  if (!isThere) return;
  const wanted = { kind: "create", parent, body: { identityUid, roleUid }, unlessTaken: true } as const;
  await change(context, boundOf(context, "chainguard.platform.iam.v2.RoleBinding"), wanted, "row");
};

/** What SCIM does was allowed to whoever switched it on (RIGHTS_HANDED_ON_SCIM), and its default role to whoever chose that. */
const asAllowed = (context: ChangeContext): ChangeContext => ({ ...context, require: () => {}, handOn: () => {} });

/** Gives an active user's person the default role. */
export const giveProvisionedRole = (context: ChangeContext, provider: RoleGiver, identityUid: string): Promise<void> =>
  makeDefaultBinding(asAllowed(context), provider, identityUid);

/**
 * Ends the person's role bindings at the provider's group and below it, whoever gave them, and the sessions and refresh tokens of sign-ins
 * through the provider. Throws FAILED_PRECONDITION where that would leave the organization without an owner from outside.
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
 * Refuses whom SCIM has deactivated or removed at this provider, and keeps it so until the transaction ends that nobody is: sign-ins,
 * and whatever gives tokens for one. "active": SCIM has announced the person.
 */
export const requireNotDeactivated = async (rows: Write, providerUid: string, identityUid: string): Promise<"active" | undefined> => {
  const standing = await lockScimStanding(rows, providerUid, identityUid);
  if (standing === "inactive" || standing === "removed") throw denied("Permission denied: the identity provider has deactivated this account");
  return standing;
};

/**
 * Refuses a person who does not belong to the identity provider's organization, or whom it has deactivated: an exchange brings nobody in,
 * a sign-in does.
 */
export const requireMemberThrough = async (rows: Write, providerUid: string, identityUid: string): Promise<void> => {
  await requireNotDeactivated(rows, providerUid, identityUid);
  const found = await findPersonOrganization(rows, identityUid, rootOf(providerUid));
  if (found?.acceptTime === undefined) throw new Fault("NOT_FOUND", "account not found, registration required: sign in through the identity provider first");
};

/** SCIM knows the provider's people by the claim `oid`, and not by their subjects (contract: CorrelationRule). */
export const isKnownByOid = ({ oidc }: Pick<Provider, "oidc">): boolean => oidc.correlationRule === "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID";

/**
 * What SCIM has to say of a person's sign-in through this provider. Throws PERMISSION_DENIED for whom it has deactivated or removed.
 * Whoever comes by an external id is whom it stands for from now on: with another client id, people come with other identities for the same
 * `oid`, and what SCIM ends later must be theirs (attack 203). What the one of before had ends; an active one has the default role.
 */
export const checkProvisioning = async (
  context: ChangeContext,
  provider: Provider,
  identityUid: string,
  externalId: string,
): Promise<{ readonly isProvisioned: boolean }> => {
  const { rows } = context;
  await lockScimPerson(rows, provider.uid, externalId);
  // By its subject a person has one identity, as long as the provider has its issuer, which it keeps (attack 207).
  const isByOid = isKnownByOid(provider);
  if (isByOid) await writeScimArrival(rows, provider.uid, externalId, identityUid);
  const known = isByOid ? await writeScimIdentity(rows, provider.uid, externalId, identityUid) : undefined;
  const standing = await requireNotDeactivated(rows, provider.uid, identityUid);
  if (known?.before !== undefined) await endProvisionedAccess(context, provider, known.before);
  if (known && standing === "active") await giveProvisionedRole(context, provider, identityUid);
  return { isProvisioned: standing === "active" };
};
