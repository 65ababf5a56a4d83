// `gantry config`: show the effective settings and their origin.

import type { Command } from "commander";
import { readSettings, settingsInForce } from "#application";
import { newCommand } from "../command.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

export const configCommand = ({ environment, out }: Terminal): Command =>
  newCommand({
    name: "config",
    usage: "[--json]",
    description: `Show every setting as the server would read it in this environment, and whether the value is from the environment or the
default. Passwords in addresses are masked. An invalid value or an unknown setting is an error, as it is for gantry serve.`,
    notes: "Example:  GANTRY_LISTEN=0.0.0.0:8080 gantry config",
  })
    .option("--json", "Print a JSON list")
    .action(({ json }: { readonly json?: boolean }) => {
      const inForce = settingsInForce(readSettings(environment), environment);
      const table = formatTable([["SETTING", "FROM", "VALUE"], ...inForce.map(({ name, from, value }) => [name, from, value === "" ? "-" : value])]);
      out.write(json ? `${JSON.stringify(inForce, undefined, 2)}\n` : `${table}\n`);
    });
