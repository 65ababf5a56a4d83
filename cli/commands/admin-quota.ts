// `gantry admin quota`: show and set quotas and rate limits of organizations.

import type { Command } from "commander";
import { changeQuota, listQuotas, type QuotaState, readDatabaseSettings, readPublicUrl, readQuotaValue } from "#application";
import { newCommand, newGroup } from "../command.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly organization?: string;
}

const wrongArguments = "subcommand required: list, set or unset. Run gantry help admin quota for details";

const optionsOf = ({ environment, log, err }: Terminal) => ({
  settings: readDatabaseSettings(environment),
  publicUrl: readPublicUrl(environment),
  log,
  progress: (line: string) => void err.write(`${line}\n`),
});

const shown = (value: number | undefined): string => (value === undefined ? "-" : String(value));

const tableOf = (quotas: readonly QuotaState[], organization: string | undefined): string =>
  formatTable([
    ["QUOTA", "DEFAULT", "SERVER", ...(organization === undefined ? [] : ["ORGANIZATION", "USED"])],
    ...quotas.map(({ name, byDefault, ofServer, ofOrganization, used }) => [
      name,
      String(byDefault),
      shown(ofServer),
      ...(organization === undefined ? [] : [shown(ofOrganization), shown(used)]),
    ]),
  ]);

const scopeText = (organization: string | undefined): string => (organization === undefined ? "the server" : `organization ${organization}`);

const organizationOption = ["--organization <UID>", "Organization of the quota (default: the server, for organizations without their own)"] as const;

const listCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "list",
    usage: "[--organization UID]",
    description: `List the quotas: the maximum number of resources of an organization, and its requests per second on one server. Columns
are the default, the server's value and, with --organization, the organization's value and usage. The most specific value
applies. "gantry admin quota" does the same. Requires the connection of the database's owner (GANTRY_MIGRATE_URL, or
DATABASE_URL; not needed for the embedded database). Servers can be running or stopped.`,
    notes: "Example:  gantry admin quota list --organization 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
    wrongArguments,
  })
    .option("--organization <UID>", "Also show the values and the usage of this organization")
    .action(async ({ organization }: Options) => {
      terminal.out.write(`${tableOf(await listQuotas(optionsOf(terminal), organization), organization)}\n`);
    });

const setCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "set",
    usage: "NAME VALUE [--organization UID]",
    description: `Set a quota for the server, or for one organization. A maximum number of resources takes effect immediately, and requests
per second within ten seconds on every server. Existing resources above the maximum remain; new ones are refused.`,
    notes: `Examples:  gantry admin quota set repos 5000 --organization 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567
           gantry admin quota set identity-requests 500`,
    wrongArguments: "quota and value required: gantry admin quota set NAME VALUE",
  })
    .argument("<NAME>")
    .argument("<VALUE>")
    .option(...organizationOption)
    .action(async (name: string, text: string, { organization }: Options) => {
      const value = await readQuotaValue(name, text);
      await changeQuota(optionsOf(terminal), { name, value, organization });
      terminal.out.write(`${name} is ${value} for ${scopeText(organization)}\n`);
    });

const unsetCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "unset",
    usage: "NAME [--organization UID]",
    description: "Unset a quota of the server, or of one organization. The less specific value applies again.",
    notes: "Example:  gantry admin quota unset repos --organization 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
    wrongArguments: "quota required: gantry admin quota unset NAME",
  })
    .argument("<NAME>")
    .option(...organizationOption)
    .action(async (name: string, { organization }: Options) => {
      await changeQuota(optionsOf(terminal), { name, value: undefined, organization });
      terminal.out.write(`${name} is unset for ${scopeText(organization)}\n`);
    });

export const quotaCommand = (terminal: Terminal): Command => {
  const list = listCommand(terminal);
  return newGroup("quota", [list, setCommand(terminal), unsetCommand(terminal)], wrongArguments, list);
};
