// Which people a caller sees: a person's uid lies below no group, so it is found by its bindings.

import type { Read } from "./handle.ts";

/**
 * The people bound in or below one of these places, and `self` where it is one.
 * @param only look for this uid alone
 */
export const findBoundPeople = async (rows: Read, places: readonly string[], self: string, only: string | undefined): Promise<string[]> => {
  const found = await rows.query(
    `select uid from identities where length(uid) = 40 and ($4::text is null or uid = $4) and (uid = $3 or uid in (
       select identity_uid from role_bindings join unnest($1::text[], $2::text[]) as place(low, high)
       on uid >= place.low and uid < place.high where length(identity_uid) = 40 and ($4::text is null or identity_uid = $4)))`,
    [places, places.map((place) => (place === "" ? "~" : `${place}0`)), self, only ?? null],
  );
  return found.flatMap(([uid]) => uid ?? []);
};
