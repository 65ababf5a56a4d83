// `gantry admin quota`: what each organization may have and how fast it may ask, shown and set.

import type { Command } from "commander";
import { changeQuota, listQuotas, type QuotaState, readDatabaseSettings, readPublicUrl, readQuotaValue } from "#application";
import { newCommand, newGroup } from "../command.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly organization?: string;
}

const wrongArguments = "what of quota? gantry admin quota list shows them, set NAME VALUE sets one, unset NAME takes it back";

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

const whom = (organization: string | undefined): string => (organization === undefined ? "the server" : `the organization ${organization}`);

const organizationOption = ["--organization <UID>", "of this organization alone (of the server: of each organization that has no own)"] as const;

const listCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "list",
    usage: "[--organization UID]",
    description: `Shows every quota: how many resources each organization may have, and how many requests a second one server takes from
it. Its default, what is set for the server and, with --organization, what is set for that organization and how much of
it is used; what is most special holds. "gantry admin quota" alone does the same. Works with the connection of the
database's owner (GANTRY_MIGRATE_URL, or DATABASE_URL; the embedded one's by itself), beside running servers or without.`,
    notes: "Example:  gantry admin quota list --organization 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
    wrongArguments,
  })
    .option("--organization <UID>", "with what is set for this organization, and what it uses")
    .action(async ({ organization }: Options) => {
      terminal.out.write(`${tableOf(await listQuotas(optionsOf(terminal), organization), organization)}\n`);
    });

const setCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "set",
    usage: "NAME VALUE [--organization UID]",
    description: `Sets a quota for the server, or for one organization. Numbers of resources count at once; requests a second within
ten seconds on every server. What is there beyond a number stays: only making more is refused.`,
    notes: `Examples:  gantry admin quota set repos 5000 --organization 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567
           gantry admin quota set identity-requests 500`,
    wrongArguments: "name a quota and its value: gantry admin quota set NAME VALUE",
  })
    .argument("<NAME>")
    .argument("<VALUE>")
    .option(...organizationOption)
    .action(async (name: string, text: string, { organization }: Options) => {
      const value = await readQuotaValue(name, text);
      await changeQuota(optionsOf(terminal), { name, value, organization });
      terminal.out.write(`${name} is ${value} for ${whom(organization)}\n`);
    });

const unsetCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "unset",
    usage: "NAME [--organization UID]",
    description: "Takes back what was set for the server, or for one organization: what is less special holds again.",
    notes: "Example:  gantry admin quota unset repos --organization 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
    wrongArguments: "name a quota: gantry admin quota unset NAME",
  })
    .argument("<NAME>")
    .option(...organizationOption)
    .action(async (name: string, { organization }: Options) => {
      await changeQuota(optionsOf(terminal), { name, value: undefined, organization });
      terminal.out.write(`${name} is not set for ${whom(organization)}\n`);
    });

export const quotaCommand = (terminal: Terminal): Command => {
  const list = listCommand(terminal);
  return newGroup("quota", [list, setCommand(terminal), unsetCommand(terminal)], wrongArguments, list);
};
