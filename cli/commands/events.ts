// `gantry events`: follow events live.

import type { Command } from "commander";
import { findNamedGroup } from "#application";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { withApplication } from "../application.ts";
import { newCommand } from "../command.ts";
import { tailEvents } from "../event-tail.ts";
import { stopSignal } from "../stop-signal.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly group?: string;
  readonly type?: string;
  readonly past?: string;
  readonly json?: boolean;
}

const wrongArguments = "subcommand required: tail. Run gantry help events for details";

export const tailCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "tail",
    usage: "[--group UID] [--type TYPE,…] [--past NUMBER] [--json]",
    description: "Print events as they occur, with time, type, resource and caller. Press Ctrl-C to stop. Works while the server is running.",
    notes: "Example:  gantry events tail --json | jq .subject",
    wrongArguments,
  })
    .option("--group <GROUP>", "Only events of this group and the groups below it: a uid or a path of names")
    .option("--type <TYPE>", "Only these types, separated by commas")
    .option("--past <NUMBER>", "Number of past events to show first (default: 10)")
    .option("--json", "Print each event as one line of JSON")
    .action(async ({ group, type = "", past = "10", json = false }: Options) => {
      const pastCount = Number(past);
      if (!Number.isInteger(pastCount) || pastCount < 0 || pastCount > limits.pageSizeMax)
        throw new Fault("INVALID_ARGUMENT", `--past must be a number from 0 to ${limits.pageSizeMax}`);
      const stopping = new AbortController();
      void stopSignal().then(() => stopping.abort());
      terminal.out.on("error", () => stopping.abort());
      await withApplication(terminal, async (application) =>
        tailEvents(application, {
          group: group === undefined ? undefined : await findNamedGroup(application.call, group, "--group: "),
          types: type.split(",").filter((each) => each !== ""),
          past: pastCount,
          json,
          stop: stopping.signal,
          write: (line) => void terminal.out.write(`${line}\n`),
        }),
      );
    });
