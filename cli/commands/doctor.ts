// `gantry doctor`: diagnose the installation and suggest fixes.

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
    description: `Check the settings, disk, database, key, clock, addresses and sign-in issuers, and suggest a fix for each problem. Run it on
the server's machine with the server's settings. The server can be running or stopped. It changes nothing: if the database
needs a migration, checks that depend on it are skipped.

Exit status: 0 no problems, 1 at least one problem.`,
    notes: "Example:  GANTRY_DATA=/srv/gantry gantry doctor",
  })
    .option("--json", "Print one line of JSON for each check")
    .action(async ({ json }: { readonly json?: boolean }) => {
      const { environment, log, out, err } = terminal;
      const tell = (finding: Finding): void => {
        if (finding.is === "bad") terminal.status = 1;
        out.write(json ? `${JSON.stringify(finding)}\n` : lineOf(finding));
      };
      const settings = readSettings(environment);
      tell({ is: "good", subject: "settings", says: "all valid; gantry config shows them" });
      for await (const finding of examineInstallation({ settings, log, progress: (line) => err.write(`${line}\n`) })) tell(finding);
    });
