// `gantry admin registry`: whether everything that the database tells of images is there.

import type { Command } from "commander";
import { verifyRegistry } from "#application";
import { withApplication } from "../application.ts";
import { newCommand, newGroup } from "../command.ts";
import { openProgressBar } from "../progress-bar.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly hide?: boolean;
  readonly json?: boolean;
}

const wrongArguments = "what of registry? gantry admin registry verify reads everything and names what is missing or broken";

const verifyCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "verify",
    usage: "[--hide] [--json]",
    description: `Reads every blob and every manifest, and names those that are missing, short, or have other bytes than their digest
says, with the repos that have them. Works beside running servers and without one, with the same GANTRY_BLOBS as they.`,
    notes: `Exit status: 0 everything is there, 1 something is not.

Examples:  gantry admin registry verify
           gantry admin registry verify --hide --json > broken.jsonl`,
    wrongArguments,
  })
    .option(
      "--hide",
      `hide broken blobs: clients that push an image with one are no longer told that it is there, and send it
again. What was hidden and is whole again is shown`,
    )
    .option("--json", "one line of JSON for each that is broken")
    .action(async ({ hide = false, json = false }: Options) => {
      const { out, err } = terminal;
      const bar = openProgressBar(err);
      const { blobs, manifests, sizeBytes, broken, healed } = await withApplication(terminal, ({ services }) =>
        verifyRegistry(services, {
          hidesBroken: hide,
          progress: bar.update,
          report: (verdict) => {
            const { kind, digest, problem, repos } = verdict;
            out.write(`${json ? JSON.stringify(verdict) : `${kind} ${digest} ${problem}; in ${repos.join(", ") || "no repo"}`}\n`);
          },
        }),
      );
      bar.end();
      const shown = healed === 0 ? "" : `, ${healed} shown again`;
      if (!json) out.write(`${blobs} blobs (${sizeBytes} bytes) and ${manifests} manifests read: ${broken} broken${shown}\n`);
      if (broken > 0) terminal.status = 1;
    });

export const registryCommand = (terminal: Terminal): Command => newGroup("registry", [verifyCommand(terminal)], wrongArguments);
