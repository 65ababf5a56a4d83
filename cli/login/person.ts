// Displays a signed-in user by name and e-mail address, or by uid if neither is known.

import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { visibleText } from "#base/html.ts";
import { limits } from "#base/limits.ts";
import { isUid, rootOf } from "#base/uid.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { type Issuer, requestJson } from "./issuer-client.ts";

/** Returns the token's claims; verification is left to the server. */
export const unverifiedClaims = (token: string): JsonObject => {
  try {
    const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8")) as Json;
    return isObject(claims) ? claims : {};
  } catch {
    return {};
  }
};

/** Returns "Ada Lovelace (ada@example.org)". A bare name is followed by its provider, because users choose names freely. */
export const personText = (whoAmI: JsonObject, claims: JsonObject): string => {
  const act = part(claims, "act");
  const shown = (value: string): string => visibleText(value, limits.shownNameLengthMax);
  const name = shown(text(part(whoAmI, "profile"), "name"));
  // The longest valid address.
  const email = visibleText(text(whoAmI, "email") || text(claims, "email") || text(act, "email"), limits.emailLengthMax);
  if (email !== "") return name === "" || name === email ? email : `${name} (${email})`;
  const called = name || shown(text(act, "sub"));
  if (called === "") return shown(text(whoAmI, "subject") || text(claims, "sub"));
  const issuer = text(act, "iss");
  return issuer === "" ? called : `${called}, through ${shown(URL.parse(issuer)?.host || issuer)}`;
};

/** Returns the server's description of the token's identity; undefined if the server rejects it, such as for another audience. */
export const fetchWhoAmI = async (server: string, token: string, stop: AbortSignal): Promise<JsonObject | undefined> => {
  const response = await requestJson(`${withoutTrailing(server, "/")}/auth/v1/ok`, stop, { token }).catch(() => undefined);
  return response?.status === 200 ? response.body : undefined;
};

/** Returns the display name; falls back to the token's claims if the server rejects it. */
export const fetchPerson = async (issuer: Issuer, token: string, stop: AbortSignal): Promise<string> =>
  personText((await fetchWhoAmI(issuer.url, token, stop)) ?? {}, unverifiedClaims(token));

/** Returns the uids of organizations in which the token has permissions. */
export const organizationsOf = (whoAmI: JsonObject): string[] => [
  ...new Set(
    objectList(whoAmI, "capabilities")
      .map((each) => text(part(each, "group"), "id"))
      .filter(isUid)
      .map(rootOf),
  ),
];
