// A sign-in as an event of each organization in which it gives rights, so that whoever watches over one sees who signs
// in, and nobody else's people. The events are internal: no subscription receives them.

import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { RequestSource } from "#base/origin.ts";
import { isRoot, parentOf } from "#base/uid.ts";
import { findOrganizationRights, type Write } from "#store";
import { record } from "./record.ts";

export interface SignIn {
  /** Whom the token acts as. */
  readonly identity: string;
  /** Who made it, where that is not the identity itself. */
  readonly caller?: string;
  /** Claims of the token that was presented: iss, sub, aud, email. */
  readonly act: Readonly<Record<string, string>> | undefined;
  /** The session that carries what a provider's groups give. */
  readonly session?: string | undefined;
  /** Full name of the operation, or the path or command. */
  readonly operation: string;
  readonly requestSource: RequestSource;
  readonly time: string;
}

export const signedInType = "dev.gantry.auth.signed_in.v1";

/** Writes an event for each organization, in the transaction of whatever else the sign-in writes. */
export const recordSignIn = async (
  rows: Write,
  source: string,
  { identity, caller = identity, act, session, operation, requestSource, time }: SignIn,
): Promise<void> => {
  const limit = { bindingsMax: limits.reasonGrantsMax, organizationsMax: limits.signInOrganizationsMax };
  const rights = await findOrganizationRights(rows, identity, time, session ?? "", limit);
  // An identity of a group has rights there and below only. Who has none anywhere is logged at their own uid, for the
  // operator.
  const paths =
    isRoot(identity) && rights.length > 0
      ? rights.map(({ root, bindings }) => ({ path: root, bindings }))
      : [{ path: isRoot(identity) ? identity : parentOf(identity), bindings: rights.flatMap(({ bindings }) => bindings) }];
  const actor: JsonObject = { subject: caller, ...(act ? { act: { ...act } } : {}) };
  for (const { path, bindings } of paths) {
    await record(rows, {
      type: signedInType,
      source,
      subject: identity,
      group: path,
      audience: "internal",
      extensions: {},
      actor,
      bodyType: "",
      body: {},
      requestId: requestSource.requestId,
      time,
      auditContext: { operation, bindings, origin: requestSource.origin },
    });
  }
};
