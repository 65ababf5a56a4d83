// `gantry admin backup` and `gantry admin restore`: everything that a server keeps, as a file or a folder, and back.

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
  readonly passphraseFile?: string;
}

interface RestoreOptions {
  readonly recorded?: boolean;
  readonly passphraseFile?: string;
}

const passphraseOption = ["--passphrase-file <FILE>", "the passphrase is the first line of this file; without it, it is asked for"] as const;

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
  // Nobody is asked for what is not needed.
  const { head, manifest, secretKey, hasKey } = await verifyBackupFile({ ...rest, passphrase: passphraseFile === undefined ? undefined : passphrase });
  bar.end();
  const { out } = terminal;
  const rows = Object.values(manifest.rows).reduce((sum, count) => sum + count, 0);
  out.write(
    `whole: backup ${head.id} of ${head.createTime}, at ${head.migrations.at(-1)?.name ?? "no migration"}: ${rows} rows, ${manifest.blobs.count} blobs\n`,
  );
  if (manifest.brokenBlobs.length > 0) out.write(`${manifest.brokenBlobs.length} blobs were broken when it was made: their next push brings them\n`);
  out.write(secretKey === undefined ? "who has written it is not known: the secret key is not here\n" : "written with this secret key\n");
  if (hasKey) out.write("the secret key is in it, under a passphrase\n");
};

export const backupCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "backup",
    usage: "[--verify] [--with-key] [--passphrase-file FILE] FILE|DIR",
    description: `Writes everything that the server keeps, as it is at one moment, to a file (tar) or, where the name ends in "/" or is that
of an empty folder, to a folder: every table, and the bytes of every blob. Beside running servers, which go on writing,
or without one; nothing that is there is replaced. With DATABASE_URL it needs a role that may read everything: the
owner's (GANTRY_MIGRATE_URL, or DATABASE_URL), or a member of pg_read_all_data in DATABASE_URL.

It is sealed with the secret key, which is not in it: keep that elsewhere, or use --with-key. Everything else that is
secret is in it as the database has it. Sign-ins, sessions and uploads that are under way are not in it.`,
    notes: `Exit status: 0 all of it, 1 no backup was made (or with --verify: it is not whole), 2 blobs that were broken are not in it.

Examples:  gantry admin backup /backups/gantry-$(date +%F).tar
           gantry admin backup --verify /backups/gantry-2026-11-23.tar
           gantry admin backup --with-key --passphrase-file /root/passphrase /mnt/usb/gantry/`,
    wrongArguments: "name a file or a folder: gantry admin backup FILE",
  })
    .argument("<PATH>")
    .option("--verify", "reads a whole backup and says whether it is what was written; with the secret key, also by whom")
    .option("--with-key", "puts the secret key in, encrypted with a passphrase")
    .option(...passphraseOption)
    .action(async (path: string, { verify = false, withKey = false, passphraseFile }: BackupOptions) => {
      if (verify) return verifyBackup(terminal, path, passphraseFile);
      if (passphraseFile !== undefined && !withKey) throw wrongUsage("--passphrase-file is for --with-key");
      const { work, bar } = workOf(terminal, path, passphraseFile, true);
      const { passphrase } = work;
      if (withKey && passphrase === undefined) throw wrongUsage("--with-key needs a passphrase: --passphrase-file FILE, or a terminal to ask at");
      const interruption = openInterruption();
      try {
        const { id, createTime, tables, rows, blobs, blobBytes, broken } = await backupDatabase(
          { ...work, passphrase: withKey && passphrase ? async () => requirePassphrase(await passphrase()) : undefined },
          interruption.signal,
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
    description: `Restores a backup into an empty place: a GANTRY_DATA without a database or, with DATABASE_URL, an empty database with
its owner's connection (GANTRY_MIGRATE_URL, or DATABASE_URL), and an empty place for blobs. All of it is read and verified
before anything is written, and counted and verified once more behind that. Needs the secret key that the servers had, or
the passphrase of a backup made --with-key.

That and what was restored is recorded in the audit log, and every organization is told: positions of events and numbers
of the audit log go on behind all that were given before, so that nobody who remembers a later state misses anything.`,
    notes: `Exit status: 0 restored, 1 nothing was restored, 2 restored with what was broken when the backup was made.

Examples:  GANTRY_DATA=/srv/gantry gantry admin restore /backups/gantry-2026-11-23.tar
           gantry admin restore --recorded`,
    wrongArguments: "name a backup: gantry admin restore FILE",
  })
    .argument("[PATH]")
    .option("--recorded", "restores nothing: records that PostgreSQL's own means have brought the database to an earlier\nstate. While no server runs")
    .option(...passphraseOption)
    .action(async (path: string | undefined, { recorded = false, passphraseFile }: RestoreOptions) => {
      const { out } = terminal;
      if (recorded === (path !== undefined)) throw wrongUsage("name a backup, or say --recorded: gantry admin restore FILE");
      const { work, bar } = workOf(terminal, path ?? "", passphraseFile, false);
      if (path === undefined) {
        const { stateTime, base } = await recordOwnRestore(work);
        out.write(`recorded: the state of ${stateTime}; positions go on behind ${base}\n`);
        return;
      }
      try {
        const { restore, rows, blobs, broken, logProblems } = await restoreDatabase(work);
        bar.end();
        out.write(`restored the state of ${restore.stateTime}: ${rows} rows, ${blobs} blobs; positions go on behind ${restore.base}\n`);
        for (const problem of logProblems) out.write(`audit log NOT WHOLE, as it was: ${problem}\n`);
        if (broken > 0) out.write(`${broken} blobs were broken when the backup was made: their next push brings them\n`);
        if (broken > 0 || logProblems.length > 0) terminal.status = exitStatus.partly;
      } finally {
        bar.end();
      }
    });
