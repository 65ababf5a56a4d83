// What is wrong with a SCIM request, in RFC 7644's words (3.12). Transport turns the reason into `scimType`.

import { matchesEtag } from "#base/etag.ts";
import { Fault } from "#base/fault.ts";

/** 400 with this scimType. */
export const scimFault = (scimType: "invalidFilter" | "invalidPath" | "invalidValue" | "mutability" | "noTarget" | "tooMany", message: string): Fault =>
  new Fault("INVALID_ARGUMENT", message, { details: [{ kind: "reason", reason: scimType }] });

/** 404 of a resource, by the id that was asked for. */
export const noResource = (kind: string, id: string): Fault => new Fault("NOT_FOUND", `${kind} ${JSON.stringify(id.slice(0, 100))} not found`);

/** 409: another has the same. */
const notUnique = (message: string): Fault => new Fault("ALREADY_EXISTS", message, { details: [{ kind: "reason", reason: "uniqueness" }] });

/** Runs a statement that writes a row; what another row has already is 409, told in these words. */
export const namingTaken = async <T>(statement: Promise<T>, message: string): Promise<T> => {
  try {
    return await statement;
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === "ALREADY_EXISTS") throw notUnique(message);
    throw thrown;
  }
};

/** Throws 412 where a client has seen other versions than this one; "": it does not say. */
export const requireSeen = (ifMatch: string, version: string): void => {
  if (ifMatch !== "" && !matchesEtag(ifMatch, version))
    throw new Fault("ABORTED", "the resource has changed since you read it. Read it again", { httpStatus: 412 });
};
