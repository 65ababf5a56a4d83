// `gantry admin backup` and `gantry admin restore`: back up all data of a server to a file or folder, and restore it.

import type { Command } from "commander";
import { backupDatabase, readSettings, recordOwnRestore, requirePassphrase, restoreDatabase, verifyBackupFile } from "#application";
import { newCommand } from "../command.ts";
import { exitStatus, wrongUsage } from "../exit-status.ts";
import { openInterruption } from "../interruption.ts";
import { passphraseSource } from "../passphrase.ts";
import { openProgressBar } from "../progress-bar.ts";
import type { Terminal } from "../terminal.ts";

interface BackupOptions {
  readonly verify?: boolean;
  readonly withKey?: boolean;
  readonly resume?: boolean;
  readonly passphraseFile?: string;
}

interface RestoreOptions {
  readonly recorded?: boolean;
  readonly passphraseFile?: string;
}

const passphraseOption = ["--passphrase-file <FILE>", "File with the passphrase on its first line (default: prompt)"] as const;

const workOf = (terminal: Terminal, path: string, passphraseFile: string | undefined, isNew: boolean) => {
  const { environment, log, err } = terminal;
  const bar = openProgressBar(err, { lines: true });
  const report = (line: string): void => {
    bar.end();
    err.write(`${line}\n`);
  };
  return {
    work: { settings: readSettings(environment), log, path, passphrase: passphraseSource(terminal, passphraseFile, isNew), progress: bar.update, report },
    bar,
  };
};

const verifyBackup = async (terminal: Terminal, path: string, passphraseFile: string | undefined): Promise<void> => {
  const { work, bar } = workOf(terminal, path, passphraseFile, false);
  const { passphrase, ...rest } = work;
  // The passphrase is requested only if it is needed.
  const { head, manifest, secretKey, hasKey } = await verifyBackupFile({ ...rest, passphrase: passphraseFile === undefined ? undefined : passphrase });
  bar.end();
  const { out } = terminal;
  const rows = Object.values(manifest.rows).reduce((sum, count) => sum + count, 0);
  out.write(
    `intact: backup ${head.id} of ${head.createTime}, at ${head.migrations.at(-1)?.name ?? "no migration"}: ${rows} rows, ${manifest.blobs.count} blobs\n`,
  );
  if (manifest.brokenBlobs.length > 0) out.write(`${manifest.brokenBlobs.length} blobs were corrupt at backup time. The next push of each restores it\n`);
  out.write(secretKey === undefined ? "origin not verified: the secret key is not available here\n" : "sealed with this secret key\n");
  if (hasKey) out.write("includes the secret key, encrypted with a passphrase\n");
};

