// The operator's way of naming people, and with them the issuers that may speak for people (decisions: Tokens). There
// is no other until sign-in through identity providers.

import { timestamp } from "#base/time.ts";
import type { House } from "#kernel";
import { insertRowUnlessTaken } from "#store";

export interface Person {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  /** Shown in lists; the e-mail address or the subject when empty. */
  readonly name: string;
}

/** Makes the person's identity, unless it is there. Returns its uid, which follows from issuer and subject. */
export const registerPerson = async ({ authn, clock, store }: House, { issuer, subject, email, name }: Person): Promise<string> => {
  const uid = authn.humanUid(issuer, subject);
  const now = timestamp(clock());
  await store.write((rows) =>
    insertRowUnlessTaken(rows, { name: "identities", columns: [] }, {
      uid, name: name || email || subject, email, issuer, subject, last_seen_time: now, create_time: now, update_time: now,
    }),
  );
  return uid;
};
