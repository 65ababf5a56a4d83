// `gantry export`: export the server's data to files.

import type { Command } from "commander";
import { exportOciLayout } from "#application";
import { Fault } from "#base/fault.ts";
import { withApplication } from "../application.ts";
import { newCommand } from "../command.ts";
import { openProgressBar } from "../progress-bar.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly repo?: string;
}

export const exportCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "export",
    usage: "oci DIR --repo NAME [REFERENCE…]",
    description: `Export images to a directory as an OCI layout: the given tags and digests of the repo, or all of its tags, with every manifest
and blob that they reference, unchanged. The server can be running or stopped. Set GANTRY_BLOBS as the server does.`,
    notes: `Exit status: 0 success, 1 failed.

Examples:
  gantry export oci ./images --repo first-organization/app
  gantry export oci ./images --repo first-organization/app 1.2 latest`,
  })
    .argument("[KIND]")
    .argument("[DIR]")
    .argument("[REFERENCE...]")
    .option("--repo <NAME>", "Repo to export: its path of names or uid (required)")
    .action(async (kind: string | undefined, folder: string | undefined, references: readonly string[], { repo }: Options) => {
      if (kind !== "oci") throw new Fault("INVALID_ARGUMENT", `cannot export ${JSON.stringify(kind ?? "")}. The kind must be oci`);
      if (folder === undefined || repo === undefined) throw new Fault("INVALID_ARGUMENT", "directory and --repo required: gantry export oci DIR --repo NAME");
      const { out, err } = terminal;
      const bar = openProgressBar(err, { lines: true });
      const { manifests, blobs } = await withApplication(terminal, (application) =>
        exportOciLayout(application, { folder, repo, progress: bar.update }, references),
      );
      bar.end();
      out.write(`${manifests} manifests and ${blobs} blobs written to ${folder}\n`);
    });
