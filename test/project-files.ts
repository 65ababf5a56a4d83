// The project's own text files, for tests of project-wide rules.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

const ignoredNames = readFileSync(join(root, ".gitignore"), "utf8")
  .split("\n")
  .filter((line) => line !== "");
const isIgnored = (name: string): boolean =>
  name === ".git" || ignoredNames.some((line) => (line.startsWith("*") ? name.endsWith(line.slice(1)) : line.replace(/\/$/, "") === name));

/** Not from git, which an unpacked archive lacks. */
const found = globSync("{*,.*,.*/**/*,*/**/*}", { cwd: root, withFileTypes: true, exclude: (entry) => isIgnored(entry.name) })
  .filter((entry) => entry.isFile() && !isIgnored(entry.name))
  .map((entry) =>
    join(entry.parentPath, entry.name)
      .slice(root.length + 1)
      .replaceAll("\\", "/"),
  )
  .sort()
  .map((path) => [path, readFileSync(join(root, path), "utf8")] as const);
/** A short compressed file may have no zero byte. */
const isBinary = (path: string, content: string): boolean => /\.(?:br|gz)$/.test(path) || content.includes("\0");

export const files: ReadonlyMap<string, string> = new Map(found.filter(([path, content]) => !isBinary(path, content)));
export const binaryFiles: ReadonlySet<string> = new Set(found.filter(([path, content]) => isBinary(path, content)).map(([path]) => path));

export const isGenerated = (path: string): boolean =>
  path.startsWith("contract/gen/") || path.startsWith("client/gen/") || /^server\/\w+\/resources\/index\.ts$/.test(path);
const isVendored = (path: string): boolean => path.startsWith("contract/vendor/") || path === "LICENSE";
/** Written by hand for this project. */
export const isOurs = (path: string): boolean => !isGenerated(path) && !isVendored(path) && path !== "package-lock.json";
export const isCode = (path: string): boolean => /\.(?:ts|js)$/.test(path) && isOurs(path);
export const isTest = (path: string): boolean => /\.test\.ts$/.test(path);
