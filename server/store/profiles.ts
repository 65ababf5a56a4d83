// What is shown to whoever asks who they are.

import type { Read } from "./handle.ts";

export interface Profile {
  readonly email: string;
  readonly name: string;
  readonly givenName: string;
  readonly familyName: string;
  readonly picture: string;
}

/** What is known of the identity from its issuer; empty texts where nothing is. */
export const findProfile = async (rows: Read, uid: string): Promise<Profile> => {
  const [row] = await rows.query(
    `select email, profile.name, given_name, family_name, picture from identities
     left join profiles as profile on identity_uid = uid where uid = $1`,
    [uid],
  );
  const [email, name, givenName, familyName, picture] = (row ?? []).map((value) => value ?? "");
  return { email: email ?? "", name: name ?? "", givenName: givenName ?? "", familyName: familyName ?? "", picture: picture ?? "" };
};

export interface KnownRole {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Symbols. */
  readonly capabilities: readonly string[];
}

/** The built-in roles, and those that the identity is bound to. */
export const findKnownRoles = async (rows: Read, identity: string): Promise<KnownRole[]> => {
  const found = await rows.query(
    `select uid, name, description, capabilities from roles
     where length(uid) = 40 or uid in (select role_uid from role_bindings where identity_uid = $1) order by uid desc`,
    [identity],
  );
  return found.map(([id, name, description, capabilities]) => {
    const symbols: unknown = JSON.parse(capabilities ?? "[]");
    return { id: id ?? "", name: name ?? "", description: description ?? "", capabilities: Array.isArray(symbols) ? symbols.map(String) : [] };
  });
};
