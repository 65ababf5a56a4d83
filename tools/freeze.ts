// Released migrations never change: a database compares the checksums of applied ones and refuses to start on a mismatch.
// checksums.txt has them in the format of `sha256sum`.
//
//   npm run freeze          adds entries for new migrations, and changes none
//   node tools/freeze.ts --check
//                           part of `npm run check`: fails if a migration was changed, deleted, or has no entry

import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const directory = join(import.meta.dirname, "..", "server", "db", "migrations");

export type Checksums = ReadonlyMap<string, string>;

/** As in server/db/migration-files.ts; checkouts may convert line ends. */
export const checksumOf = (sql: string): string => createHash("sha256").update(sql.replaceAll("\r\n", "\n")).digest("hex");

export const parseChecksums = (text: string): Checksums =>
  new Map([...text.matchAll(/^([0-9a-f]{64}) {2}(\S+)$/gm)].map(([, checksum = "", name = ""]) => [name, checksum]));

export const formatChecksums = (checksums: Checksums): string =>
  [...checksums]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, checksum]) => `${checksum}  ${name}\n`)
    .join("");

/** Returns a sentence for each changed migration, and the names without an entry. */
export const compareChecksums = (frozen: Checksums, files: Checksums): { readonly changed: readonly string[]; readonly missing: readonly string[] } => ({
  changed: [...frozen].flatMap(([name, checksum]) => {
    if (files.get(name) === checksum) return [];
    return files.has(name)
      ? [`${name} has changed since it landed: put it back as it was, and write a new migration`]
      : [`${name} has landed and is gone: put it back, and write a new migration`];
  }),
  missing: [...files.keys()].filter((name) => !frozen.has(name)).sort(),
});

const main = (): number => {
  const path = join(directory, "checksums.txt");
  const frozen = parseChecksums(existsSync(path) ? readFileSync(path, "utf8") : "");
  const files = new Map(globSync("*.sql", { cwd: directory }).map((name) => [name, checksumOf(readFileSync(join(directory, name), "utf8"))] as const));
  const { changed, missing } = compareChecksums(frozen, files);
  for (const sentence of changed) console.error(sentence);
  if (process.argv.includes("--check")) {
    for (const name of missing) console.error(`${name} has no entry in server/db/migrations/checksums.txt:  npm run freeze`);
    if (files.size === 0) console.error("There are no migrations.");
    return changed.length + missing.length > 0 || files.size === 0 ? 1 : 0;
  }
  if (changed.length > 0) return 1;
  writeFileSync(path, formatChecksums(files));
  for (const name of missing) console.log(`${name} is frozen`);
  return 0;
};

if (process.argv[1] === import.meta.filename) process.exitCode = main();
