// A group's document (RFC 7643, 4.2): parsing and display. Members are separate rows. Pure.

import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import type { ScimGroupRow, ScimMember } from "#iam/store";
import { idOf, invalidAttribute, type ReadDocument, readScimDocument, requireName, serversOwn, weakVersionOf, withMeta } from "./document.ts";
import { valueNamed } from "./names.ts";
import { groupAttributes, groupSchema } from "./schemas.ts";
import { type Shown, withShown } from "./shown.ts";

export interface ReadGroup extends ReadDocument {
  /** In lower case. */
  readonly displayName: string;
  /** The name that mappings use. */
  readonly mappedAs: string;
}

const leftOut: ReadonlySet<string> = new Set([...serversOwn, "members"]);

/** Parses a group's document, without its members; throws 400 invalidValue. */
export const readGroup = (sent: JsonObject): ReadGroup => {
  const { document, externalId } = readScimDocument(sent, groupSchema, groupAttributes, leftOut);
  const displayName = text(document, "displayName").trim();
  if (displayName === "") throw invalidAttribute("displayName", "is required");
  requireName("displayName", displayName);
  return { document, externalId, displayName: displayName.toLowerCase(), mappedAs: externalId ?? displayName };
};

/** Returns the IDs in a list of members, or in a single one; throws 400 invalidValue. */
export const memberIdsOf = (members: Json | undefined): string[] => {
  const list = members === undefined || members === null ? [] : Array.isArray(members) ? members : [members];
  return list.map((each) => {
    const id = isObject(each) ? valueNamed(each, "value") : each;
    if (typeof id !== "string" || !/^[0-9a-f]{16}$/.test(id)) throw invalidAttribute("members", "must be a list of objects with the ID of a user as value");
    return id;
  });
};

/** Returns the group with these members in SCIM's form. `base`: the provider's SCIM base URL. */
export const shownGroup = (row: ScimGroupRow, members: readonly ScimMember[], base: string, shown: Shown): JsonObject => {
  const list = members.map(({ userUid }): JsonObject => ({ value: idOf(userUid), $ref: `${base}/Users/${idOf(userUid)}` }));
  return withShown(withMeta(row, "Group", base, weakVersionOf(row), list.length > 0 ? { members: list } : {}), shown);
};
