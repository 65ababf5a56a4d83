// One-line errors of the embedded server's start.

import { Fault } from "#base/fault.ts";

export const startFailure = (message: string, cause?: unknown): Fault => new Fault("FAILED_PRECONDITION", message, { cause });

export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
