// A user's document (RFC 7643, 4.1): parsing and display. Passwords are never stored. Pure.

import { createHash } from "node:crypto";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { GroupOfScimUser, ScimUserKeys, ScimUserRow } from "#iam/store";
import { documentOf, idOf, invalidAttribute, type ReadDocument, readScimDocument, requireName, serversOwn, weakVersionOf, withMeta } from "./document.ts";
import { userAttributes, userSchema } from "./schemas.ts";
import { type Shown, withShown } from "./shown.ts";

export interface ReadUser extends ScimUserKeys, ReadDocument {
  /** Undefined if absent. */
  readonly active: boolean | undefined;
}

const leftOut: ReadonlySet<string> = new Set([...serversOwn, "groups"]);

/** Parses a user's document; throws 400 invalidValue. */
export const readUser = (sent: JsonObject): ReadUser => {
  const { document, externalId } = readScimDocument(sent, userSchema, userAttributes, leftOut);
  const userName = text(document, "userName").trim();
  if (userName === "") throw invalidAttribute("userName", "is required");
  const displayName = text(document, "displayName");
  const sentEmails = Array.isArray(document.emails) ? document.emails : [];
  const emails = sentEmails.flatMap((each) => (isObject(each) ? text(each, "value") : [])).filter((each) => each !== "");
  if (emails.length > limits.scimEmailsMax) throw invalidAttribute("emails", `must be at most ${limits.scimEmailsMax}`);
  requireName("userName", userName);
  requireName("displayName", displayName);
  for (const each of emails) requireName("emails.value", each);
  return {
    externalId,
    active: typeof document.active === "boolean" ? document.active : undefined,
    userName: userName.toLowerCase(),
    displayName: displayName.toLowerCase(),
    emails: [...new Set(emails.map((each) => each.toLowerCase()))],
    document,
  };
};

const shownGroupsOf = (groups: readonly GroupOfScimUser[], base: string): JsonObject[] =>
  groups.map((each) => ({ value: idOf(each.groupUid), $ref: `${base}/Groups/${idOf(each.groupUid)}`, display: text(documentOf(each), "displayName") }));

/** Returns the version including groups, which change without their users' rows. In If-Match, only the row's part counts. */
const versionWith = (row: ScimUserRow, groups: readonly JsonObject[]): string =>
  groups.length === 0 ? weakVersionOf(row) : `W/"${row.version}-${createHash("sha256").update(JSON.stringify(groups)).digest("hex").slice(0, 8)}"`;

export const userVersionOf = (row: ScimUserRow, groups: readonly GroupOfScimUser[], base: string): string => versionWith(row, shownGroupsOf(groups, base));

/** Reduces an If-Match to versions of users' rows. */
export const rowVersionsIn = (ifMatch: string): string => ifMatch.replace(/-[0-9a-f]{8}(?=")/g, "");

/** Returns the user with these groups in SCIM's form. `base`: the provider's SCIM base URL. */
export const shownUser = (row: ScimUserRow, groups: readonly GroupOfScimUser[], base: string, shown: Shown): JsonObject => {
  const own = shownGroupsOf(groups, base);
  return withShown(withMeta(row, "User", base, versionWith(row, own), own.length > 0 ? { groups: own } : {}), shown);
};
