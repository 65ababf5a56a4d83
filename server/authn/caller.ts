// Who is asking, as the modules above see it.

import type { JsonObject } from "#base/json.ts";
import type { RegistryAccess } from "#base/registry-access.ts";
import { claimOf, isClean, type Token } from "./token.ts";

/** How it is with SCIM where a SCIM token is good. */
export interface ScimState {
  /** The provider's organization is suspended. */
  readonly isClosed: boolean;
}

/** Frozen, and the same object for every request with the same token: rights are cached by it. */
export interface Caller {
  /** The identity that acts. Whether it still exists is asked by the kernel, with every request. */
  readonly uid: string;
  readonly expireTimeMs: number;
  readonly issueTimeMs: number;
  readonly issuer: string;
  readonly subject: string;
  readonly audience: readonly string[];
  /** What the upstream token said: iss, sub, aud, and email where it was verified. For events. */
  readonly act: Readonly<Record<string, string>> | undefined;
  /** The token may use these capabilities only; undefined: all that the identity has. */
  readonly capabilities: readonly string[] | undefined;
  /** The token may act in and below these groups only; undefined: everywhere. */
  readonly scopes: readonly string[] | undefined;
  readonly email?: string;
  /** The sign-in that the token came from, where that gives rights of its own (resources: ExternalGroupRoleMappings). */
  readonly session?: string;
  /** The authorization code that the token came from: it may be taken back (docs/decisions/0050). */
  readonly grant?: string;
  /** The token is a registry token, and permits no more than this. */
  readonly registry?: RegistryAccess;
  /** It is an identity provider, by its SCIM token, of which this is the SHA-256: no identity, and without any right but that. */
  readonly scim?: ScimState & { readonly tokenHash: string };
}

/** The caller, frozen with its lists. */
export const freezeCaller = (caller: Caller): Caller => {
  for (const part of [caller.audience, caller.act, caller.capabilities, caller.scopes]) if (part !== undefined) Object.freeze(part);
  return Object.freeze(caller);
};

/** A token's e-mail address, only where its issuer says that it verified it: events show it as the actor's. */
export const verifiedEmailOf = (claims: JsonObject): { readonly email?: string } => {
  const email = claimOf(claims, "email");
  const verified = claimOf(claims, "email_verified");
  const isVerified = verified === true || verified === "true";
  return isVerified && typeof email === "string" && email !== "" && isClean(email) ? { email } : {};
};

/** When the token says that it was issued; its expiry where it does not say. */
export const issueTimeOf = (token: Token): number => {
  const issued = claimOf(token.claims, "iat");
  return typeof issued === "number" ? issued * 1000 : token.expireTimeMs;
};

/** What stays known of an upstream token in what we issue for it (authentication.md: 2, claim act). */
export const actClaimOf = (token: Token): Readonly<Record<string, string>> => ({
  iss: token.issuer,
  sub: token.subject,
  aud: token.audience.join(","),
  ...verifiedEmailOf(token.claims),
});
