// `gantry admin names`: names reserved for the organizations that used them.

import type { Command } from "commander";
import { findReservedNames, releaseName } from "#application";
import { withApplication } from "../application.ts";
import { newCommand, newGroup } from "../command.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

const wrongArguments = "subcommand required: list or release. Run gantry help admin names for details";

const listCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "list",
    description: `List the reserved names of organizations. When an organization is renamed or deleted, its earlier name stays reserved for
it and leads to no repository. IMAGES is "yes" if the organization had repositories under the name; only
"gantry admin names release" frees such a name. Other names are free when the deletion expires.`,
    notes: "Example:  gantry admin names list",
    wrongArguments,
  }).action(async () => {
    const names = await withApplication(terminal, ({ kernel }) => findReservedNames(kernel));
    const rows = names.map(({ name, organization, used, reserveTime }) => [organization, reserveTime, used ? "yes" : "no", name]);
    terminal.out.write(`${formatTable([["ORGANIZATION", "RESERVED", "IMAGES", "NAME"], ...rows])}\n`);
  });

const releaseCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "release",
    usage: "NAME",
    description: `Release a reserved name, so that any organization can take it. Clients that still pull images by this name then get the
images of the organization that takes it.`,
    notes: "Example:  gantry admin names release example.org",
    wrongArguments: "name required: gantry admin names release NAME",
  })
    .argument("<NAME>")
    .action(async (name: string) => {
      await withApplication(terminal, ({ kernel }) => releaseName(kernel, name));
      terminal.out.write(`released ${name}\n`);
    });

export const namesCommand = (terminal: Terminal): Command => {
  const list = listCommand(terminal);
  return newGroup("names", [list, releaseCommand(terminal)], wrongArguments, list);
};
