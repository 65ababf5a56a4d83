// Normalizes package names of ecosystems that ignore case or separators.

import { normalizePythonName } from "./python-name.ts";

/** Returns a repository URL without scheme and `.git`, in lower case. */
export const repositoryKey = (url: string): string =>
  url
    .replace(/^[a-z+]+:\/\//i, "")
    .replace(/\.git$/, "")
    .replace(/\/$/, "")
    .toLowerCase();

const lowerCase = (name: string): string => name.toLowerCase();

const keys: ReadonlyMap<string, (name: string) => string> = new Map([
  ["PyPI", normalizePythonName],
  // https://learn.microsoft.com/nuget: package IDs are case-insensitive.
  ["NuGet", lowerCase],
  // GitHub owners and repositories are case-insensitive.
  ["GitHub Actions", lowerCase],
  ["SwiftURL", repositoryKey],
  ["GIT", repositoryKey],
]);

/**
 * Returns the form by which the ecosystem compares names.
 *
 * @param ecosystem of OSV, without a release
 */
export const packageNameKey = (ecosystem: string, name: string): string => keys.get(ecosystem)?.(name) ?? name;

/** Returns the name's normalized forms in all ecosystems. */
export const packageNameForms = (name: string): string[] => [...new Set([name, ...[...keys.values()].map((key) => key(name))])];

const ecosystemsOfTypes: ReadonlyMap<string, string> = new Map([
  ["pypi", "PyPI"],
  ["nuget", "NuGet"],
  ["githubactions", "GitHub Actions"],
  ["swift", "SwiftURL"],
]);

/**
 * Returns the normalized name.
 *
 * @param type of a package URL
 */
export const packageNameKeyOfType = (type: string, name: string): string => packageNameKey(ecosystemsOfTypes.get(type) ?? "", name);
