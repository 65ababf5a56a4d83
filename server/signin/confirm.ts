// Whether a form was sent from the page that this browser was shown, and not by a page of somebody else's that it has
// open too (RFC 6749, 10.12). The page's form carries a hash over what it asks and over a cookie that no other site can
// read, set or have sent along; beside that, the browser itself says from where a form comes.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { limits } from "#base/limits.ts";
import type { SignInParts } from "./parts.ts";
import type { Asked, Shown } from "./shown.ts";

type Place = Pick<SignInParts, "publicUrl">;

const isSecure = ({ publicUrl }: Place): boolean => publicUrl.startsWith("https:");

/** A name that only this very host can set, where that can be had. */
const cookieName = (place: Place): string => (isSecure(place) ? "__Host-gantry-confirm" : "gantry-confirm");

const cookieOf = (place: Place, { headers }: Asked): string | undefined => {
  const start = `${cookieName(place)}=`;
  const values = (headers.cookie ?? "").split(";").map((pair) => pair.trim()).filter((pair) => pair.startsWith(start));
  const [value = ""] = values.map((pair) => pair.slice(start.length));
  return values.length === 1 && /^[A-Za-z0-9_-]{43}$/.test(value) ? value : undefined;
};

const proofOf = (cookie: string, about: string): string => createHash("sha256").update(`${cookie} ${about}`).digest("base64url");

/** What the form carries as `proof`, and the cookie that goes with it. `about` is all that is confirmed. */
export const proofFor = (place: Place, asked: Asked, about: string): { readonly proof: string; readonly cookie: string } => {
  // The one that it has: the same person may have two of these pages open.
  const value = cookieOf(place, asked) ?? randomBytes(32).toString("base64url");
  const attributes = `Path=/; Max-Age=${limits.deviceCodeLifetimeMs / 1000}; HttpOnly; SameSite=Strict${isSecure(place) ? "; Secure" : ""}`;
  return { proof: proofOf(value, about), cookie: `${cookieName(place)}=${value}; ${attributes}` };
};

/** True where the form comes from the page that this browser was shown about this. */
export const isConfirmed = (place: Place, asked: Asked, about: string): boolean => {
  const { origin } = asked.headers;
  if (origin !== undefined && origin !== new URL(place.publicUrl).origin) return false;
  const cookie = cookieOf(place, asked);
  const given = Buffer.from(asked.form.get("proof") ?? "");
  const expected = Buffer.from(cookie === undefined ? "" : proofOf(cookie, about));
  return cookie !== undefined && given.length === expected.length && timingSafeEqual(given, expected);
};

/** A page whose forms say from where they come: with no referrer at all, browsers hide a form's origin too. */
export const asking = (shown: Shown, cookie = ""): Shown => ({
  ...shown,
  headers: { ...shown.headers, "referrer-policy": "same-origin", ...(cookie ? { "set-cookie": cookie } : {}) },
});
