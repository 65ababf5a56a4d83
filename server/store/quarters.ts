// Where the embedded PostgreSQL lives, and as whom it runs.
//
// It lives in <GANTRY_DATA>/postgres and runs as whoever runs Gantry, except under root: PostgreSQL refuses to run
// as root, so it then runs as another user, who must be able to reach both its data and its programs. Where he
// cannot (a clone under /root), the programs are copied and the data gets a place below /var/lib/gantry, to which
// <GANTRY_DATA>/postgres is a link.

import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { chmod, chown, lstat, mkdir, readFile, readlink, realpath, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { Fault } from "#base/fault.ts";
import { type Binaries, copyBinaries, fitBinaries, installedBinaries, versionOf } from "./binaries.ts";

/** The user that PostgreSQL runs as, where that is not our own. */
export interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

export interface Quarters {
  /** PostgreSQL's data; absent until initdb has run. */
  readonly directory: string;
  readonly socketDirectory: string;
  readonly runAs: RunAs | undefined;
  readonly binaries: Binaries;
}

/** The number in the socket's name; there is no TCP port. */
export const port = 5432;

/** The one line that a start fails with. */
export const refusal = (message: string, cause?: unknown): Fault => new Fault("FAILED_PRECONDITION", message, { cause });

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Where a place of our own is made when root's data directory is out of the database user's reach. */
const placesDirectory = "/var/lib/gantry";

/** sockaddr_un holds this many bytes and a final zero; macOS has four less. */
const socketPathBytesMax = process.platform === "darwin" ? 103 : 107;

// A file's status, or undefined where there is none.
const look = (path: string) =>
  lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });

const passwdEntries = async (): Promise<{ name: string; uid: number; gid: number }[]> => {
  const text = await readFile("/etc/passwd", "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    const [name = "", , uid, gid] = line.split(":");
    return name === "" ? [] : [{ name, uid: Number(uid), gid: Number(gid) }];
  });
};

/**
 * Whom root lets the database run as. A user named gantry, if the operator has made one; else the one that a system
 * PostgreSQL has; else nobody, which every system has; else we make one.
 */
const chooseUser = async (): Promise<RunAs> => {
  const find = async (names: readonly string[]): Promise<RunAs | undefined> => {
    const entries = await passwdEntries();
    for (const name of names) {
      const entry = entries.find((candidate) => candidate.name === name && candidate.uid !== 0);
      if (entry) return { uid: entry.uid, gid: entry.gid };
    }
    return undefined;
  };
  const existing = await find(["gantry", "postgres", "nobody"]);
  if (existing) return existing;
  spawnSync("useradd", ["--system", "--no-create-home", "--shell", "/usr/sbin/nologin", "gantry"], { stdio: "ignore" });
  const made = await find(["gantry"]);
  if (made) return made;
  throw refusal("PostgreSQL does not run as root, and there is no other user to run it as: add a user gantry, or set DATABASE_URL");
};

/** The user that owns what is already there. */
const ownerAs = async (uid: number, gid: number): Promise<RunAs> => (await passwdEntries()).find((entry) => entry.uid === uid) ?? { uid, gid };

/** Runs a program as the user and says whether it succeeded. */
const succeeds = (program: string, args: readonly string[], runAs: RunAs): boolean => {
  const { status, error } = spawnSync(program, args, { ...runAs, cwd: "/", stdio: "ignore", env: { PATH: process.env["PATH"] ?? "" } });
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === "EPERM" || code === "EINVAL") {
    throw refusal("PostgreSQL does not run as root, and this root may not become another user: run Gantry as another user, or set DATABASE_URL");
  }
  return status === 0;
};

/** Asked of the system itself rather than worked out from modes: access lists and mounts have their say too. */
const canEnter = (directory: string, runAs: RunAs): boolean => succeeds("/bin/sh", ["-c", 'cd "$0"', directory], runAs);

/** Makes a folder that only its owner may change, or makes sure that the one there is such. */
const ownFolder = async (path: string, mode: number, owner: RunAs | undefined): Promise<void> => {
  await mkdir(path, { mode }).then(
    async () => {
      await chmod(path, mode);
      if (owner) await chown(path, owner.uid, owner.gid);
    },
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    },
  );
  const found = await lstat(path);
  const uid = owner?.uid ?? process.getuid?.();
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o022) !== 0) {
    throw refusal(`${path} is not a folder of user ${uid} alone: remove it, or set GANTRY_DATA to another folder`);
  }
};

/** A new place for the data below /var/lib/gantry, and the link to it from the data directory. */
const makePlace = async (dataDirectory: string, link: string, runAs: RunAs): Promise<string> => {
  const unfit = (cause?: unknown) =>
    refusal(
      `PostgreSQL does not run as root, and no other user can enter ${dataDirectory}: set GANTRY_DATA to a folder that others can enter (such as /srv/gantry)`,
      cause,
    );
  const place = join(placesDirectory, randomBytes(6).toString("hex"));
  try {
    await ownFolder(placesDirectory, 0o711, undefined);
    await ownFolder(place, 0o711, undefined);
  } catch (error) {
    throw unfit(error);
  }
  const undo = () => rm(place, { recursive: true, force: true });
  if (!canEnter(place, runAs)) {
    await undo();
    throw unfit();
  }
  const target = join(place, "postgres");
  try {
    await symlink(target, link);
    return target;
  } catch (error) {
    await undo();
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    // Another server, started at the same time, was quicker.
    return readlink(link);
  }
};

