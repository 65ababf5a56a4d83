// `gantry admin registry`: check image data for completeness, and collect unused content.

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

const wrongArguments = "subcommand required: verify or collect. Run gantry help admin registry for details";

const verifyCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "verify",
    usage: "[--hide] [--json]",
    description: `Read every blob and manifest, and list those that are missing, truncated or do not match their digest, with their repos.
Servers can be running or stopped. Set GANTRY_BLOBS as the servers do.`,
    notes: `Exit status: 0 everything is intact, 1 something is missing or corrupt.

Examples:  gantry admin registry verify
           gantry admin registry verify --hide --json > broken.jsonl`,
    wrongArguments,
  })
    .option(
      "--hide",
      `Hide corrupt blobs, so that clients that push an image with one send it again. Hidden blobs that are
intact again become visible`,
    )
    .option("--json", "Print one line of JSON for each corrupt blob or manifest")
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
      const shown = healed === 0 ? "" : `, ${healed} visible again`;
      if (!json) out.write(`${blobs} blobs (${sizeBytes} bytes) and ${manifests} manifests read: ${broken} corrupt${shown}\n`);
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
    description: `Remove blobs that no manifest references, abandoned uploads and pushes, and files left by a crash. Servers do the same
every six hours, and look for expired pushes and files left by a crash every twenty minutes. Servers can be running. Set
GANTRY_BLOBS as the servers do.`,
    notes: `Examples:  gantry admin registry collect --dry-run
           gantry admin registry collect --json`,
    wrongArguments,
  })
    .option("--dry-run", "Show what would be removed, without removing it")
    .option("--json", "Print one JSON object")
    .action(async ({ dryRun = false, json = false }: CollectOptions) => {
      const { out } = terminal;
      const summary = await withApplication(terminal, ({ services }) => collectRegistry(services, { dryRun }));
      if (json) {
        out.write(`${JSON.stringify({ dryRun, ...summary })}\n`);
        return;
      }
      const { uploads, pendingRepos, contents, contentBytes, unnamed, unnamedBytes } = summary;
      out.write(`${dryRun ? "Would remove" : "Removed"} ${contents} blobs (${contentBytes} bytes), ${uploads} uploads, ${pendingRepos} paths without
a manifest, and ${unnamed} unreferenced files (${unnamedBytes} bytes)\n`);
    });

export const registryCommand = (terminal: Terminal): Command => newGroup("registry", [verifyCommand(terminal), collectCommand(terminal)], wrongArguments);
