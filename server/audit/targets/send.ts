// What each kind of target does with a batch.

/**
 * Gives the lines to a target, and returns when it has confirmed all of them. Each is one entry in JSON, in ASCII and without a line
 * break. Throws where anything of it may be missing; then all of them come again.
 */
export type Send = (lines: readonly string[], signal: AbortSignal) => Promise<void>;
