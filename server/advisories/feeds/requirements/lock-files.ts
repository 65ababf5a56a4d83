// Reads poetry.lock and uv.lock. A package from outside an index (git, URL, directory) cannot be requested. In uv.lock the
// project and its members are not requirements.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { normalizePythonName } from "#base/versions/python-name.ts";
import { DocumentError } from "../invalid.ts";
import { readToml } from "../parse/toml.ts";
import { FoundRequirements, type Requirement, unpinned } from "./requirement.ts";

const nameForm = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;

const packageLines = (content: string): number[] => content.split("\n").flatMap((line, index) => (/^\s*\[\[\s*package\s*\]\]/.test(line) ? [index + 1] : []));

interface LockedPackage {
  readonly name: string;
  readonly version: string;
  readonly source: JsonObject;
  readonly line: number;
}

const textAt = (entry: JsonObject, key: string, line: number, required: boolean): string => {
  const value: Json | undefined = entry[key];
  if (value === undefined && !required) return "";
  if (typeof value !== "string" || value === "") throw new DocumentError(line, `the package has no ${key}`);
  return value;
};

const readPackages = async (content: string, needsVersion: boolean): Promise<LockedPackage[]> => {
  const { package: packages = [] } = await readToml(content);
  const lines = packageLines(content);
  if (!Array.isArray(packages)) throw new DocumentError(1, "package must be a list of tables");
  return packages.map((entry, index) => {
    const line = lines[index] ?? 1;
    if (!isObject(entry)) throw new DocumentError(line, "a package must be a table");
    const name = textAt(entry, "name", line, true);
    if (!nameForm.test(name)) throw new DocumentError(line, "the package name is not a valid Python package name");
    const source = entry.source ?? {};
    if (!isObject(source)) throw new DocumentError(line, "the package's source must be a table");
    return { name: normalizePythonName(name), version: textAt(entry, "version", line, needsVersion), source, line };
  });
};

const requirementOf = ({ name, version }: LockedPackage, isFromIndex: boolean): Requirement => ({
  text: version === "" ? name : `${name}==${version}`,
  name,
  version,
  problem: !isFromIndex ? "does not come from an index of packages" : version === "" ? unpinned : "",
});

const collect = (packages: readonly LockedPackage[], isFromIndex: (one: LockedPackage) => boolean): readonly Requirement[] => {
  const found = new FoundRequirements();
  for (const one of packages) found.add(one.line, requirementOf(one, isFromIndex(one)));
  return found.list;
};

/** Throws DocumentError. */
export const readPoetryLock = async (content: string): Promise<readonly Requirement[]> =>
  collect(await readPackages(content, true), ({ source }) => source.type === undefined || source.type === "legacy");

/** Throws DocumentError. */
export const readUvLock = async (content: string): Promise<readonly Requirement[]> => {
  const packages = await readPackages(content, false);
  return collect(
    packages.filter(({ source }) => !("virtual" in source || "editable" in source)),
    ({ source }) => "registry" in source,
  );
};
