// Data directory and user of the embedded PostgreSQL.
//
// The data is in <GANTRY_DATA>/postgres. PostgreSQL refuses to run as root, so under root it runs as another user, who needs access
// to data and programs. If that user lacks access (a clone under /root), the programs are copied, and <GANTRY_DATA>/postgres is a
// link to data below /var/lib/gantry.

import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { chmod, chown, lstat, mkdir, readFile, readlink, realpath, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileExists, findFileStatus } from "./file-status.ts";
import { copyInstallation, findInstallation, type Installation, prepareInstallation, readVersion } from "./installation.ts";
import { isAlive, readPostmasterFile } from "./postmaster-record.ts";
import { errorText, startFailure } from "./start-failure.ts";

interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

export interface DataDirectory {
  /** PostgreSQL's data; absent before initdb. */
  readonly directory: string;
  readonly socketDirectory: string;
  readonly runAs: RunAs | undefined;
  readonly installation: Installation;
}

/** Number in the socket's name; there is no TCP port. */
export const port = 5432;

/** Parent of the data if the database user cannot enter root's data directory. */
const relocationParent = "/var/lib/gantry";

/** Limit of sockaddr_un, without the final zero; macOS has four bytes less. */
const socketPathBytesMax = process.platform === "darwin" ? 103 : 107;

const readPasswdEntries = async (): Promise<{ name: string; uid: number; gid: number }[]> => {
  const text = await readFile("/etc/passwd", "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    const [name = "", , uid, gid] = line.split(":");
    return name === "" ? [] : [{ name, uid: Number(uid), gid: Number(gid) }];
  });
};

/** The first in the list that exists, or else a new user gantry. */
const chooseUser = async (): Promise<RunAs> => {
  const findUser = async (names: readonly string[]): Promise<RunAs | undefined> => {
    const entries = await readPasswdEntries();
    for (const name of names) {
      const entry = entries.find((candidate) => candidate.name === name && candidate.uid !== 0);
      if (entry) return { uid: entry.uid, gid: entry.gid };
    }
    return undefined;
  };
  const existing = await findUser(["gantry", "postgres", "nobody"]);
  if (existing) return existing;
  spawnSync("useradd", ["--system", "--no-create-home", "--shell", "/usr/sbin/nologin", "gantry"], { stdio: "ignore" });
  const made = await findUser(["gantry"]);
  if (made) return made;
  throw startFailure("PostgreSQL does not run as root, and no other user is available. Add a user gantry, or set DATABASE_URL");
};

const userOfOwner = async (uid: number, gid: number): Promise<RunAs> => (await readPasswdEntries()).find((entry) => entry.uid === uid) ?? { uid, gid };

const runsAs = (program: string, args: readonly string[], runAs: RunAs): boolean => {
  const { status, error } = spawnSync(program, args, { ...runAs, cwd: "/", stdio: "ignore", env: { PATH: process.env["PATH"] ?? "" } });
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === "EPERM" || code === "EINVAL") {
    throw startFailure("PostgreSQL does not run as root, and this root cannot become another user. Run Gantry as another user, or set DATABASE_URL");
  }
  return status === 0;
};

/** Tried, not derived from modes: access lists and mounts count too. */
const canEnter = (directory: string, runAs: RunAs): boolean => runsAs("/bin/sh", ["-c", 'cd "$0"', directory], runAs);

/** One by one: Node's recursive mkdir loops forever where none can be created (below /proc, Node 24). Sets the mode despite the umask. */
const makeFolders = async (path: string, mode: number): Promise<void> => {
  if (dirname(path) !== path && !(await fileExists(dirname(path)))) await makeFolders(dirname(path), mode);
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST" && (await stat(path)).isDirectory()) return;
    throw error;
  }
  await chmod(path, mode);
};

const ensurePrivateFolder = async (path: string, mode: number, owner: RunAs | undefined): Promise<void> => {
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
    throw startFailure(`${path} is not a directory owned by user ${uid} alone. Remove it, or set GANTRY_DATA to another directory`);
  }
};

/** Returns the data's path. */
const relocate = async (dataDirectory: string, link: string, runAs: RunAs): Promise<string> => {
  const unreachable = (cause?: unknown) =>
    startFailure(
      `PostgreSQL does not run as root, and other users cannot enter ${dataDirectory}. Set GANTRY_DATA to one that they can enter (such as /srv/gantry)`,
      cause,
    );
  const folder = join(relocationParent, randomBytes(6).toString("hex"));
  try {
    await ensurePrivateFolder(relocationParent, 0o711, undefined);
    await ensurePrivateFolder(folder, 0o711, undefined);
  } catch (error) {
    throw unreachable(error);
  }
  const undo = () => rm(folder, { recursive: true, force: true });
  if (!canEnter(folder, runAs)) {
    await undo();
    throw unreachable();
  }
  const target = join(folder, "postgres");
  try {
    await symlink(target, link);
    return target;
  } catch (error) {
    await undo();
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    // Another server created it concurrently.
    return readlink(link);
  }
};

/** A user whose server runs can enter the data and run the programs: trying both takes a twentieth of `gantry token`. */
const hasServer = async (directory: string): Promise<boolean> => {
  const pid = (await readPostmasterFile(directory).catch(() => undefined))?.pid;
  return pid !== undefined && pid > 0 && isAlive(pid);
};

