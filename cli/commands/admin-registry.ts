// `gantry admin registry`: whether everything that the database tells of images is there, and what no repository needs any more.

import type { Command } from "commander";
import { collectRegistry, verifyRegistry } from "#application";
import { withApplication } from "../application.ts";
import { newCommand, newGroup } from "../command.ts";
import { openProgressBar } from "../progress-bar.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly hide?: boolean;
  readonly json?: boolean;
}

const wrongArguments = "gantry admin registry verify names what is missing or broken, gantry admin registry collect removes what no repository needs";

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

interface CollectOptions {
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

const collectCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "collect",
    usage: "[--dry-run] [--json]",
    description: `Removes blobs that no manifest needs, uploads and pushes that were given up, and files that a crash left. Servers do the
same every six hours, and look for expired pushes and for leftovers of a crash every twenty minutes. Works while they run,
with the same GANTRY_BLOBS.`,
    notes: `Examples:  gantry admin registry collect --dry-run
           gantry admin registry collect --json`,
    wrongArguments,
  })
    .option("--dry-run", "show what would be removed, and remove nothing")
    .option("--json", "one JSON object")
    .action(async ({ dryRun = false, json = false }: CollectOptions) => {
      const { out } = terminal;
      const summary = await withApplication(terminal, ({ services }) => collectRegistry(services, { dryRun }));
      if (json) {
        out.write(`${JSON.stringify({ dryRun, ...summary })}\n`);
        return;
      }
      const { uploads, pendingRepos, contents, contentBytes, unnamed, unnamedBytes } = summary;
      out.write(`${dryRun ? "Would remove" : "Removed"} ${contents} blobs (${contentBytes} bytes), ${uploads} uploads, ${pendingRepos} paths without
a manifest, and ${unnamed} files that no row names (${unnamedBytes} bytes)\n`);
    });

export const registryCommand = (terminal: Terminal): Command => newGroup("registry", [verifyCommand(terminal), collectCommand(terminal)], wrongArguments);
