// What another issuer says of a person: what is kept of its token's claims once the token is verified. Its texts go
// into rows, events and answers, so each is clean and bounded or left out; without a subject there is nobody.

import { unauthenticated } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { verifiedEmailOf } from "./caller.ts";
import { normalIssuer } from "./people.ts";
import { claimOf, isClean } from "./token.ts";

export interface Upstream {
  /** In its one spelling (people.ts). */
  readonly issuer: string;
  readonly subject: string;
  /** Only where the issuer says that it verified it. */
  readonly email?: string;
  readonly name?: string;
  readonly givenName?: string;
  readonly familyName?: string;
  readonly picture?: string;
  readonly audience?: string;
}

const profileClaims = { name: "name", given_name: "givenName", family_name: "familyName", picture: "picture" } as const;

/** The person whom verified claims speak of. */
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
