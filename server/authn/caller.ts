// The authenticated caller of a request.

import type { JsonObject } from "#base/json.ts";
import type { RegistryAccess } from "#base/registry-access.ts";
import { claimOf, isClean, type Token } from "./token.ts";

/** State of a valid SCIM token's organization. */
export interface ScimState {
  readonly isClosed: boolean;
}

/** Frozen, and identical for all requests with the same token, because it is the key of the permission cache. */
export interface Caller {
  /** The acting identity. The kernel checks on every request that it exists. */
  readonly uid: string;
  readonly expireTimeMs: number;
  readonly issueTimeMs: number;
  readonly issuer: string;
  readonly subject: string;
  readonly audience: readonly string[];
  /** Claims of the upstream token, for events: iss, sub, aud, and email if verified. */
  readonly act: Readonly<Record<string, string>> | undefined;
  /** Capabilities that limit the token; undefined: no limit. */
  readonly capabilities: readonly string[] | undefined;
  /** Groups that limit the token, with their subtrees; undefined: no limit. */
  readonly scopes: readonly string[] | undefined;
  readonly email?: string;
  /** Sign-in with permissions from groups (resources: ExternalGroupRoleMappings). */
  readonly session?: string;
  /** Session of the token, which can be revoked (docs/decisions/0050, 0066). */
  readonly grant?: string;
  /** Access of a registry token; no other permissions apply. */
  readonly registry?: RegistryAccess;
  /** The caller is an identity provider with a SCIM token, of which this is the SHA-256. It has no other permissions. */
  readonly scim?: ScimState & { readonly tokenHash: string };
}

/** Freezes the caller and its lists. */
export const freezeCaller = (caller: Caller): Caller => {
  for (const part of [caller.audience, caller.act, caller.capabilities, caller.scopes]) if (part !== undefined) Object.freeze(part);
  return Object.freeze(caller);
};

/** Returns the email claim only if the issuer has verified it, because events show it as the actor's. */
export const verifiedEmailOf = (claims: JsonObject): { readonly email?: string } => {
  const email = claimOf(claims, "email");
  const verified = claimOf(claims, "email_verified");
  const isVerified = verified === true || verified === "true";
  return isVerified && typeof email === "string" && email !== "" && isClean(email) ? { email } : {};
};

/** Returns the time of issue in milliseconds since 1970; the expiry if the token lacks it. */
export const issueTimeOf = (token: Token): number => {
  const issued = claimOf(token.claims, "iat");
  return typeof issued === "number" ? issued * 1000 : token.expireTimeMs;
};

/** Returns the claim `act` of tokens issued for an upstream token (authentication.md: 2). */
export const actClaimOf = (token: Token): Readonly<Record<string, string>> => ({
  iss: token.issuer,
  sub: token.subject,
  aud: token.audience.join(","),
  ...verifiedEmailOf(token.claims),
});
