// What is wrong with a SCIM request, in RFC 7644's words (3.12). Transport turns the reason into `scimType`.

import { Fault } from "#base/fault.ts";

/** 400 with this scimType. */
export const scimFault = (scimType: "invalidFilter" | "invalidPath" | "invalidValue" | "mutability" | "noTarget" | "tooMany", message: string): Fault =>
  new Fault("INVALID_ARGUMENT", message, { details: [{ kind: "reason", reason: scimType }] });

/** 404 of a resource, by the id that was asked for. */
export const noResource = (kind: string, id: string): Fault => new Fault("NOT_FOUND", `${kind} ${JSON.stringify(id.slice(0, 100))} not found`);

/** 409: another has the same. */
export const notUnique = (message: string): Fault => new Fault("ALREADY_EXISTS", message, { details: [{ kind: "reason", reason: "uniqueness" }] });

/** 412: it has changed since. */
export const changedSince = (): Fault => new Fault("ABORTED", "the resource has changed since it was read; read it again", { httpStatus: 412 });
