// `gantry admin registry`: check image data for completeness, collect unused content, and read the packages of images.

import type { Command } from "commander";
import { collectRegistry, indexImages, inspectImage, verifyRegistry } from "#application";
import { Fault } from "#base/fault.ts";
import { readTimestamp } from "#base/time.ts";
import { withApplication } from "../application.ts";
import { newCommand, newGroup } from "../command.ts";
import { openProgressBar } from "../progress-bar.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly hide?: boolean;
  readonly json?: boolean;
}

const wrongArguments = "subcommand required: verify, collect, inspect or index. Run gantry help admin registry for details";

/** Returns "1 package", "2 packages". */
const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

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

interface InspectOptions {
  readonly repo?: string;
  readonly json?: boolean;
}

const inspectCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "inspect",
    usage: "REFERENCE --repo NAME [--json]",
    description: `Read the packages in the layers of an image, without an SBOM: those of apk, dpkg and rpm, of npm, Python, Ruby, .NET, Composer and
Maven, and of Go and Rust programs. For an index, of each image. Nothing is stored. Set GANTRY_BLOBS as the servers do.`,
    notes: `The state of each image is INDEXED (everything was read), PARTIAL (the problems say what was not), UNSUPPORTED (it has no
layers of files) or FAILED (no layer could be read). Only INDEXED is a complete list.

Exit status: 0 every image is INDEXED, 1 otherwise.

Examples:  gantry admin registry inspect 1.2 --repo first-organization/app
           gantry admin registry inspect latest --repo first-organization/app --json > contents.jsonl`,
    wrongArguments,
  })
    .argument("[REFERENCE]")
    .option("--repo <NAME>", "Repo of the image: its path of names or uid (required)")
    .option("--json", "Print one JSON object for each image")
    .action(async (reference: string | undefined, { repo, json = false }: InspectOptions) => {
      if (reference === undefined || repo === undefined)
        throw new Fault("INVALID_ARGUMENT", "tag or digest, and --repo required: gantry admin registry inspect REFERENCE --repo NAME");
      const { out } = terminal;
      await withApplication(terminal, async (application) => {
        for await (const { digest, platform, contents } of inspectImage(application, { repo, reference })) {
          const { state, os, packages, problems, problemCount } = contents;
          if (state !== "INDEXED") terminal.status = 1;
          if (json) {
            out.write(`${JSON.stringify({ digest, platform, ...contents })}\n`);
            continue;
          }
          const named = [platform, os?.name ?? ""].filter((each) => each !== "");
          out.write(`${[digest, ...named].join(" ")}: ${state}, ${counted(packages.length, "package")}, ${counted(problemCount, "problem")}\n`);
          for (const { purl, path } of packages) out.write(`${purl} ${path}\n`);
          for (const { reason, detail, path, layer } of problems) out.write(`${reason} ${path === "" ? layer : `${path} in ${layer}`} ${detail}\n`);
          if (problemCount > problems.length) out.write(`and ${counted(problemCount - problems.length, "more problem")}\n`);
        }
      });
    });

interface IndexOptions {
  readonly repo?: string;
  readonly readBefore?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

const readTime = (given: string): number => {
  const timeMs = readTimestamp(given);
  if (timeMs === undefined) throw new Fault("INVALID_ARGUMENT", `--read-before must be a time, for example 2026-11-28T18:00:00Z, not ${JSON.stringify(given)}`);
  return timeMs;
};

const indexCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "index",
    usage: "[--repo NAME] [--read-before TIME] [--dry-run] [--json]",
    description: `Queue stored images to be read again, with their layers. Running servers read them, and new pushes come first. Images keep their
packages meanwhile. Images that are queued already stay in the queue. To continue an interrupted run, or to leave out
what was read since, repeat it with --read-before and the time of the first run.`,
    notes: `Examples:  gantry admin registry index --dry-run
           gantry admin registry index --repo first-organization/app
           gantry admin registry index --read-before 2026-11-28T18:00:00Z`,
    wrongArguments,
  })
    .option("--repo <NAME>", "Only images of this repo: its path of names or uid")
    .option("--read-before <TIME>", "Only images that were last read before this time (default: now)")
    .option("--dry-run", "Show how many images would be queued, without queueing them")
    .option("--json", "Print one JSON object")
    .action(async ({ repo, readBefore, dryRun = false, json = false }: IndexOptions) => {
      const { out, err } = terminal;
      const bar = openProgressBar(err);
      const images = await withApplication(terminal, ({ services }) =>
        indexImages(services, { repo, readBeforeMs: readBefore === undefined ? services.clock() : readTime(readBefore), dryRun, progress: bar.update }),
      );
      bar.end();
      out.write(json ? `${JSON.stringify({ dryRun, images })}\n` : `${dryRun ? "Would queue" : "Queued"} ${counted(images, "image")}\n`);
    });

export const registryCommand = (terminal: Terminal): Command =>
  newGroup("registry", [verifyCommand(terminal), collectCommand(terminal), inspectCommand(terminal), indexCommand(terminal)], wrongArguments);
