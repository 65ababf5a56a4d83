// `gantry admin end-of-life`: policies that deprecate tags from a date on.

import type { Command } from "commander";
import { listTagPolicies, setTagPolicy, unsetTagPolicy } from "#application";
import { withApplication } from "../application.ts";
import { newCommand, newGroup } from "../command.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly organization?: string;
}

const wrongArguments = "subcommand required: list, set or unset. Run gantry help admin end-of-life for details";

const organizationOption = ["--organization <UID>", "Organization of the policy (default: all)"] as const;

const listCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "list",
    description: `List the end-of-life policies of tags. "gantry admin end-of-life" does the same. The server can be running or stopped.`,
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
    description: `Deprecate existing and future tags from DAY (UTC) on, if their REPO:TAG matches PATTERN (RE2 syntax, the whole text).
Clients see the tag's field deprecated, and each change is an event. A day in the past takes effect immediately. To
change the day of a policy, set the same pattern again.`,
    notes: `Examples:  gantry admin end-of-life set 'node:(12|14)(\\..*)?' 2023-04-30
           gantry admin end-of-life set '.*:.*-beta' 2026-12-31 --organization 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567`,
    wrongArguments: "pattern and day required: gantry admin end-of-life set PATTERN DAY",
  })
    .argument("<PATTERN>")
    .argument("<DAY>")
    .option(...organizationOption)
    .action(async (pattern: string, endDate: string, { organization }: Options) => {
      await withApplication(terminal, ({ kernel }) => setTagPolicy(kernel, { organization, pattern, endDate }));
      terminal.out.write(`tags that match ${pattern} are deprecated from ${endDate} on\n`);
    });

const unsetCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "unset",
    usage: "PATTERN [--organization UID]",
    description: "Remove a policy. Tags that only this policy deprecated are no longer deprecated.",
    notes: "Example:  gantry admin end-of-life unset 'node:(12|14)(\\..*)?'",
    wrongArguments: "pattern required: gantry admin end-of-life unset PATTERN",
  })
    .argument("<PATTERN>")
    .option(...organizationOption)
    .action(async (pattern: string, { organization }: Options) => {
      await withApplication(terminal, ({ kernel }) => unsetTagPolicy(kernel, { organization, pattern }));
      terminal.out.write(`removed the policy ${pattern}\n`);
    });

export const endOfLifeCommand = (terminal: Terminal): Command => {
  const list = listCommand(terminal);
  return newGroup("end-of-life", [list, setCommand(terminal), unsetCommand(terminal)], wrongArguments, list);
};
