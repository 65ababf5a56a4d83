// Checks the OpenAPI documents for breaking changes against main, or on main against the commit before: removed or narrowed
// operations, parameters and response fields, and new requirements of requests. Part of `npm run check`.
//
// contract/openapi/corrections.json lists landed documents that were wrong, by SHA-256 with the reason; they are skipped.
// api-smart-diff finds the changes; isBreaking adds two kinds.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { apiCompare, type Diff } from "api-smart-diff";

const folder = "contract/gen/openapi";

/** Keys that define the type of a value. */
const kinds: ReadonlySet<string> = new Set(["type", "format", "const", "$ref", "contentEncoding", "in", "operationId"]);

/** A name after "properties" is a property, unless it is a property's own name. */
const isProperty = (path: Diff["path"]): boolean => path.at(-2) === "properties" && path.at(-3) !== "properties";

/** Returns the fields of the pattern of an `orderBy` parameter; undefined for other patterns. */
const orderFields = (pattern: unknown): ReadonlySet<string> | undefined => {
  const [, fields] = /^\^\(\?:([\w|]+)\)\(\?: \(\?:asc\|desc\)\)\?\$$/.exec(typeof pattern === "string" ? pattern : "") ?? [];
  return fields === undefined ? undefined : new Set(fields.split("|"));
};

/** A request may order by more fields than before. */
const isMoreOrders = ({ action, path, before, after }: Diff): boolean => {
  if (action !== "replace" || path.at(-1) !== "pattern") return false;
  const [landed, now] = [orderFields(before), orderFields(after)];
  return landed !== undefined && now !== undefined && landed.isSubsetOf(now);
};

const isBreakingKind = ({ type, action, path }: Diff): boolean =>
  type === "breaking" || (action === "remove" && isProperty(path)) || (action === "replace" && kinds.has(String(path.at(-1))) && !isProperty(path));

const isBreaking = (diff: Diff): boolean => !isMoreOrders(diff) && isBreakingKind(diff);

/** Returns the breaking changes, without duplicates. */
export const brokenPromises = (before: object, after: object): string[] => {
  const { diffs } = apiCompare(before, after);
  // Components are compared where they are used; unused ones do not matter.
  const used = diffs.filter((diff) => isBreaking(diff) && diff.path[0] === "paths");
  return [...new Set(used.map(({ action, path }) => `${action} ${path.join(" › ")}`))];
};

const git = (...args: string[]): string | undefined => {
  const { status, stdout } = spawnSync("git", args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024, stdio: ["ignore", "pipe", "ignore"] });
  return status === 0 ? stdout : undefined;
};

/** Returns the merge base with main; on main, the commit before. */
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
  // The other documents are parts of these two.
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
