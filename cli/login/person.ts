// Who has signed in, for the person at the terminal: by name and e-mail address, and by a uid only where nothing else is
// known.

import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { visibleText } from "#base/html.ts";
import { limits } from "#base/limits.ts";
import { isUid, rootOf } from "#base/uid.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { type Issuer, requestJson } from "./issuer-client.ts";

/** The token's claims, unverified: to verify them is the server's business. */
export const unverifiedClaims = (token: string): JsonObject => {
  try {
    const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8")) as Json;
    return isObject(claims) ? claims : {};
  } catch {
    return {};
  }
};

/** "Ada Lovelace (ada@example.org)"; a name alone is anybody's to choose, so the provider that says it stands beside it. */
export const personText = (whoAmI: JsonObject, claims: JsonObject): string => {
  const act = part(claims, "act");
  const shown = (value: string): string => visibleText(value, limits.shownNameLengthMax);
  const name = shown(text(part(whoAmI, "profile"), "name"));
  // Longer than any address is.
  const email = visibleText(text(whoAmI, "email") || text(claims, "email") || text(act, "email"), limits.emailLengthMax);
  if (email !== "") return name === "" || name === email ? email : `${name} (${email})`;
  const called = name || shown(text(act, "sub"));
  if (called === "") return shown(text(whoAmI, "subject") || text(claims, "sub"));
  const issuer = text(act, "iss");
  return issuer === "" ? called : `${called}, through ${shown(URL.parse(issuer)?.host || issuer)}`;
};

/** What the server says of whoever holds this token; undefined where it does not take it: it may be for another audience. */
export const fetchWhoAmI = async (server: string, token: string, stop: AbortSignal): Promise<JsonObject | undefined> => {
  const response = await requestJson(`${withoutTrailing(server, "/")}/auth/v1/ok`, stop, { token }).catch(() => undefined);
  return response?.status === 200 ? response.body : undefined;
};

/** How the server calls whoever holds this token. A token for another audience is not the server's to look at: then it says so itself. */
export const fetchPerson = async (issuer: Issuer, token: string, stop: AbortSignal): Promise<string> =>
  personText((await fetchWhoAmI(issuer.url, token, stop)) ?? {}, unverifiedClaims(token));

/** Uids of the organizations in which whoever this is may do anything. */
export const organizationsOf = (whoAmI: JsonObject): string[] => [
  ...new Set(
    objectList(whoAmI, "capabilities")
      .map((each) => text(part(each, "group"), "id"))
      .filter(isUid)
      .map(rootOf),
  ),
];
