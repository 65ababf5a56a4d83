// Table identity_metadata: profile fields that users set themselves.

import type { JsonObject } from "#base/json.ts";
import { columns, expression, nullableObject, text, time, type Write } from "#db";

export interface PersonWithMetadata {
  readonly name: string;
  readonly givenName: string;
  readonly familyName: string;
  readonly metadata: JsonObject;
  readonly createTime: string;
  /** The creation time if there was no change. */
  readonly updateTime: string;
}

const person = columns({
  identityName: expression("identity.name", text),
  fullName: expression("profile.name", text),
  givenName: expression("profile.given_name", text),
  familyName: expression("profile.family_name", text),
  metadata: expression("metadata.said", nullableObject),
  createTime: time("identity.create_time"),
  updateTime: time("coalesce(metadata.update_time, identity.create_time)"),
});

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
  const { identityName, fullName, metadata, ...rest } = found;
  return { ...rest, name: fullName || identityName, metadata: metadata ?? {} };
};

const said = columns({ updateTime: time("update_time") });

/** Returns the update time. */
export const writeIdentityMetadata = async (rows: Write, uid: string, metadata: JsonObject, nowMs: number): Promise<string> => {
  const written = await said.findOne(
    rows,
    `insert into identity_metadata as held (uid, said, update_time) values ($1, $2, $3)
     on conflict (uid) do update set said = excluded.said, update_time = greatest(excluded.update_time, held.update_time + interval '1 ms')
     returning ${said.list}`,
    [uid, JSON.stringify(metadata), new Date(nowMs).toISOString()],
  );
  return written?.updateTime ?? "";
};
