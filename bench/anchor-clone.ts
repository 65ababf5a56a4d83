// The anchor: a clone of this repository at one old commit with its own packages, created once in the user's cache folder.

import { execFile } from "node:child_process";
import { access, mkdir, rename, rm, symlink } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");

/** The anchor is unavailable; no figure was missed. */
export class NoAnchor extends Error {}

/** Root's database runs as another user, which cannot read folders below /root. */
export const cacheFolder = (): string => {
  if (process.getuid?.() === 0) return "/var/cache/gantry-bench";
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "gantry-bench");
};

const stderrOf = (thrown: unknown): string => {
  const { stderr } = thrown as { stderr?: unknown };
  return typeof stderr === "string" ? (stderr.trim().split("\n").at(-1) ?? "") : String(thrown);
};

const installPackages = async (clone: string, progress: (line: string) => void): Promise<void> => {
  try {
    await run("npm", ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: clone });
  } catch (thrown) {
    progress(`anchor: npm ci failed (${stderrOf(thrown)}); the anchor runs on the packages of this checkout`);
    await rm(join(clone, "node_modules"), { recursive: true, force: true });
    await symlink(join(root, "node_modules"), join(clone, "node_modules"));
  }
};

/** Returns the path of the clone, creating it if needed. Throws NoAnchor if this repository lacks the commit. */
export const anchorCheckout = async (commit: string, progress: (line: string) => void): Promise<string> => {
  const folder = cacheFolder();
  const clone = join(folder, commit);
  if (
    await access(join(clone, "bin", "gantry.js")).then(
      () => true,
      () => false,
    )
  )
    return clone;
  await run("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: root }).catch((thrown: unknown) => {
    const why = stderrOf(thrown);
    throw new NoAnchor(`this clone does not contain commit ${commit}${why === "" ? "" : ` (git: ${why})`}. Fetch the whole history: git fetch --unshallow`);
  });
  progress(`anchor: making a clone of ${commit} in ${clone}`);
  const unfinished = join(folder, `${commit}.${process.pid}`);
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 });
    await run("git", ["clone", "--quiet", "--no-checkout", root, unfinished]);
    await run("git", ["checkout", "--quiet", "--detach", commit], { cwd: unfinished });
    await installPackages(unfinished, progress);
    await rename(unfinished, clone);
  } catch (thrown) {
    await rm(unfinished, { recursive: true, force: true });
    // Another run has created it meanwhile.
    if (
      await access(clone).then(
        () => true,
        () => false,
      )
    )
      return clone;
    throw new NoAnchor(`the anchor could not be made in ${folder}: ${stderrOf(thrown)}`);
  }
  return clone;
};