/** The data's folder and its user under root. */
const settleAsRoot = async (dataDirectory: string, progress: (line: string) => void): Promise<{ directory: string; runAs: RunAs }> => {
  const link = join(dataDirectory, "postgres");
  const found = await look(link);
  if (found) {
    const directory = found.isSymbolicLink() ? await readlink(link) : link;
    const place = dirname(directory);
    if (!(await look(place))) {
      throw refusal(`${link} is a link to ${directory}, which is gone: bring that folder back, or set GANTRY_DATA to another one`);
    }
    const data = await look(directory);
    const runAs = data ? await ownerAs(data.uid, data.gid) : await chooseUser();
    if (runAs.uid === 0)
      throw refusal(`${directory} belongs to root, and PostgreSQL does not run as root: chown -R it to another user, or set GANTRY_DATA to another folder`);
    if (!canEnter(place, runAs))
      throw refusal(
        `user ${runAs.uid}, to whom ${directory} belongs, cannot enter it any more: make its parents enterable, or set GANTRY_DATA to another folder`,
      );
    return { directory, runAs };
  }

  const { uid, gid, mode } = await stat(dataDirectory);
  const runAs = uid === 0 ? await chooseUser() : await ownerAs(uid, gid);
  if (canEnter(dataDirectory, runAs)) return { directory: link, runAs };
  // Our own folder may well be entered by others: nothing in it can be listed or read. Its parents are not ours.
  if (uid === 0 && (mode & 0o001) === 0) {
    await chmod(dataDirectory, (mode & 0o777) | 0o011);
    if (canEnter(dataDirectory, runAs)) return { directory: link, runAs };
  }
  const directory = await makePlace(dataDirectory, link, runAs);
  progress(`Only root can enter ${dataDirectory}, so the database is kept in ${directory}`);
  return { directory, runAs };
};

/** The data's folder of an ordinary user. */
const settleAsUser = async (dataDirectory: string, uid: number): Promise<string> => {
  const link = join(dataDirectory, "postgres");
  const directory = await realpath(link).catch(() => link);
  const found = await look(directory).catch((error: unknown) => {
    throw refusal(
      `the database in ${directory} cannot be reached: ${reason(error)}; run Gantry as the user that made it, or set GANTRY_DATA to another folder`,
      error,
    );
  });
  if (found && found.uid !== uid) {
    throw refusal(
      `the database in ${directory} belongs to user ${found.uid}: run Gantry as that user (or as root, if root made it), or set GANTRY_DATA to another folder`,
    );
  }
  return directory;
};

/** A folder for the socket: beside the data, or where its path would be too long a private one for sockets. */
const socketDirectoryFor = async (directory: string, runAs: RunAs | undefined): Promise<string> => {
  const fits = (folder: string): boolean => Buffer.byteLength(join(folder, `.s.PGSQL.${port}`)) <= socketPathBytesMax;
  if (fits(directory)) return directory;
  const name = `gantry-${createHash("sha256").update(directory).digest("hex").slice(0, 16)}`;
  const folder = [tmpdir(), "/tmp"].map((parent) => join(resolve(parent), name)).find(fits) ?? join("/tmp", name);
  await ownFolder(folder, 0o700, runAs);
  return folder;
};

/** Finds or makes the place. `installed` is for tests: programs elsewhere than npm has put them. */
export const settle = async (dataDirectory: string, progress: (line: string) => void, installed: Binaries = installedBinaries()): Promise<Quarters> => {
  const uid = process.getuid?.();
  if (uid === undefined) throw refusal("the embedded PostgreSQL needs Unix sockets and users: set DATABASE_URL");
  const home = resolve(dataDirectory);
  try {
    const mode = uid === 0 ? 0o711 : 0o700;
    const first = await mkdir(home, { recursive: true, mode });
    // What we have made here, and nothing else, is made enterable whatever root's umask says.
    for (let made = home; first !== undefined && made.startsWith(first); made = dirname(made)) await chmod(made, mode);
  } catch (error) {
    throw refusal(`GANTRY_DATA: ${home} cannot be made: ${reason(error)}`, error);
  }

  const { directory, runAs } = uid === 0 ? await settleAsRoot(home, progress) : { directory: await settleAsUser(home, uid), runAs: undefined };
  const spare = dirname(directory);
  let binaries = await fitBinaries(installed, spare);
  if (runAs && !succeeds(binaries.postgres, ["--version"], runAs)) {
    binaries = await copyBinaries(binaries, spare);
    if (!succeeds(binaries.postgres, ["--version"], runAs)) {
      throw refusal(`the PostgreSQL that comes with Gantry does not run here (${binaries.postgres} --version fails): set DATABASE_URL`);
    }
  }

  const major = await readFile(join(directory, "PG_VERSION"), "utf8").then(
    (text) => text.trim(),
    () => undefined,
  );
  const version = await versionOf(binaries);
  if (major !== undefined && major !== version.split(".")[0]) {
    throw refusal(
      `the database in ${directory} was made by PostgreSQL ${major}, and this Gantry brings ${version}: move it over with pg_dump, or set GANTRY_DATA to another folder`,
    );
  }
  return { directory, socketDirectory: await socketDirectoryFor(directory, runAs), runAs, binaries };
};
