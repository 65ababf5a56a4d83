// `gantry config`: every setting as it holds, and where it came from.

import type { Command } from "commander";
import { readSettings, settingsInForce } from "#application";
import { newCommand } from "../command.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

export const configCommand = ({ environment, out }: Terminal): Command =>
  newCommand({
    name: "config",
    usage: "[--json]",
    description: `Shows every setting as the server would have it in this environment, and whether the environment says so or nobody.
Passwords in addresses are left out. A wrong value, or a name that is no setting, is told as at a start.`,
    notes: "Example:  GANTRY_LISTEN=0.0.0.0:8080 gantry config",
  })
    .option("--json", "as a list of objects")
    .action(({ json }: { readonly json?: boolean }) => {
      const inForce = settingsInForce(readSettings(environment), environment);
      const table = formatTable([["SETTING", "FROM", "VALUE"], ...inForce.map(({ name, from, value }) => [name, from, value === "" ? "-" : value])]);
      out.write(json ? `${JSON.stringify(inForce, undefined, 2)}\n` : `${table}\n`);
    });
