// Registering a person of another issuer: the operator says whom, and with that which issuers are trusted for people
// (decisions: Tokens).

import type { Services } from "#kernel";
import { makePerson } from "#signin";
import { recordCommand } from "./command-record.ts";

export interface Person {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  /** Shown in lists; the e-mail address or the subject when empty. */
  readonly name: string;
}

/** Makes the person's identity, unless it is there. Returns its uid, which follows from issuer and subject. */
export const registerPerson = async (services: Services, { issuer, subject, email, name }: Person): Promise<string> => {
  const { authn, clock, store } = services;
  const uid = authn.personUid(issuer, subject);
  await store.write(async (rows) => {
    const made = await makePerson(rows, { issuer, subject, email, name }, { authn, nowMs: clock() });
    if (made) await recordCommand(rows, services, "register", "dev.gantry.person.registered.v1", uid);
  });
  return uid;
};
