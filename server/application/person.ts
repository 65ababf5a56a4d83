// Registering a person of another issuer: the operator says whom, and with that which issuers are trusted for people
// (decisions: Tokens).

import { changeContext, type Kernel } from "#kernel";
import { makePerson } from "#iam/signin";
import { commandCause, recordCommand } from "./command-record.ts";

export interface Person {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  /** Shown in lists; the e-mail address or the subject when empty. */
  readonly name: string;
}

/** Makes the person's identity, unless it is there. Returns its uid, which follows from issuer and subject. */
export const registerPerson = async (kernel: Pick<Kernel, "services" | "resources">, person: Person): Promise<string> => {
  const { services } = kernel;
  const uid = services.authn.personUid(person.issuer, person.subject);
  await services.store.write(async (rows) => {
    const made = await makePerson(changeContext(kernel, rows, commandCause("register")), person, "cause");
    if (made) await recordCommand(rows, services, "register", "dev.gantry.person.registered.v1", uid);
  });
  return uid;
};
