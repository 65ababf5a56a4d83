// Which files of a layer are databases of packages, and how each is read.

import type { ByteSource } from "../byte-source.ts";
import type { DatabaseKind, FoundPackage } from "../found-package.ts";
import { readApk } from "./apk.ts";
import { isComposerList, readComposer } from "./composer.ts";
import { readCargoInfo } from "./cargo-info.ts";
import { readDpkg } from "./dpkg.ts";
import { readExecutables } from "./executable.ts";
import { isGemSpecification, readGem } from "./gem.ts";
import { readGoInfo } from "./go-info.ts";
import { isJar } from "./jar.ts";
import { isNpmPackage, readNpm } from "./npm.ts";
import { isNugetList, readNuget } from "./nuget.ts";
import { isOsRelease } from "./os-release.ts";
import { isPythonMetadata, readPython } from "./python.ts";
import { readRpmBdb } from "./rpm-bdb.ts";
import { readRpmNdb } from "./rpm-ndb.ts";
import { readRpmSqlite } from "./rpm-sqlite.ts";

/** Folders of rpm's databases; one of them is a link to another. */
const rpmForm = /^(?:var\/lib\/rpm|usr\/lib\/sysimage\/rpm|usr\/share\/rpm)\/(rpmdb\.sqlite|Packages\.db|Packages)$/;

const rpmKinds: Readonly<Record<string, DatabaseKind>> = { "rpmdb.sqlite": "rpm-sqlite", "Packages.db": "rpm-ndb", Packages: "rpm-bdb" };

/** Recognizes a database by its path; executables are recognized by their first bytes. */
export const kindOfPath = (path: string): DatabaseKind | undefined => {
  if (path === "lib/apk/db/installed" || path === "usr/lib/apk/db/installed") return "apk";
  if (path === "var/lib/dpkg/status" || (path.startsWith("var/lib/dpkg/status.d/") && !path.endsWith(".md5sums"))) return "dpkg";
  const [, rpm] = rpmForm.exec(path) ?? [];
  if (rpm !== undefined) return rpmKinds[rpm];
  if (isOsRelease(path)) return "os-release";
  if (path.endsWith("/package.json")) return isNpmPackage(path) ? "npm" : undefined;
  if (isPythonMetadata(path)) return "python";
  if (path.endsWith(".gemspec")) return isGemSpecification(path) ? "gem" : undefined;
  if (isNugetList(path)) return "nuget";
  if (isComposerList(path)) return "composer";
  return isJar(path) ? "jar" : undefined;
};

/** Databases in memory, and whether they are of one package. */
export const textReaders: ReadonlyMap<DatabaseKind, { readonly read: (bytes: Buffer) => FoundPackage[]; readonly isOfOne: boolean }> = new Map([
  ["apk", { read: readApk, isOfOne: false }],
  ["dpkg", { read: readDpkg, isOfOne: false }],
  ["npm", { read: readNpm, isOfOne: true }],
  ["python", { read: readPython, isOfOne: true }],
  ["gem", { read: readGem, isOfOne: true }],
  ["nuget", { read: readNuget, isOfOne: false }],
  ["composer", { read: readComposer, isOfOne: false }],
]);

const readExecutable = (source: ByteSource, use: (found: FoundPackage) => void): void => {
  for (const { executable, bytes } of readExecutables(source))
    for (const found of [...readGoInfo(executable, bytes), ...readCargoInfo(executable, bytes)]) use(found);
};

/** Databases that are read in any order. They call `use` for each package, and throw DatabaseError. */
export const sourceReaders: ReadonlyMap<DatabaseKind, (source: ByteSource, use: (found: FoundPackage) => void) => void> = new Map([
  ["executable", readExecutable],
  ["rpm-sqlite", readRpmSqlite],
  ["rpm-ndb", readRpmNdb],
  ["rpm-bdb", readRpmBdb],
]);