export const backupCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "backup",
    usage: "[--verify] [--with-key] [--resume] [--passphrase-file FILE] FILE|DIR",
    description: `Back up every table and blob, in a consistent state, to a tar file. If the name ends in "/" or names an empty directory,
the backup is a directory. Servers can keep running and writing. The command never overwrites a file. With DATABASE_URL, it
requires a role that can read everything: the owner (GANTRY_MIGRATE_URL, or DATABASE_URL) or a member of pg_read_all_data.

The backup is sealed with the secret key and does not include it. Store the key elsewhere, or use --with-key. All other
secrets are included as the database stores them. Sign-ins, sessions and uploads in progress are not included.`,
    notes: `Exit status: 0 success, 1 no backup was made (or with --verify: it is not intact), 2 corrupt blobs were left out.

Examples:  gantry admin backup /backups/gantry-$(date +%F).tar
           gantry admin backup --verify /backups/gantry-2026-11-23.tar
           gantry admin backup --resume /backups/weekly/
           gantry admin backup --with-key --passphrase-file /root/passphrase /mnt/usb/gantry/`,
    wrongArguments: "file or directory required: gantry admin backup FILE",
  })
    .argument("<PATH>")
    .option("--verify", "Verify that a backup is intact and, with the secret key, that this installation wrote it")
    .option("--with-key", "Include the secret key, encrypted with a passphrase")
    .option(
      "--resume",
      `If the backup is interrupted, keep what it has copied; if an earlier one to this path was, take its blobs
after a check of their digests. Tables are read again`,
    )
    .option(...passphraseOption)
    .action(async (path: string, { verify = false, withKey = false, resume = false, passphraseFile }: BackupOptions) => {
      if (verify) return verifyBackup(terminal, path, passphraseFile);
      if (passphraseFile !== undefined && !withKey) throw wrongUsage("--passphrase-file requires --with-key");
      const { work, bar } = workOf(terminal, path, passphraseFile, true);
      const { passphrase } = work;
      if (withKey && passphrase === undefined)
        throw wrongUsage("--with-key requires a passphrase. Pass --passphrase-file FILE, or run the command in a terminal");
      const interruption = openInterruption();
      try {
        const { id, createTime, tables, rows, blobs, blobBytes, broken } = await backupDatabase(
          { ...work, passphrase: withKey && passphrase ? async () => requirePassphrase(await passphrase()) : undefined },
          interruption.signal,
          resume,
        );
        bar.end();
        terminal.out.write(`backup ${id} of ${createTime}: ${rows} rows of ${tables} tables, ${blobs} blobs (${blobBytes} bytes)\n`);
        if (broken > 0) terminal.status = exitStatus.partly;
      } finally {
        bar.end();
        interruption.end();
      }
    });

export const restoreCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "restore",
    usage: "[--passphrase-file FILE] FILE|DIR | --recorded",
    description: `Restore a backup into an empty installation: a GANTRY_DATA without a database and empty blob storage. With DATABASE_URL,
the database must be empty, and the connection must be its owner's (GANTRY_MIGRATE_URL, or DATABASE_URL). The command
verifies the backup before it writes anything, and verifies the result afterwards. It requires the secret key of the
servers, or the passphrase of a backup made with --with-key.

After an interruption, run the same command again: it keeps the blobs that are stored, and all rows if they were committed.

The audit log records the restore, and every organization gets an event. Event positions and audit log numbers continue
after all earlier ones, so that clients that saw a later state miss no event.`,
    notes: `Exit status: 0 restored, 1 nothing was restored, 2 restored, but some parts were corrupt at backup time.

Examples:  GANTRY_DATA=/srv/gantry gantry admin restore /backups/gantry-2026-11-23.tar
           gantry admin restore --recorded`,
    wrongArguments: "backup required: gantry admin restore FILE",
  })
    .argument("[PATH]")
    .option("--recorded", "Restore nothing: record that PostgreSQL tools have restored the database to an earlier\nstate. Stop all servers first")
    .option(...passphraseOption)
    .action(async (path: string | undefined, { recorded = false, passphraseFile }: RestoreOptions) => {
      const { out } = terminal;
      if (recorded === (path !== undefined)) throw wrongUsage("backup or --recorded required: gantry admin restore FILE");
      const { work, bar } = workOf(terminal, path ?? "", passphraseFile, false);
      if (path === undefined) {
        const { stateTime, base } = await recordOwnRestore(work);
        out.write(`recorded: the state of ${stateTime}; event positions continue after ${base}\n`);
        return;
      }
      try {
        const { restore, rows, blobs, broken, logProblems } = await restoreDatabase(work);
        bar.end();
        out.write(`restored the state of ${restore.stateTime}: ${rows} rows, ${blobs} blobs; event positions continue after ${restore.base}\n`);
        for (const problem of logProblems) out.write(`audit log NOT INTACT, as at backup time: ${problem}\n`);
        if (broken > 0) out.write(`${broken} blobs were corrupt at backup time. The next push of each restores it\n`);
        if (broken > 0 || logProblems.length > 0) terminal.status = exitStatus.partly;
      } finally {
        bar.end();
      }
    });
