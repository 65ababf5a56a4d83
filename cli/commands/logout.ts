// `gantry logout`: removes the tokens of a sign-in from this machine.

import type { Command } from "commander";
import { readPublicUrl } from "#application";
import { newCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly issuer?: string;
  readonly audience?: string;
}

export const logoutCommand = ({ environment, out }: Terminal): Command =>
  newCommand({
    name: "logout",
    usage: "[--issuer URL] [--audience AUDIENCE]",
    description: `Removes what gantry login has kept for this server, or for this audience; of the server also what it has written for
docker, podman and their like.`,
    notes: "Example:  gantry logout --issuer https://gantry.example.com",
  })
    .option("--issuer <URL>", "the server's address (GANTRY_PUBLIC_URL, or else this machine's own server)")
    .option("--audience <NAME>", "what the token was for (the server itself)")
    .action(async ({ issuer, audience }: Options) => {
      const { signOut } = await import("#login");
      signOut({ issuer: issuer ?? readPublicUrl(environment), audience, environment, out });
    });
