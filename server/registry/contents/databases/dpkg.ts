// dpkg's database: var/lib/dpkg/status, and one file for each package in status.d (distroless images), without a status.

import type { FoundPackage } from "../found-package.ts";
import { readStanzas } from "./text-stanzas.ts";

const wanted = new Set(["Package", "Status", "Version", "Architecture", "Source"]);

/** Removed packages keep their configuration files; a package that is being installed has its files. */
const isInstalled = (status: string | undefined): boolean => status === undefined || !/^(?:not-installed|config-files)$/.test(status.split(" ")[2] ?? "");

/** "openssl (3.0.9-1)", or "openssl" for the version of the package. */
const sourceForm = /^(\S+)(?: \(([^)\s]+)\))?$/;

export const readDpkg = (bytes: Buffer): FoundPackage[] => {
  const found: FoundPackage[] = [];
  readStanzas(bytes.toString("utf8"), wanted, (fields) => {
    const [name, version] = [fields.get("Package"), fields.get("Version")];
    if (name === undefined || version === undefined || !isInstalled(fields.get("Status"))) return;
    const [, source = "", sourceVersion = ""] = sourceForm.exec(fields.get("Source") ?? "") ?? [];
    const isOther = source !== "" && (source !== name || (sourceVersion !== "" && sourceVersion !== version));
    found.push({
      type: "deb",
      namespace: "",
      name,
      version,
      architecture: fields.get("Architecture") ?? "",
      origin: isOther ? source : "",
      originVersion: isOther ? sourceVersion : "",
    });
  });
  return found;
};
