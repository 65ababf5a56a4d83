// Sessions with permissions from the provider's groups (resources: ExternalGroupRoleMappings), for the tokens of this sign-in only.
// Each request reads the mappings (withSession of server/authz/rights.ts), so a deleted one stops granting at once.

import { randomBytes } from "node:crypto";
import { insertSession } from "#iam/store";
import type { Write } from "#db";

export interface NewSession {
  readonly identity: string;
  readonly identityProvider: string;
  /** Only those with a mapping are stored. */
  readonly groups: readonly string[];
  readonly nowMs: number;
  readonly untilMs: number;
  /** SCIM has provisioned the user, who may get groups later. */
  readonly isProvisioned?: boolean;
}

/**
 * Returns the ID of a new session; undefined if no mapping of the provider names one of the groups. For a provisioned user, any
 * mapping is enough.
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
