// What a command gets of the process that it runs in, and the status that it ends with.

import type { Log } from "#base/log.ts";

export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly out: NodeJS.WriteStream;
  readonly err: NodeJS.WriteStream;
  /** What somebody types, or pipes in; the process's own where it is left out. */
  readonly input?: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** Milliseconds since 1970; the machine's clock where it is left out. */
  readonly now?: () => number;
  /** The exit status: 0 all done, 1 failed, 2 done but some records refused (decisions: Command line). */
  status: number;
}
