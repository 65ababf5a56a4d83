// `gantry admin end-of-life`: policies by which tags are deprecated from a day on.

import type { Command } from "commander";
import { listTagPolicies, setTagPolicy, unsetTagPolicy } from "#application";
import { withApplication } from "../application.ts";
import { newCommand, newGroup } from "../command.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly organization?: string;
}

const wrongArguments = "what of end-of-life? gantry admin end-of-life list shows the policies, set PATTERN DAY makes one, unset PATTERN takes it back";

const organizationOption = ["--organization <UID>", "for this organization alone (for all)"] as const;

const listCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "list",
    description: `Shows the policies by which tags end. "gantry admin end-of-life" alone does the same. Works beside a running server and
without one.`,
    notes: "Example:  gantry admin end-of-life list",
    wrongArguments,
  }).action(async () => {
    const policies = await withApplication(terminal, ({ kernel }) => listTagPolicies(kernel));
    const rows = policies.map(({ organization, pattern, endDate, applied }) => [organization || "all", endDate, applied ? "applied" : "-", pattern]);
    terminal.out.write(`${formatTable([["ORGANIZATION", "DAY", "STATE", "PATTERN"], ...rows])}\n`);
  });

const setCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "set",
    usage: "PATTERN DAY [--organization UID]",
    description: `Tags whose REPO:TAG fits the pattern (RE2 syntax, as a whole) are deprecated from that day on (UTC): those that are there and
those that are made or moved later. Clients see it as the tag's field deprecated, and each change is an event. A day
that has passed counts at once. The same pattern with another day replaces it.`,
    notes: `Examples:  gantry admin end-of-life set 'node:(12|14)(\\..*)?' 2023-04-30
           gantry admin end-of-life set '.*:.*-beta' 2026-12-31 --organization 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567`,
    wrongArguments: "name a pattern and a day: gantry admin end-of-life set PATTERN DAY",
  })
    .argument("<PATTERN>")
    .argument("<DAY>")
    .option(...organizationOption)
    .action(async (pattern: string, endDate: string, { organization }: Options) => {
      await withApplication(terminal, ({ kernel }) => setTagPolicy(kernel, { organization, pattern, endDate }));
      terminal.out.write(`tags that fit ${pattern} end on ${endDate}\n`);
    });

const unsetCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "unset",
    usage: "PATTERN [--organization UID]",
    description: "Takes a policy back. Tags that it has deprecated, and nothing else has, are deprecated no longer.",
    notes: "Example:  gantry admin end-of-life unset 'node:(12|14)(\\..*)?'",
    wrongArguments: "name a pattern: gantry admin end-of-life unset PATTERN",
  })
    .argument("<PATTERN>")
    .option(...organizationOption)
    .action(async (pattern: string, { organization }: Options) => {
      await withApplication(terminal, ({ kernel }) => unsetTagPolicy(kernel, { organization, pattern }));
      terminal.out.write(`there is no policy ${pattern} any longer\n`);
    });

export const endOfLifeCommand = (terminal: Terminal): Command => {
  const list = listCommand(terminal);
  return newGroup("end-of-life", [list, setCommand(terminal), unsetCommand(terminal)], wrongArguments, list);
};
