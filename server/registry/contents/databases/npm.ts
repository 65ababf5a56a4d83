// npm's packages: the package.json directly in node_modules/NAME or node_modules/@SCOPE/NAME. Lock files and the project's own
// package.json state what is wanted, not what is there.

import { isObject, text } from "#base/json.ts";
import { type FoundPackage, pathPackage } from "../found-package.ts";
import { readJsonFile } from "./json-file.ts";

export const isNpmPackage = (path: string): boolean => /(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/@.][^/]*\/package\.json$/.test(path);

export const readNpm = (bytes: Buffer): FoundPackage[] => {
  const value = readJsonFile(bytes);
  if (!isObject(value)) return [];
  const [name, version] = [text(value, "name"), text(value, "version")];
  // Without them it is a folder of a package, not a package.
  return name === "" || version === "" ? [] : [pathPackage("npm", name, version)];
};
