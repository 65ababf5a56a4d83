// People's identities have a uid that anyone can compute from whom their upstream says they are
// (capabilities-and-roles.md: 7), also before they are registered.

import { createHash } from "node:crypto";

// Google signs with and without the scheme; the only normalization there is (authentication.md: 5).
const googleSpellings = new Map([["accounts.google.com", "https://accounts.google.com"]]);

/** The one spelling of an issuer. Anything but Google's two is itself. */
export const normalIssuer = (issuer: string): string => googleSpellings.get(issuer) ?? issuer;

/** Every spelling of that issuer, as rows may hold it. */
export const issuerSpellingsOf = (issuer: string): string[] => {
  const normal = normalIssuer(issuer);
  return [normal, ...[...googleSpellings].filter(([, meant]) => meant === normal).map(([spelling]) => spelling)];
};

/**
 * The uid of the person of that issuer and subject: 20 bytes of SHA-256 over both. Each is preceded by its length,
 * because without it ("https://a", "bc") and ("https://ab", "c") would be one person: whoever runs one issuer could
 * then sign in as somebody of another.
 */
export const personUid = (issuer: string, subject: string): string => {
  const hash = createHash("sha256");
  for (const part of [normalIssuer(issuer), subject]) {
    const bytes = Buffer.from(part, "utf8");
    hash.update(`${bytes.length}:`).update(bytes);
  }
  return hash.digest("hex").slice(0, 40);
};
