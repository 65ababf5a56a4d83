// `gantry register`: lets a person of another issuer in.

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
    description: `Registers the person whom the issuer calls SUBJECT, and prints the person's uid. From then on a token of that
issuer may be exchanged, or shown to the API directly. What the person may do is a matter of role bindings.
Registering somebody twice changes nothing.`,
    notes: "Example:  gantry register --issuer https://accounts.example.com --subject 1234 --email ada@example.com",
  })
    .option("--issuer <URL>", "who issues the person's tokens")
    .option("--subject <SUBJECT>", "the person's name there: the claim sub")
    .option("--email <EMAIL>", "the person's e-mail address")
    .option("--name <NAME>", "how lists show the person (the e-mail address, or else the subject)")
    .action(async ({ issuer, subject, email = "", name = "" }: Options) => {
      if (issuer === undefined || subject === undefined) throw new Fault("INVALID_ARGUMENT", "--issuer and --subject are required");
      if (!["https:", "http:"].includes(URL.parse(issuer)?.protocol ?? ""))
        throw new Fault("INVALID_ARGUMENT", `--issuer must be an address, not ${JSON.stringify(issuer)}`);
      const uid = await withApplication(terminal, ({ kernel }) => registerPerson(kernel, { issuer, subject, email, name }));
      terminal.out.write(`${uid}\n`);
    });
