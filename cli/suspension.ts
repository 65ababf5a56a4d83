// Shared by `gantry suspend` and `gantry resume`: one organization, by uid or name.

import type { Command } from "commander";
import { setSuspended } from "#application";
import { withApplication } from "./application.ts";
import { newCommand } from "./command.ts";
import type { Terminal } from "./terminal.ts";

export interface Suspension {
  readonly name: "suspend" | "resume";
  readonly suspended: boolean;
  readonly effect: string;
  /** The resulting state of the organization. */
  readonly outcome: string;
}

export const newSuspensionCommand = (terminal: Terminal, { name, suspended, effect, outcome }: Suspension): Command =>
  newCommand({
    name,
    usage: "ORGANIZATION",
    description: `${effect}

ORGANIZATION is a uid or a unique name. Run the command on the server's machine or with its database. The server can be
running or stopped.`,
    notes: `Example:  gantry ${name} example.org`,
    wrongArguments: `one organization required: gantry ${name} ORGANIZATION`,
  })
    .argument("<ORGANIZATION>")
    .action(async (uidOrName: string) => {
      const organization = await withApplication(terminal, (application) => setSuspended(application, uidOrName, suspended));
      terminal.out.write(`${organization.uid} ${JSON.stringify(organization.name)} ${outcome}\n`);
    });