const locateAsRoot = async (dataDirectory: string, progress: (line: string) => void): Promise<{ directory: string; runAs: RunAs }> => {
  const link = join(dataDirectory, "postgres");
  const found = await findFileStatus(link);
  if (found) {
    const directory = found.isSymbolicLink() ? await readlink(link) : link;
    const parent = dirname(directory);
    if (!(await findFileStatus(parent))) {
      throw startFailure(`${link} is a link to ${directory}, which does not exist. Restore that directory, or set GANTRY_DATA to another one`);
    }
    const data = await findFileStatus(directory);
    const runAs = data ? await userOfOwner(data.uid, data.gid) : await chooseUser();
    if (runAs.uid === 0)
      throw startFailure(
        `${directory} belongs to root, and PostgreSQL does not run as root: chown -R it to another user, or set GANTRY_DATA to another directory`,
      );
    if (!(await hasServer(directory)) && !canEnter(parent, runAs))
      throw startFailure(
        `user ${runAs.uid}, the owner of ${directory}, can no longer enter it. Make its parents accessible, or set GANTRY_DATA to another directory`,
      );
    return { directory, runAs };
  }

  const { uid, gid, mode } = await stat(dataDirectory);
  const runAs = uid === 0 ? await chooseUser() : await userOfOwner(uid, gid);
  if (canEnter(dataDirectory, runAs)) return { directory: link, runAs };
  // Lets others enter our own directory without listing or reading it. Its parents are not ours.
  if (uid === 0 && (mode & 0o001) === 0) {
    await chmod(dataDirectory, (mode & 0o777) | 0o011);
    if (canEnter(dataDirectory, runAs)) return { directory: link, runAs };
  }
  const directory = await relocate(dataDirectory, link, runAs);
  progress(`Only root can enter ${dataDirectory}, so the database is kept in ${directory}`);
  return { directory, runAs };
};

const locateAsUser = async (dataDirectory: string, uid: number): Promise<string> => {
  const link = join(dataDirectory, "postgres");
  const directory = await realpath(link).catch(() => link);
  const found = await findFileStatus(directory).catch((error: unknown) => {
    throw startFailure(
      `the database in ${directory} cannot be reached: ${errorText(error)}. Run Gantry as the user that created it, or set GANTRY_DATA to another directory`,
      error,
    );
  });
  if (found && found.uid !== uid) {
    throw startFailure(
      `the database in ${directory} belongs to user ${found.uid}. Run Gantry as that user (as root, if root created it), or set another GANTRY_DATA`,
    );
  }
  return directory;
};

/** The data directory, or a private one if that path is too long. */
const ensureSocketDirectory = async (directory: string, runAs: RunAs | undefined): Promise<string> => {
  const isShortEnough = (folder: string): boolean => Buffer.byteLength(join(folder, `.s.PGSQL.${port}`)) <= socketPathBytesMax;
  if (isShortEnough(directory)) return directory;
  const name = `gantry-${createHash("sha256").update(directory).digest("hex").slice(0, 16)}`;
  const folder = [tmpdir(), "/tmp"].map((parent) => join(resolve(parent), name)).find(isShortEnough) ?? join("/tmp", name);
  await ensurePrivateFolder(folder, 0o700, runAs);
  return folder;
};

/**
 * Finds or creates a data directory that its user can enter, with programs that this user can run. `installed` is for tests. Throws a
 * one-line Fault.
 */
export const prepareDataDirectory = async (
  dataDirectory: string,
  progress: (line: string) => void,
  installed: Installation = findInstallation(),
): Promise<DataDirectory> => {
  const uid = process.getuid?.();
  if (uid === undefined) throw startFailure("the embedded PostgreSQL needs Unix sockets and users: set DATABASE_URL");
  const home = resolve(dataDirectory);
  try {
    const mode = uid === 0 ? 0o711 : 0o700;
    await makeFolders(home, mode);
  } catch (error) {
    throw startFailure(`GANTRY_DATA: ${home} cannot be made: ${errorText(error)}`, error);
  }

  const { directory, runAs } = uid === 0 ? await locateAsRoot(home, progress) : { directory: await locateAsUser(home, uid), runAs: undefined };
  const copiesDirectory = dirname(directory);
  let installation = await prepareInstallation(installed, copiesDirectory);
  if (runAs && !(await hasServer(directory)) && !runsAs(installation.postgres, ["--version"], runAs)) {
    installation = await copyInstallation(installation, copiesDirectory);
    if (!runsAs(installation.postgres, ["--version"], runAs)) {
      throw startFailure(`the PostgreSQL that comes with Gantry does not run here (${installation.postgres} --version fails): set DATABASE_URL`);
    }
  }

  const major = await readFile(join(directory, "PG_VERSION"), "utf8").then(
    (text) => text.trim(),
    () => undefined,
  );
  const version = await readVersion(installation);
  if (major !== undefined && major !== version.split(".")[0]) {
    throw startFailure(
      `the database in ${directory} was made by PostgreSQL ${major}, and this Gantry brings ${version}: ` +
        "move it with gantry admin backup of the previous version and gantry admin restore of this one, or set GANTRY_DATA to another directory",
    );
  }
  return { directory, socketDirectory: await ensureSocketDirectory(directory, runAs), runAs, installation };
};
