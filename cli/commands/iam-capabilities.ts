// `gantry iam capabilities list`: list capabilities from the contract, without a request to a server.

import { type Command, Option } from "commander";
import { newCommand, newGroup } from "../command.ts";
import { wrongUsage } from "../exit-status.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly output: "table" | "json" | "jsonl" | "name";
  readonly action?: string;
  readonly resource?: string;
}

const capabilityParts = (name: string): readonly [resource: string, action: string] => {
  const at = name.lastIndexOf(".");
  return at === -1 ? ["", name] : [name.slice(0, at), name.slice(at + 1)];
};

const listCommand = ({ out }: Terminal): Command =>
  newCommand({
    name: "list",
    usage: "[--action NAME] [--resource NAME] [-o FORMAT]",
    description: "List the capabilities that a role can have in this version, without contacting a server.",
    notes: "Example:  gantry iam capabilities list --resource repo",
    wrongArguments: "list takes no arguments, only options",
  })
    .option("--action <NAME>", "Only capabilities with this action, such as create")
    .option("--resource <NAME>", "Only capabilities of this resource, such as role_bindings")
    .addOption(new Option("-o, --output <FORMAT>", "table, json, jsonl or name (default: table)").choices(["table", "json", "jsonl", "name"]).default("table"))
    .action(async ({ action, resource, output }: Options) => {
      const { capabilities } = await import("#contract/capabilities.ts");
      const known = (names: readonly string[], wanted: string | undefined, option: string): void => {
        if (wanted !== undefined && !names.includes(wanted)) throw wrongUsage(`${option} must be one of ${[...new Set(names)].sort().join(", ")}`);
      };
      known(
        capabilities.map(({ name }) => capabilityParts(name)[1]),
        action,
        "--action",
      );
      known(
        capabilities.map(({ name }) => capabilityParts(name)[0]),
        resource,
        "--resource",
      );
      const found = capabilities
        .filter(
          ({ name }) => (action === undefined || capabilityParts(name)[1] === action) && (resource === undefined || capabilityParts(name)[0] === resource),
        )
        .map(({ name, symbol, number, internalOnly }) => ({ name, symbol, number, internalOnly }));
      if (output === "json") out.write(`${JSON.stringify({ capabilities: found }, undefined, 2)}\n`);
      else if (output === "jsonl") out.write(found.map((each) => `${JSON.stringify(each)}\n`).join(""));
      else if (output === "name") out.write(found.map(({ name }) => `${name}\n`).join(""));
      else out.write(`${formatTable([["NAME", "SYMBOL", "NOTE"], ...found.map((each) => [each.name, each.symbol, each.internalOnly ? "internal" : ""])])}\n`);
    });

export const capabilitiesCommand = (terminal: Terminal): Command =>
  newGroup("capabilities", listCommand(terminal), "subcommand required: list. Run gantry help iam capabilities for details");
