// Python's installed distributions: NAME.dist-info/METADATA, NAME.egg-info or NAME.egg-info/PKG-INFO.

import { type FoundPackage, plainPackage } from "../found-package.ts";
import { readStanzas } from "./text-stanzas.ts";

const wanted = new Set(["Name", "Version"]);

export const isPythonMetadata = (path: string): boolean =>
  /(?:^|\/)[^/]+\.dist-info\/METADATA$/.test(path) || /(?:^|\/)(?:[^/]+\.egg-info|EGG-INFO)\/PKG-INFO$/.test(path) || /(?:^|\/)[^/]+\.egg-info$/.test(path);

export const readPython = (bytes: Buffer): FoundPackage[] => {
  let found: FoundPackage | undefined;
  let isFirst = true;
  // The description follows the first empty line.
  readStanzas(bytes.toString("utf8"), wanted, (fields) => {
    const [name, version] = [fields.get("Name"), fields.get("Version")];
    if (isFirst && name !== undefined && version !== undefined) found = plainPackage("pypi", name.toLowerCase().replaceAll("_", "-"), version);
    isFirst = false;
  });
  return found ? [found] : [];
};
