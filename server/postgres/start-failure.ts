// The one line that a start of the embedded server fails with.

import { Fault } from "#base/fault.ts";

export const startFailure = (message: string, cause?: unknown): Fault => new Fault("FAILED_PRECONDITION", message, { cause });

/** What an error says of itself. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
