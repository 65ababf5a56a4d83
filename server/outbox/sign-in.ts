// A sign-in as one event for all its organizations, each of which sees only its own users (docs/decisions/0067). The audit log has
// an entry for each. Internal: no subscription receives it.

import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { RequestSource } from "#base/origin.ts";
import { ownAudiences } from "#base/own-audiences.ts";
import { isRoot, parentOf, rootOf } from "#base/uid.ts";
import { findBindingUids, findSignInOrganizations } from "#iam/store";
import type { Write } from "#db";
import { type LoggedAt, record } from "./record.ts";

export interface SignIn {
  /** Identity that the token acts as. */
  readonly identity: string;
  /** If it is not the identity. */
  readonly caller?: string;
  /** Claims of the presented token: iss, sub, aud, email. */
  readonly act: Readonly<Record<string, string>> | undefined;
  /** OAuth client of an authorization code: the URL of its document. */
  readonly client?: string | undefined;
  readonly session?: string | undefined;
  /** Identity provider; absent for a token exchange. */
  readonly identityProvider?: string;
  readonly operation: string;
  readonly requestSource: RequestSource;
  readonly time: string;
}

export const signedInType = "dev.gantry.auth.signed_in.v1";

/** `publicUrl` is every token's audience and identifies no organization. */
const findPlaces = async (rows: Write, publicUrl: string, { identity, act, session, identityProvider, time }: SignIn): Promise<LoggedAt[]> => {
  const { iss = "", aud = "" } = act ?? {};
  const own = ownAudiences(publicUrl);
  const providerRoot = rootOf(identityProvider ?? "");
  const source = {
    identity,
    now: time,
    session: session ?? "",
    providerRoot,
    // Google signs with and without the scheme.
    issuers: [iss, `https://${iss}`],
    audiences: aud.split(",").filter((audience) => audience !== "" && !own.includes(audience)),
  };
  const named = (await findSignInOrganizations(rows, source, limits.reasonGrantsMax)).map(
    // Signing in through an organization's provider implies consent. An organization matched only by audience sees the UID.
    ({ root, isMember, bindings }): LoggedAt => ({ path: root, bindings, uidAlone: !isMember && root !== providerRoot }),
  );
  if (isRoot(identity)) return named;
  // A group's identity has permissions only within its organization.
  const home = { path: parentOf(identity), bindings: await findBindingUids(rows, identity, time, limits.reasonGrantsMax), uidAlone: false };
  return [home, ...named.filter(({ path }) => path !== rootOf(identity))];
};

/** Writes the event in the sign-in's transaction. */
export const recordSignIn = async (rows: Write, publicUrl: string, signIn: SignIn): Promise<void> => {
  const { identity, caller = identity, act, client, operation, requestSource, time } = signIn;
  const said = client === undefined ? act : { ...act, client_id: client };
  const actor: JsonObject = { subject: caller, ...(said ? { act: { ...said } } : {}) };
  const loggedAt = await findPlaces(rows, publicUrl, signIn);
  await record(rows, {
    type: signedInType,
    source: publicUrl,
    subject: identity,
    // Without an organization it is logged under the identity's UID, for the operator.
    group: loggedAt.length === 0 ? identity : "",
    audience: "internal",
    extensions: {},
    actor,
    bodyType: "",
    body: {},
    requestId: requestSource.requestId,
    time,
    auditContext: { operation, bindings: [], origin: requestSource.origin, loggedAt },
  });
};
