// What people say about themselves (resources: IdentityMetadata), beside what their issuers say of them.

import type { JsonObject } from "#base/json.ts";
import { columns, expression, nullableObject, text } from "./columns.ts";
import type { Write } from "./handle.ts";

export interface PersonWithMetadata {
  readonly name: string;
  readonly givenName: string;
  readonly familyName: string;
  /** The fields that the person set. */
  readonly metadata: JsonObject;
}

const person = columns({
  identityName: expression("identity.name", text),
  fullName: expression("profile.name", text),
  givenName: expression("profile.given_name", text),
  familyName: expression("profile.family_name", text),
  metadata: expression("metadata.said", nullableObject),
});

/** The person of that uid, locked until the transaction ends. */
export const lockPerson = async (rows: Write, uid: string): Promise<PersonWithMetadata | undefined> => {
  const found = await person.findOne(
    rows,
    `select ${person.list}
     from identities as identity
     left join profiles as profile on profile.identity_uid = identity.uid
     left join identity_metadata as metadata on metadata.uid = identity.uid
     where identity.uid = $1 for update of identity`,
    [uid],
  );
  if (!found) return undefined;
  const { identityName, fullName, givenName, familyName, metadata } = found;
  return { name: fullName || identityName, givenName, familyName, metadata: metadata ?? {} };
};

/** Stores what a person says, in the place of what is there. */
export const writeIdentityMetadata = async (rows: Write, uid: string, metadata: JsonObject): Promise<void> => {
  await rows.query("insert into identity_metadata (uid, said) values ($1, $2) on conflict (uid) do update set said = excluded.said", [
    uid,
    JSON.stringify(metadata),
  ]);
};
