// Errors of calls refused before sending, in the API's format (AIP-193).

import { codes, type Violation } from "#base/fault.ts";
import type { Refusal } from "./tool-answer.ts";

/** Returns INVALID_ARGUMENT with these violations. */
export const invalidArguments = (violations: readonly [Violation, ...Violation[]]): Refusal => {
  const [{ field, description }] = violations;
  const badRequest = { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: violations.map((violation) => ({ ...violation })) };
  return { code: "INVALID_ARGUMENT", refusal: { code: codes.INVALID_ARGUMENT, message: `Invalid argument: ${field}: ${description}`, details: [badRequest] } };
};
