// A sign-in as one event for all the organizations that it belongs to, so that whoever watches over one sees who signs in,
// and nobody else's people (docs/decisions/0021). The audit log makes an entry for each of them. The event is internal: no
// subscription receives it.

import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { RequestSource } from "#base/origin.ts";
import { ownAudiences } from "#base/own-audiences.ts";
import { isRoot, parentOf, rootOf } from "#base/uid.ts";
import { findBindingUids, findSignInOrganizations } from "#iam/store";
import type { Write } from "#db";
import { type LoggedAt, record } from "./record.ts";

export interface SignIn {
  /** Whom the token acts as. */
  readonly identity: string;
  /** Who made it, where that is not the identity itself. */
  readonly caller?: string;
  /** Claims of the token that was presented: iss, sub, aud, email. */
  readonly act: Readonly<Record<string, string>> | undefined;
  /** The OAuth client that was given the token for an authorization code: the address of its document. */
  readonly client?: string | undefined;
  /** The session that carries what a provider's groups give. */
  readonly session?: string | undefined;
  /** The identity provider that was used; absent where a token was exchanged. */
  readonly identityProvider?: string;
  /** Full name of the operation, or the path or command. */
  readonly operation: string;
  readonly requestSource: RequestSource;
  readonly time: string;
}

export const signedInType = "dev.gantry.auth.signed_in.v1";

/** Where it is logged, and what is shown there. `publicUrl` is an audience of everybody's: it names no organization. */
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
    // Who comes through an organization's provider agrees to it. A provider that only names an audience is told the uid.
    ({ root, isMember, bindings }): LoggedAt => ({ path: root, bindings, uidAlone: !isMember && root !== providerRoot }),
  );
  if (isRoot(identity)) return named;
  // An identity of a group has rights there and below only, and is that organization's own.
  const home = { path: parentOf(identity), bindings: await findBindingUids(rows, identity, time, limits.reasonGrantsMax), uidAlone: false };
  return [home, ...named.filter(({ path }) => path !== rootOf(identity))];
};

/** Writes its event, in the transaction of whatever else the sign-in writes. */
export const recordSignIn = async (rows: Write, publicUrl: string, signIn: SignIn): Promise<void> => {
  const { identity, caller = identity, act, client, operation, requestSource, time } = signIn;
  const said = client === undefined ? act : { ...act, client_id: client };
  const actor: JsonObject = { subject: caller, ...(said ? { act: { ...said } } : {}) };
  const loggedAt = await findPlaces(rows, publicUrl, signIn);
  await record(rows, {
    type: signedInType,
    source: publicUrl,
    subject: identity,
    // Who belongs nowhere is logged at their own uid, for the operator.
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
