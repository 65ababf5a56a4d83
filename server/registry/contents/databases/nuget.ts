// NuGet packages of a published .NET application: NAME.deps.json lists its libraries; those of type "package" came from NuGet.

import { isObject, part, text } from "#base/json.ts";
import { type FoundPackage, plainPackage } from "../found-package.ts";
import { readJsonFile } from "./json-file.ts";

export const isNugetList = (path: string): boolean => path.endsWith(".deps.json");

export const readNuget = (bytes: Buffer): FoundPackage[] => {
  const value = readJsonFile(bytes);
  if (!isObject(value)) return [];
  return Object.entries(part(value, "libraries")).flatMap(([key, library]) => {
    const [, name, version] = /^([^/]+)\/([^/]+)$/.exec(key) ?? [];
    if (name === undefined || version === undefined || !isObject(library) || text(library, "type") !== "package") return [];
    return [plainPackage("nuget", name, version)];
  });
};
