// `gantry export`: writes what the server has into files.

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
    description: `Writes images into a folder as an OCI layout: these tags and digests of the repo, or all of its tags, with everything that
they need, byte for byte. Works beside a running server and without one, with the same GANTRY_BLOBS as it.`,
    notes: `Exit status: 0 all written, 1 failed.

Examples:
  gantry export oci ./images --repo first-organization/app
  gantry export oci ./images --repo first-organization/app 1.2 latest`,
  })
    .argument("[KIND]")
    .argument("[DIR]")
    .argument("[REFERENCE...]")
    .option("--repo <NAME>", "the repo: its path of names, or its uid")
    .action(async (kind: string | undefined, folder: string | undefined, references: readonly string[], { repo }: Options) => {
      if (kind !== "oci") throw new Fault("INVALID_ARGUMENT", `cannot export ${JSON.stringify(kind ?? "")}; possible is: oci`);
      if (folder === undefined || repo === undefined) throw new Fault("INVALID_ARGUMENT", "name a directory and a repo: gantry export oci DIR --repo NAME");
      const { out, err } = terminal;
      const bar = openProgressBar(err, { lines: true });
      const { manifests, blobs } = await withApplication(terminal, (application) =>
        exportOciLayout(application, { folder, repo, progress: bar.update }, references),
      );
      bar.end();
      out.write(`${manifests} manifests and ${blobs} blobs written to ${folder}\n`);
    });
