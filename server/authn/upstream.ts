// A user according to an issuer's verified claims. Texts reach rows, events and responses, so each is clean and bounded, or omitted.

import { unauthenticated } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { verifiedEmailOf } from "./caller.ts";
import { normalIssuer } from "./people.ts";
import { claimOf, isClean } from "./token.ts";

export interface Upstream {
  /** Canonical (people.ts). */
  readonly issuer: string;
  readonly subject: string;
  /** Only if the issuer has verified it. */
  readonly email?: string;
  readonly name?: string;
  readonly givenName?: string;
  readonly familyName?: string;
  readonly picture?: string;
  readonly audience?: string;
}

const profileClaims = { name: "name", given_name: "givenName", family_name: "familyName", picture: "picture" } as const;

/** Returns the user of verified claims. Throws UNAUTHENTICATED without a valid subject. */
export const upstreamOf = (issuer: string, subject: string, audience: readonly string[], claims: JsonObject): Upstream => {
  if (subject === "" || subject.length > limits.subjectLengthMax || !isClean(subject))
    throw unauthenticated(`the token's subject must be a printable text of at most ${limits.subjectLengthMax} characters`);
  const profile: Partial<Record<(typeof profileClaims)[keyof typeof profileClaims], string>> = {};
  for (const [claim, key] of Object.entries(profileClaims)) {
    const value = claimOf(claims, claim);
    if (typeof value === "string" && value.length <= limits.profileLengthMax && isClean(value)) profile[key] = value;
  }
  const { email } = verifiedEmailOf(claims);
  return {
    issuer: normalIssuer(issuer),
    subject,
    audience: audience.join(","),
    ...(email !== undefined && email.length <= limits.emailLengthMax ? { email } : {}),
    ...profile,
  };
};
