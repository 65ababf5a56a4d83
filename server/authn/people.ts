// UIDs of users, which follow from issuer and subject even before registration (capabilities-and-roles.md: 7).

import { createHash } from "node:crypto";

// Google signs with and without the scheme; this is the only normalization (authentication.md: 5).
const googleSpellings = new Map([["accounts.google.com", "https://accounts.google.com"]]);

/** Returns the canonical spelling of an issuer. */
export const normalIssuer = (issuer: string): string => googleSpellings.get(issuer) ?? issuer;

/** Returns every spelling of the issuer that rows may hold. */
export const issuerSpellingsOf = (issuer: string): string[] => {
  const normal = normalIssuer(issuer);
  return [normal, ...[...googleSpellings].filter(([, meant]) => meant === normal).map(([spelling]) => spelling)];
};

/**
 * Returns the UID of a user: 20 bytes of SHA-256 over issuer and subject. Length prefixes keep ("https://a", "bc") and ("https://ab",
 * "c") distinct, or one issuer could impersonate users of another.
 */
export const personUid = (issuer: string, subject: string): string => {
  const hash = createHash("sha256");
  for (const part of [normalIssuer(issuer), subject]) {
    const bytes = Buffer.from(part, "utf8");
    hash.update(`${bytes.length}:`).update(bytes);
  }
  return hash.digest("hex").slice(0, 40);
};
