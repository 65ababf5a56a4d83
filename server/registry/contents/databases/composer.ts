// Composer's vendor/composer/installed.json: a list of packages in version 1, an object with one in version 2.

import { isObject, objectList, text } from "#base/json.ts";
import { type FoundPackage, pathPackage } from "../found-package.ts";
import { readJsonFile } from "./json-file.ts";

export const isComposerList = (path: string): boolean => /(?:^|\/)composer\/installed\.json$/.test(path);

export const readComposer = (bytes: Buffer): FoundPackage[] => {
  const value = readJsonFile(bytes);
  const listed = Array.isArray(value) ? value.filter(isObject) : isObject(value) ? objectList(value, "packages") : [];
  return listed.flatMap((each) => {
    const [name, version] = [text(each, "name"), text(each, "version")];
    return name === "" || version === "" ? [] : [pathPackage("composer", name, version)];
  });
};
