// Table profiles: the latest user profiles from issuers.

import { columns, expression, type Read, text, type Write } from "#db";

/** Unknown fields are "". */
export interface Profile {
  readonly name: string;
  readonly givenName: string;
  readonly familyName: string;
  readonly picture: string;
}

const profile = columns<Profile & { readonly email: string }>({
  email: text,
  name: expression("profile.name", text),
  givenName: text,
  familyName: text,
  picture: text,
});

export const findProfile = async (rows: Read, identityUid: string): Promise<Profile & { readonly email: string }> => {
  const statement = `select ${profile.list} from identities left join profiles as profile on identity_uid = uid where uid = $1`;
  return (await profile.findOne(rows, statement, [identityUid])) ?? profile.read([]);
};

export const writeProfile = async (rows: Write, identityUid: string, { name, givenName, familyName, picture }: Profile): Promise<void> => {
  await rows.query(
    `insert into profiles (identity_uid, name, given_name, family_name, picture) values ($1, $2, $3, $4, $5)
     on conflict (identity_uid) do update
     set name = excluded.name, given_name = excluded.given_name, family_name = excluded.family_name, picture = excluded.picture`,
    [identityUid, name, givenName, familyName, picture],
  );
};
