// `gantry register`: admit a user of another issuer.

import type { Command } from "commander";
import { registerPerson } from "#application";
import { Fault } from "#base/fault.ts";
import { withApplication } from "../application.ts";
import { newCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly issuer?: string;
  readonly subject?: string;
  readonly email?: string;
  readonly name?: string;
}

export const registerCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "register",
    usage: "--issuer URL --subject SUBJECT [--email EMAIL] [--name NAME]",
    description: `Register the user with this subject at an issuer, and print the user's uid. The API then accepts the user's tokens of
that issuer, directly or in exchange for its own. Permissions require role bindings. Registering a user again changes
nothing.`,
    notes: "Example:  gantry register --issuer https://accounts.example.com --subject 1234 --email ada@example.com",
  })
    .option("--issuer <URL>", "Issuer of the user's tokens (required)")
    .option("--subject <SUBJECT>", "Subject of the user's tokens, claim sub (required)")
    .option("--email <EMAIL>", "Email address of the user")
    .option("--name <NAME>", "Name of the user in lists (default: the email address, or the subject)")
    .action(async ({ issuer, subject, email = "", name = "" }: Options) => {
      if (issuer === undefined || subject === undefined) throw new Fault("INVALID_ARGUMENT", "--issuer and --subject are required");
      if (!["https:", "http:"].includes(URL.parse(issuer)?.protocol ?? ""))
        throw new Fault("INVALID_ARGUMENT", `--issuer must be a URL, not ${JSON.stringify(issuer)}`);
      const uid = await withApplication(terminal, ({ kernel }) => registerPerson(kernel, { issuer, subject, email, name }));
      terminal.out.write(`${uid}\n`);
    });
