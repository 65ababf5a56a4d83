// A sign-in, as it is told: to each organization in which it gives rights, so that whoever watches over one sees who
// comes in, and nobody else's people. Kept inside: no subscription hears it.

import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { RequestSource } from "#base/origin.ts";
import { isRoot, parentOf } from "#base/uid.ts";
import type { Write } from "#store";
import { record } from "./record.ts";

export interface SignIn {
  /** Whom the token acts as. */
  readonly identity: string;
  /** Who made it, where that is not the identity itself. */
  readonly caller?: string;
  /** What the token that was shown said: iss, sub, aud, email. */
  readonly act: Readonly<Record<string, string>> | undefined;
  /** The session that carries what a provider's groups give. */
  readonly session?: string | undefined;
  /** Full name of the operation, or the path or command. */
  readonly operation: string;
  readonly requestSource: RequestSource;
  readonly time: string;
}

export const signedInType = "dev.gantry.auth.signed_in.v1";

// Where a person has rights, and what gives them. Who has none anywhere is told at their own uid, to the operator.
const rightsOf = `
  select held.place, jsonb_agg(held.binding order by held.binding)
  from (
    select binding, place, row_number() over (partition by place order by binding) as turn
    from (
      select uid as binding, left(uid, 40) as place from role_bindings where identity_uid = $1 and (expire_time is null or expire_time > $2)
      union all
      select mapping.uid, left(mapping.scope, 40)
      from sessions as session
      join external_group_role_mappings as mapping
        on mapping.identity_provider_uid = session.identity_provider_uid and mapping.external_group_id = any(session.groups)
      where session.id = $3 and session.identity_uid = $1
    ) as each
  ) as held
  where held.turn <= $4
  group by held.place order by held.place limit $5`;

/** Writes it down, in the transaction of whatever else the sign-in writes. */
export const recordSignIn = async (
  rows: Write,
  source: string,
  { identity, caller = identity, act, session, operation, requestSource, time }: SignIn,
): Promise<void> => {
  const held = await rows.query(rightsOf, [identity, time, session ?? "", limits.reasonGrantsMax, limits.signInPlacesMax]);
  const given = held.map(([place, bindings]) => ({ place: place ?? "", bindings: JSON.parse(bindings ?? "[]") as string[] }));
  // An identity of a group has rights there and below only.
  const places =
    isRoot(identity) && given.length > 0
      ? given
      : [{ place: isRoot(identity) ? identity : parentOf(identity), bindings: given.flatMap(({ bindings }) => bindings) }];
  const actor: JsonObject = { subject: caller, ...(act ? { act: { ...act } } : {}) };
  for (const { place, bindings } of places) {
    await record(rows, {
      type: signedInType,
      source,
      subject: identity,
      group: place,
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
