// Process state that a command uses, and its exit status.

import type { Log } from "#base/log.ts";

export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly out: NodeJS.WriteStream;
  readonly err: NodeJS.WriteStream;
  /** Default: the process's standard input. */
  readonly input?: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** Milliseconds since 1970; default: the system clock. */
  readonly now?: () => number;
  /** Exit status: 0 success, 1 failure, 2 partial success (decisions: Command line). */
  status: number;
}
