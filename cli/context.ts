// Finds the server, the organization and the credential of a client command.

import type { Command } from "commander";
import { readPublicUrl, refuseUnknownNames } from "#application";
import { type ContextOptions, type FoundContext, resolveContext } from "#contexts";
import type { Terminal } from "./terminal.ts";

/**
 * Resolves the context: flags take precedence over the environment, then the current context, then the server of this machine.
 *
 * `credential.token()` returns a valid token; `credential.origin` describes its source for error messages.
 */
export const findContext = ({ environment }: Pick<Terminal, "environment">, options: ContextOptions = {}): FoundContext => {
  // A misspelled GANTRY_SERVER would silently select another server.
  refuseUnknownNames(environment);
  return resolveContext(environment, options, () => readPublicUrl(environment));
};

/** Adds --server and --context. */
export const addServerOptions = (command: Command): Command =>
  command
    .option("--server <URL>", "Server address (default: GANTRY_SERVER, or the current context's)")
    .option("--context <NAME>", "Context to use (default: GANTRY_CONTEXT, or the current context)");
