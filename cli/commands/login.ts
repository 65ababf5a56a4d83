// `gantry login`: signs a person in, at any server.

import type { Command } from "commander";
import { readPublicUrl } from "#application";
import { Fault } from "#base/fault.ts";
import { newCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly issuer?: string;
  readonly idp?: string;
  readonly audience?: string;
  readonly browser?: boolean;
  readonly headless?: boolean;
}

export const loginCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "login",
    usage: "[--issuer URL] [--idp ID] [--audience AUDIENCE] [--browser | --headless]",
    description: `Signs you in and keeps the token where the platform's clients look for it: its Go SDK and Terraform provider find
it by themselves. It prints an address and a code; open the address in any browser, on this machine or another,
and confirm the code there. Needs nothing of the server's machine.`,
    notes: `Exit status: 0 signed in, 1 not.

Examples:  gantry login --issuer https://gantry.example.com
           gantry login --issuer https://gantry.example.com --idp example.org --browser`,
  })
    .option("--issuer <URL>", "the server's address (GANTRY_PUBLIC_URL, or else this machine's own server)")
    .option("--idp <ID>", "the identity provider to sign in with: its uid, or the name of a verified organization")
    .option("--audience <NAME>", "what the token is for (the server itself)")
    .option("--browser", "opens the browser of this machine, which brings the token back by itself")
    .option("--headless", "prints an address only; the token comes back encrypted for this terminal")
    .action(async ({ issuer, idp, audience, browser, headless }: Options) => {
      if (browser && headless) throw new Fault("INVALID_ARGUMENT", "choose one of --browser and --headless");
      const { environment, out, err } = terminal;
      const { signIn } = await import("#login");
      const signedIn = await signIn({
        issuer: issuer ?? readPublicUrl(environment),
        audience,
        idp,
        method: browser ? "browser" : headless ? "headless" : "device",
        environment,
        out,
        err,
      });
      if (!signedIn) terminal.status = 1;
    });
