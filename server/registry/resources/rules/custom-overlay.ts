// Rules for the content of overlays, in a repo or as a resource.

import type { Violation } from "#base/fault.ts";
import { type JsonObject, objectList, part, text } from "#base/json.ts";

const fileName = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** @param field path of the overlay in its resource */
export const overlayViolations = (overlay: JsonObject, field: string): Violation[] => {
  const out: Violation[] = [];
  const reserved = (map: string, prefixes: readonly string[]): void => {
    for (const key of Object.keys(part(overlay, map))) {
      const prefix = prefixes.find((each) => key.startsWith(each));
      if (prefix) out.push({ field: `${field}.${map}[${JSON.stringify(key)}]`, description: `keys that begin with ${prefix} are reserved` });
    }
  };
  reserved("environment", ["CHAINGUARD_"]);
  reserved("annotations", ["dev.chainguard.", "org.opencontainers."]);
  for (const [index, entry] of objectList(part(overlay, "contents"), "runtimeKeyring").entries()) {
    if (fileName.test(text(entry, "name"))) continue;
    out.push({ field: `${field}.contents.runtimeKeyring[${index}].name`, description: "must be a plain file name" });
  }
  return out;
};
