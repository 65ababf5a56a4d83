// SCIM errors with the types of RFC 7644 (3.12); the transport converts the reason to `scimType`.

import { matchesEtag } from "#base/etag.ts";
import { Fault } from "#base/fault.ts";

export const scimFault = (scimType: "invalidFilter" | "invalidPath" | "invalidValue" | "mutability" | "noTarget" | "tooMany", message: string): Fault =>
  new Fault("INVALID_ARGUMENT", message, { details: [{ kind: "reason", reason: scimType }] });

export const noResource = (kind: string, id: string): Fault => new Fault("NOT_FOUND", `${kind} ${JSON.stringify(id.slice(0, 100))} not found`);

const notUnique = (message: string): Fault => new Fault("ALREADY_EXISTS", message, { details: [{ kind: "reason", reason: "uniqueness" }] });

/** Runs a statement that writes a row; maps a unique violation to a 409 with this message. */
export const namingTaken = async <T>(statement: Promise<T>, message: string): Promise<T> => {
  try {
    return await statement;
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === "ALREADY_EXISTS") throw notUnique(message);
    throw thrown;
  }
};

/** Throws 412 if If-Match excludes this version; "" means no condition. */
export const requireIfMatch = (ifMatch: string, version: string): void => {
  if (ifMatch !== "" && !matchesEtag(ifMatch, version))
    throw new Fault("ABORTED", "the resource has changed since you read it. Read it again", { httpStatus: 412 });
};
