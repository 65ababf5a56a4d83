// Checks the contract for breaking changes against earlier states in git: the last commit (if there are uncommitted changes),
// main, and the states before recent changes, because several commits may land together. States inside a merged branch do not
// count. Part of `npm run check`.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const watched = ["contract/proto", "contract/vendor", "buf.yaml"];
const changesMax = 5;

const git = (...args: string[]): string | undefined => {
  const { status, stdout } = spawnSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return status === 0 ? stdout.trim() : undefined;
};

const commit = (name: string): string | undefined => git("rev-parse", "--verify", "--quiet", `${name}^{commit}`);

const earlier = (): Map<string, string> => {
  const found = new Map<string, string>();
  const add = (sha: string | undefined, words: string): void => {
    if (sha !== undefined && !found.has(sha)) found.set(sha, words);
  };
  const head = commit("HEAD");
  if (head === undefined) return found;
  // A shallow clone needs one more commit.
  if (git("rev-parse", "--is-shallow-repository") === "true") git("fetch", "--quiet", "--deepen=1");
  if (git("status", "--porcelain", "--", ...watched) !== "") add(head, "the last commit");
  for (const branch of ["origin/main", "main"]) {
    const base = commit(branch) === undefined ? undefined : git("merge-base", "HEAD", branch);
    if (base !== head) add(base, `where this branch left ${branch}`);
  }
  for (const change of (git("log", "--first-parent", `--max-count=${changesMax}`, "--format=%H", "--", ...watched) ?? "").split("\n")) {
    add(commit(`${change}^`), `the state before ${change.slice(0, 7)}`);
  }
  return found;
};

const keepsPromises = (sha: string, words: string): boolean => {
  const folder = mkdtempSync(join(tmpdir(), "gantry-breaking-"));
  try {
    const archive = spawnSync("git", ["archive", sha, ...watched], { maxBuffer: 256 * 1024 * 1024 });
    if (archive.status !== 0) {
      console.log(`Not compared with ${words} (${sha.slice(0, 7)}): there was no contract yet.`);
      return true;
    }
    const unpacked = spawnSync("tar", ["-x", "-C", folder], { input: archive.stdout });
    if (unpacked.status !== 0) throw new Error(`the contract of ${sha} cannot be unpacked: ${unpacked.stderr}`);
    const { status } = spawnSync("buf", ["breaking", "--against", folder], { stdio: "inherit" });
    console.log(`${status === 0 ? "Keeps the promises of" : "Breaks promises of"} ${words} (${sha.slice(0, 7)}).`);
    return status === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const states = [...earlier()];
if (states.length === 0) console.log("Not compared: git knows no earlier state of the contract.");
if (!states.map(([sha, words]) => keepsPromises(sha, words)).every(Boolean)) process.exitCode = 1;
