// Registers a user of another issuer, which also makes that issuer trusted for users (decisions: Tokens).

import { changeContext, type Kernel } from "#kernel";
import { makePerson } from "#iam/signin";
import { commandCause, recordCommand } from "./command-record.ts";

export interface Person {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  /** Default: email address or subject. */
  readonly name: string;
}

/** Creates the user's identity if it does not exist. Returns its UID, which follows from issuer and subject. */
export const registerPerson = async (kernel: Pick<Kernel, "services" | "resources">, person: Person): Promise<string> => {
  const { services } = kernel;
  const uid = services.authn.personUid(person.issuer, person.subject);
  await services.store.write(async (rows) => {
    const made = await makePerson(changeContext(kernel, rows, commandCause("register")), person, "cause");
    if (made) await recordCommand(rows, services, "register", "dev.gantry.person.registered.v1", uid);
  });
  return uid;
};
