// Where a client command finds the server, the organization and the credential that it means: every command that calls the API
// asks here.

import type { Command } from "commander";
import { readPublicUrl, refuseUnknownNames } from "#application";
import { type ContextOptions, type FoundContext, resolveContext } from "#contexts";
import type { Terminal } from "./terminal.ts";

/**
 * Flags come before the environment, that before the current context, and without any of them this machine's own server is meant.
 * `credential.token()` gives a token that is good for a while, and `credential.origin` says whence it came, for a refusal.
 */
export const findContext = ({ environment }: Pick<Terminal, "environment">, options: ContextOptions = {}): FoundContext => {
  // A mistyped GANTRY_SERVER would mean another server in silence.
  refuseUnknownNames(environment);
  return resolveContext(environment, options, () => readPublicUrl(environment));
};

/** Adds the options that choose the server of a client command: --server and --context. */
export const addServerOptions = (command: Command): Command =>
  command
    .option("--server <URL>", "Server address (default: GANTRY_SERVER, or the current context's)")
    .option("--context <NAME>", "Context to use (default: GANTRY_CONTEXT, or the current context)");
