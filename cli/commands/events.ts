// `gantry events`: what happens, as it happens.

import type { Command } from "commander";
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

const wrongArguments = "what about events? gantry events tail shows them";

export const tailCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "tail",
    usage: "[--group UID] [--type TYPE,…] [--past NUMBER] [--json]",
    description: "Shows events as they happen, until Ctrl-C: when, what, on which resource, by whom. Works beside a running server.",
    notes: "Example:  gantry events tail --json | jq .subject",
    wrongArguments,
  })
    .option("--group <UID>", "only of this group and below")
    .option("--type <TYPE>", "only these types, separated by commas")
    .option("--past <NUMBER>", "how many of the past to show first (10)")
    .option("--json", "whole events, one line of JSON each")
    .action(async ({ group, type = "", past = "10", json = false }: Options) => {
      const pastCount = Number(past);
      if (!Number.isInteger(pastCount) || pastCount < 0 || pastCount > limits.pageSizeMax)
        throw new Fault("INVALID_ARGUMENT", `--past must be a number from 0 to ${limits.pageSizeMax}`);
      const stopping = new AbortController();
      void stopSignal().then(() => stopping.abort());
      await withApplication(terminal, (application) =>
        tailEvents(application, {
          group,
          types: type.split(",").filter((each) => each !== ""),
          past: pastCount,
          json,
          stop: stopping.signal,
          write: (line) => void terminal.out.write(`${line}\n`),
        }),
      );
    });
