// Renders resources as a tree, by the paths in their uids.

import { parentOf } from "#base/uid.ts";
import { type JsonObject, text } from "#base/json.ts";
import { onOneLine } from "./escape.ts";

/** Returns a line per resource below its nearest listed ancestor; without one, at the left. */
export const treeText = (resources: readonly JsonObject[]): string => {
  const listed = new Set(resources.map((resource) => text(resource, "uid")));
  const below = new Map<string, JsonObject[]>();
  for (const resource of resources) {
    let parent = text(resource, "uid");
    do parent = parent === "" ? "" : parentOf(parent);
    while (parent !== "" && !listed.has(parent));
    below.set(parent, [...(below.get(parent) ?? []), resource]);
  }
  const lines: string[] = [];
  const add = (parent: string, indent: string): void => {
    const children = below.get(parent) ?? [];
    for (const [index, child] of children.entries()) {
      const isLast = index === children.length - 1;
      const [branch, further] = parent === "" ? ["", ""] : isLast ? ["└── ", "    "] : ["├── ", "│   "];
      const uid = text(child, "uid");
      lines.push(
        `${indent}${branch}${[text(child, "name"), uid]
          .filter((part) => part !== "")
          .map(onOneLine)
          .join("  ")}\n`,
      );
      if (uid !== "") add(uid, `${indent}${further}`);
    }
  };
  add("", "");
  return lines.join("");
};
