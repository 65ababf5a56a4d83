// `gantry logout`: revoke the session of a sign-in and remove its tokens.

import { type Command, Option } from "commander";
import { changeContexts } from "#contexts";
import { newCommand } from "../command.ts";
import { findContext } from "../context.ts";
import { exitStatusText, wrongUsage } from "../exit-status.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly server?: string;
  readonly issuer?: string;
  readonly context?: string;
  readonly audience?: string;
}

export const logoutCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "logout",
    usage: "[--server URL] [--context NAME] [--audience AUDIENCE]",
    description: `Sign out. Revokes the session at the server, so that its tokens stop working everywhere, and removes the tokens that gantry login has
stored on this machine for the server or the audience, with the registry credentials of docker, podman and similar tools. If the
server cannot be reached, the tokens are removed and the session stays: revoke it later with gantry sessions revoke.
The context stays (gantry context delete removes it), without its identity token file. Tokens in the environment (GANTRY_TOKEN)
are not removed; a warning names them.`,
    notes: `${exitStatusText}

Examples:  gantry logout
           gantry logout --server https://gantry.example.com`,
  })
    .option("--server <URL>", "Server address (default: GANTRY_SERVER, the current context's, GANTRY_PUBLIC_URL, or the local server)")
    .option("--context <NAME>", "Context to sign out of (default: GANTRY_CONTEXT, or the current context)")
    .option("--audience <NAME>", "Audience of the token (default: the server)")
    .addOption(new Option("--issuer <URL>").hideHelp())
    .action(async ({ server: flag, issuer, context, audience }: Options) => {
      if (flag !== undefined && issuer !== undefined) throw wrongUsage("--server and --issuer cannot be used together");
      const { environment, out, err } = terminal;
      const { name, stored, server } = findContext(terminal, { server: flag ?? issuer, context });
      const { signOut } = await import("#login");
      await signOut({ issuer: server, audience, alias: stored?.alias, environment, out, err });
      if (name !== undefined && audience === undefined && stored?.identityTokenFile !== undefined)
        await changeContexts(environment, ({ current, contexts }) => ({
          current,
          contexts: new Map(contexts).set(name, { ...stored, identityTokenFile: undefined }),
        }));
      for (const variable of ["GANTRY_TOKEN", "GANTRY_TOKEN_FILE", "GANTRY_IDENTITY_TOKEN", "GANTRY_IDENTITY_TOKEN_FILE"])
        if (environment[variable]) err.write(`warning: ${variable} is still set, and commands still use it\n`);
    });
