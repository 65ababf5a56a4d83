// Sessions: sign-ins with rights of their own, from the groups that the provider says a person is in (resources:
// ExternalGroupRoleMappings). A session's rights are added to the person's, for the tokens of this sign-in alone, and
// end with it; a sign-in to which no mapping applies needs none. What a session gives is read with every request
// (withSession of server/authz/rights.ts), so that a mapping that is deleted gives nothing from then on.

import { randomBytes } from "node:crypto";
import { insertSession } from "#iam/store";
import type { Write } from "#db";

export interface NewSession {
  readonly identity: string;
  readonly identityProvider: string;
  /** As the provider names them. Those that no mapping names are not stored. */
  readonly groups: readonly string[];
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  readonly untilMs: number;
  /** SCIM has announced the person: a group may be theirs later. */
  readonly isProvisioned?: boolean;
}

/**
 * The id of a new session; undefined where no mapping of the provider names one of the groups. Of somebody whom SCIM has announced there
 * is one where the provider has any mapping.
 */
export const openSession = async (
  rows: Write,
  { identity, identityProvider, groups, nowMs, untilMs, isProvisioned = false }: NewSession,
): Promise<string | undefined> => {
  if (groups.length === 0 && !isProvisioned) return undefined;
  const id = randomBytes(16).toString("hex");
  const session = { id, identityUid: identity, identityProviderUid: identityProvider, groups, createTimeMs: nowMs, expireTimeMs: untilMs };
  return (await insertSession(rows, session, isProvisioned)) ? id : undefined;
};
