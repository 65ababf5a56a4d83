// Do the OpenAPI documents still keep what they promised? Compares them with their landed state: main, or the commit before on main. An
// operation, a parameter or an answer's field that is gone or narrower, and what a request must say more, break a promise. Part of
// `npm run check`. A landed document that was wrong where the server was right is named in contract/openapi/corrections.json, by its
// SHA-256 and with the reason, and is not compared with. What is found is api-smart-diff's; two things that it lets pass are added (isBreaking).

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { apiCompare, type Diff } from "api-smart-diff";

const folder = "contract/gen/openapi";

/** Keys whose value says what a value is: another one is another type. */
const kinds: ReadonlySet<string> = new Set(["type", "format", "const", "$ref", "contentEncoding", "in", "operationId"]);

/** A name behind "properties" is a property, unless it is itself a property of that name. */
const isProperty = (path: Diff["path"]): boolean => path.at(-2) === "properties" && path.at(-3) !== "properties";

/** True for what breaks whoever relied on the document: as api-smart-diff judges, and beside it a field that is gone, and one of another type. */
const isBreaking = ({ type, action, path }: Diff): boolean =>
  type === "breaking" || (action === "remove" && isProperty(path)) || (action === "replace" && kinds.has(String(path.at(-1))) && !isProperty(path));

/** What the later document breaks of the earlier one, each once. */
export const brokenPromises = (before: object, after: object): string[] => {
  const { diffs } = apiCompare(before, after);
  // Components are compared where they are used, too: what nobody uses has promised nobody anything.
  const used = diffs.filter((diff) => isBreaking(diff) && diff.path[0] === "paths");
  return [...new Set(used.map(({ action, path }) => `${action} ${path.join(" › ")}`))];
};

const git = (...args: string[]): string | undefined => {
  const { status, stdout } = spawnSync("git", args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024, stdio: ["ignore", "pipe", "ignore"] });
  return status === 0 ? stdout : undefined;
};

/** The landed state: where this branch left main; on main itself the commit before. */
const landedCommit = (): string | undefined => {
  const head = git("rev-parse", "HEAD")?.trim();
  for (const branch of ["origin/main", "main"]) {
    const base = git("merge-base", "HEAD", branch)?.trim();
    if (base !== undefined && base !== head) return base;
  }
  if (git("rev-parse", "--is-shallow-repository")?.trim() === "true") git("fetch", "--quiet", "--deepen=1");
  return git("rev-parse", "--verify", "--quiet", "HEAD^")?.trim();
};

if (process.argv[1] === import.meta.filename) {
  const commit = landedCommit();
  const corrections: Readonly<Record<string, string>> = JSON.parse(readFileSync("contract/openapi/corrections.json", "utf8"));
  // The parts say what these two say.
  for (const path of globSync(`${folder}/{whole,v1}.json`).sort()) {
    const before = commit === undefined ? undefined : git("show", `${commit}:${path}`);
    if (before === undefined) {
      console.log(`${basename(path)}: not compared, since no landed state has it.`);
      continue;
    }
    const reason = corrections[createHash("sha256").update(before).digest("hex")];
    if (reason !== undefined) {
      console.log(`${basename(path)}: not compared with ${commit?.slice(0, 7)}. ${reason}`);
      continue;
    }
    const broken = brokenPromises(JSON.parse(before), JSON.parse(readFileSync(path, "utf8")));
    for (const each of broken) console.error(`${basename(path)}: ${each}`);
    if (broken.length > 0) process.exitCode = 1;
    else console.log(`${basename(path)} keeps what ${commit?.slice(0, 7)} promised.`);
  }
}
