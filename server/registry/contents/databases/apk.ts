// apk's database lib/apk/db/installed: P name, V version, A architecture, o origin.

import type { FoundPackage } from "../found-package.ts";
import { readStanzas } from "./text-stanzas.ts";

const wanted = new Set(["P", "V", "A", "o"]);

export const readApk = (bytes: Buffer): FoundPackage[] => {
  const found: FoundPackage[] = [];
  readStanzas(bytes.toString("utf8"), wanted, (fields) => {
    const [name, version] = [fields.get("P"), fields.get("V")];
    if (name === undefined || version === undefined) return;
    const origin = fields.get("o") ?? "";
    found.push({ type: "apk", namespace: "", name, version, architecture: fields.get("A") ?? "", origin: origin === name ? "" : origin, originVersion: "" });
  });
  return found;
};
