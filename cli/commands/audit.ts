// `gantry audit`: whether the audit log is what was written.

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
}

const wrongArguments = "what about audit? gantry audit verify checks the log, gantry audit export writes it";

export const verifyCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "verify",
    usage: "[--group GROUP | --file FILE] [--known FILE] [--json]",
    description: `Reads the audit log of every organization from its first kept entry to its sealed end, and says whether each is
whole: nothing changed, added, put elsewhere or taken away. Works beside a running server and without one, and
needs the server's secret key.`,
    notes: `Exit status: 0 whole, 1 not; of a file without any entry, too.

Examples:  gantry audit verify
           gantry audit verify --json > audit-2026-11.jsonl
           gantry audit verify --known audit-2026-11.jsonl
           gantry audit verify --file /var/log/gantry/audit.jsonl --known audit-2026-11.jsonl`,
    wrongArguments,
  })
    .option("--group <GROUP>", "only the log of this group's organization: its uid, or its path of names")
    .option(
      "--file <FILE>",
      `not the log but this file, which it was sent to or exported into: by its lines alone, which need
neither database nor key and prove that nothing between two of them was changed or taken away`,
    )
    .option(
      "--known <FILE>",
      `what an earlier run printed with --json: the logs must still go through those entries. Kept where
nobody can reach both it and the database, it shows even what somebody with the secret key did.
A log whose end was not known then is not compared`,
    )
    .option("--json", "one line of JSON for each organization")
    .action(async ({ file, group, known, json = false }: Options) => {
      if (group !== undefined && file !== undefined) throw new Fault("INVALID_ARGUMENT", "give --group or --file, not both");
      const { out, err } = terminal;
      if (file !== undefined) {
        if (!(await reportAuditFile({ file, known, json, write: (line) => void out.write(`${line}\n`) }))) terminal.status = 1;
        return;
      }
      const bar = openProgressBar(err);
      const whole = await withApplication(terminal, async (application) => {
        const uid = group === undefined ? undefined : await findNamedGroup(application.call, group, "--group: ");
        return reportAudit(application, { group: uid, known, json, write: (line) => void out.write(`${line}\n`), progress: bar.update });
      });
      bar.end();
      if (!whole) terminal.status = 1;
    });
