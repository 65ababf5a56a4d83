// The form by which names of packages are compared in ecosystems that ignore case or separators. Pure.

import { normalizePythonName } from "./python-name.ts";

/** Returns the address of a repository without scheme, `.git` and case. */
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
  // Owners and repositories of GitHub are case-insensitive.
  ["GitHub Actions", lowerCase],
  ["SwiftURL", repositoryKey],
  ["GIT", repositoryKey],
]);

/** @param ecosystem of OSV's, without a release */
export const packageNameKey = (ecosystem: string, name: string): string => keys.get(ecosystem)?.(name) ?? name;

/** Returns every form that some ecosystem compares the name by. */
export const packageNameForms = (name: string): string[] => [...new Set([name, ...[...keys.values()].map((key) => key(name))])];

const ecosystemsOfTypes: ReadonlyMap<string, string> = new Map([
  ["pypi", "PyPI"],
  ["nuget", "NuGet"],
  ["githubactions", "GitHub Actions"],
  ["swift", "SwiftURL"],
]);

/** @param type of package URLs */
export const packageNameKeyOfType = (type: string, name: string): string => packageNameKey(ecosystemsOfTypes.get(type) ?? "", name);
