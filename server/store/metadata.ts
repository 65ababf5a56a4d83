// What people say about themselves (resources: IdentityMetadata), beside what their issuers say of them.

import type { Write } from "./handle.ts";

export interface Person {
  readonly name: string;
  readonly givenName: string;
  readonly familyName: string;
  /** A JSON object: the fields that the person set. */
  readonly said: string;
}

/** The person of that uid, kept from being changed by others until the transaction ends. */
export const lockPerson = async (rows: Write, uid: string): Promise<Person | undefined> => {
  const [row] = await rows.query(
    `select identity.name, profile.name, profile.given_name, profile.family_name, metadata.said
     from identities as identity
     left join profiles as profile on profile.identity_uid = identity.uid
     left join identity_metadata as metadata on metadata.uid = identity.uid
     where identity.uid = $1 for update of identity`,
    [uid],
  );
  if (!row) return undefined;
  const [name, fullName, givenName, familyName, said] = row;
  return { name: fullName || (name ?? ""), givenName: givenName ?? "", familyName: familyName ?? "", said: said ?? "{}" };
};

export const writeSaid = async (rows: Write, uid: string, said: string): Promise<void> => {
  await rows.query("insert into identity_metadata (uid, said) values ($1, $2) on conflict (uid) do update set said = excluded.said", [uid, said]);
};
