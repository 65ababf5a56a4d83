// `gantry audit`: verify the integrity of the audit log.

import type { Command } from "commander";
import { findNamedGroup } from "#application";
import { Fault } from "#base/fault.ts";
import { withApplication } from "../application.ts";
import { reportAudit, reportAuditFile } from "../audit-report.ts";
import { newCommand } from "../command.ts";
import { openProgressBar } from "../progress-bar.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly file?: string;
  readonly group?: string;
  readonly known?: string;
  readonly json?: boolean;
  readonly resume?: string;
}

const wrongArguments = "subcommand required: verify or export. Run gantry help audit for details";

export const verifyCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "verify",
    usage: "[--group GROUP | --file FILE] [--known FILE] [--resume FILE] [--json]",
    description: `Verify the audit log of every organization, from its first retained entry to its sealed end: no entry was changed, added,
moved or removed. The server can be running or stopped. Requires the server's secret key.`,
    notes: `Exit status: 0 intact, 1 not intact, or a file without entries.

Examples:  gantry audit verify
           gantry audit verify --json > audit-2026-11.jsonl
           gantry audit verify --known audit-2026-11.jsonl
           gantry audit verify --resume /var/tmp/audit-verification
           gantry audit verify --file /var/log/gantry/audit.jsonl --known audit-2026-11.jsonl`,
    wrongArguments,
  })
    .option("--group <GROUP>", "Only the log of this group's organization: its uid or path of names")
    .option(
      "--file <FILE>",
      `Verify this file of exported or forwarded entries instead. Needs neither the database nor the key.
Proves that no entry between two lines was changed or removed`,
    )
    .option(
      "--known <FILE>",
      `Output of an earlier run with --json: the logs must still contain its entries. Stored out of reach
of the database's administrators, it detects even changes made with the secret key. Logs without
a known end at that time are not compared`,
    )
    .option(
      "--resume <FILE>",
      `Write the progress to this file, sealed with the secret key, and continue there if an earlier run of the
last 24 hours was interrupted. Entries that it verified are not read again. Deleted at the end`,
    )
    .option("--json", "Print one line of JSON for each organization")
    .action(async ({ file, group, known, resume, json = false }: Options) => {
      if (group !== undefined && file !== undefined) throw new Fault("INVALID_ARGUMENT", "--group and --file cannot be used together");
      if (resume !== undefined && file !== undefined) throw new Fault("INVALID_ARGUMENT", "--resume and --file cannot be used together");
      const { out, err } = terminal;
      if (file !== undefined) {
        if (!(await reportAuditFile({ file, known, json, write: (line) => void out.write(`${line}\n`) }))) terminal.status = 1;
        return;
      }
      const bar = openProgressBar(err);
      const whole = await withApplication(terminal, async (application) => {
        const uid = group === undefined ? undefined : await findNamedGroup(application.call, group, "--group: ");
        return reportAudit(application, { group: uid, known, resume, json, write: (line) => void out.write(`${line}\n`), progress: bar.update });
      });
      bar.end();
      if (!whole) terminal.status = 1;
    });
