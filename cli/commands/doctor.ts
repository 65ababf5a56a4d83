// `gantry doctor`: looks whether this installation works, and says what to do about what does not.

import type { Command } from "commander";
import { examineInstallation, type Finding, readSettings } from "#application";
import { newCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";

const marks: Readonly<Record<Finding["is"], string>> = { good: "ok", unsure: "?", bad: "WRONG" };

const lineOf = ({ is, subject, says, remedy }: Finding): string =>
  `${marks[is].padEnd(5)}  ${subject.padEnd(8)}  ${says}\n${remedy === undefined ? "" : `${" ".repeat(17)}→ ${remedy}\n`}`;

export const doctorCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "doctor",
    usage: "[--json]",
    description: `Checks settings, disk, database, key, clock, addresses, and the issuers that people sign in through, and says what to do
about what is wrong. With the same settings as the server, on its machine, beside it or while it is stopped. It changes
nothing: a database that is to be migrated is left as it is, and what needs it is not looked at.

Exit status 1 where something is wrong.`,
    notes: "Example:  GANTRY_DATA=/srv/gantry gantry doctor",
  })
    .option("--json", "an object on each line")
    .action(async ({ json }: { readonly json?: boolean }) => {
      const { environment, log, out, err } = terminal;
      const tell = (finding: Finding): void => {
        if (finding.is === "bad") terminal.status = 1;
        out.write(json ? `${JSON.stringify(finding)}\n` : lineOf(finding));
      };
      const settings = readSettings(environment);
      tell({ is: "good", subject: "settings", says: "each can be read; gantry config shows them" });
      for await (const finding of examineInstallation({ settings, log, progress: (line) => err.write(`${line}\n`) })) tell(finding);
    });
