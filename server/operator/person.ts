// The operator's way of naming people, and with them the issuers that may speak for people (decisions: Tokens).

import type { House } from "#kernel";
import { makePerson } from "#signin";

export interface Person {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  /** Shown in lists; the e-mail address or the subject when empty. */
  readonly name: string;
}

/** Makes the person's identity, unless it is there. Returns its uid, which follows from issuer and subject. */
export const registerPerson = async ({ authn, clock, store }: House, { issuer, subject, email, name }: Person): Promise<string> => {
  await store.write((rows) => makePerson(rows, { issuer, subject, email, name }, { authn, nowMs: clock() }));
  return authn.humanUid(issuer, subject);
};
