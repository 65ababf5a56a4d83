// `gantry audit export`: export audit log entries as lines.

import { once } from "node:events";
import { createWriteStream } from "node:fs";
import type { Writable } from "node:stream";
import type { Command } from "commander";
import { exportAudit, findNamedGroup } from "#application";
import { Fault } from "#base/fault.ts";
import { readTimestamp } from "#base/time.ts";
import { withApplication } from "../application.ts";
import { newCommand } from "../command.ts";
import { openProgressBar } from "../progress-bar.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly group?: string;
  readonly since?: string;
  readonly until?: string;
  readonly after?: string;
  readonly upTo?: string;
  readonly file?: string;
}

const readTime = (option: string, value: string | undefined): number | undefined => {
  if (value === undefined) return undefined;
  const timeMs = readTimestamp(value);
  if (timeMs === undefined) throw new Fault("INVALID_ARGUMENT", `${option} must be a time such as 2026-11-01T00:00:00Z, not ${JSON.stringify(value)}`);
  return timeMs;
};

const readNumber = (option: string, value: string | undefined): number | undefined => {
  if (value === undefined) return undefined;
  if (!/^\d{1,15}$/.test(value)) throw new Fault("INVALID_ARGUMENT", `${option} must be the position of an entry, not ${JSON.stringify(value)}`);
  return Number(value);
};

const openNewFile = async (path: string): Promise<Writable> => {
  const stream = createWriteStream(path, { flags: "wx", mode: 0o600 });
  try {
    await once(stream, "open");
  } catch (cause) {
    throw new Fault("INVALID_ARGUMENT", `--file cannot be created: ${cause instanceof Error ? cause.message : path}`, { cause });
  }
  return stream;
};

export const auditExportCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "export",
    usage: "[--group UID [--after NUMBER] [--up-to NUMBER]] [--since TIME] [--until TIME] [--file FILE]",
    description: `Export entries of the audit log as lines of JSON: the logs of all organizations, one after the other, each in its order. Each
line has its organization, number and hash, so that gantry audit verify --file can detect changed and removed entries. The
server can be running or stopped.`,
    notes: `Exit status: 0 success, 1 failed.

Examples:  gantry audit export --file audit-2026-11.jsonl
           gantry audit export --group acme --after 1200 | jq .operation
           gantry audit export --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z`,
    wrongArguments: "subcommand required: verify or export. Run gantry help audit for details",
  })
    .option("--group <GROUP>", "Only the log of this group's organization: its uid or path of names")
    .option("--after <NUMBER>", "Only entries after this one")
    .option("--up-to <NUMBER>", "Only entries up to this one")
    .option("--since <TIME>", "Only entries sealed at this time or later")
    .option("--until <TIME>", "Only entries sealed before this time")
    .option("--file <FILE>", "New file to write, readable only by you (default: standard output)")
    .action(async ({ group, since, until, after, upTo, file }: Options) => {
      if (group === undefined && (after !== undefined || upTo !== undefined))
        throw new Fault("INVALID_ARGUMENT", "--after and --up-to require --group, because each log has its own positions");
      const options = {
        after: readNumber("--after", after) ?? 0,
        upTo: readNumber("--up-to", upTo),
        sinceMs: readTime("--since", since),
        untilMs: readTime("--until", until),
      };
      const { out, err } = terminal;
      const stream: Writable = file === undefined ? out : await openNewFile(file);
      const bar = openProgressBar(err);
      // The reader may close early (head), or the disk may be full: the export stops and closes what it opened.
      let failure: NodeJS.ErrnoException | undefined;
      stream.on("error", (error) => {
        failure = error;
      });
      const write = async (line: string): Promise<void> => {
        if (failure) throw failure;
        if (!stream.write(`${line}\n`)) await once(stream, "drain");
      };
      const entries = await withApplication(terminal, async (application) => {
        const uid = group === undefined ? undefined : await findNamedGroup(application.call, group, "--group: ");
        return exportAudit(application, { ...options, group: uid, write, progress: bar.update });
      }).catch((thrown: unknown) => {
        if (thrown !== failure) throw thrown;
        if (failure?.code === "EPIPE" && file === undefined) return 0;
        throw new Fault("INVALID_ARGUMENT", `the entries cannot be written: ${failure?.message ?? ""}`, { cause: thrown });
      });
      bar.end();
      if (file === undefined) return;
      stream.end();
      await once(stream, "finish");
      out.write(`${entries === 1 ? "1 entry" : `${entries} entries`} written to ${file}\n`);
    });
