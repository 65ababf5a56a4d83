// Interface of the target kinds.

/**
 * Sends lines to a target and resolves once it has confirmed all of them. Each line is one entry in ASCII JSON. Throws if anything may
 * be missing; then all are sent again.
 */
export type Send = (lines: readonly string[], signal: AbortSignal) => Promise<void>;
