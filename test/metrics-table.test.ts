// The table in docs/operate/metrics.md equals the declared metrics.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Declared, declared } from "#metrics";
import { files } from "./project-files.ts";

const section = /^## Metrics\n([\s\S]*?)^##/m.exec(files.get("docs/operate/metrics.md") ?? "")?.[1] ?? "";

/** Labels whose values the table omits: explained elsewhere, or too many. */
const unlisted: readonly string[] = ["protocol", "pool"];

const labelText = ([label, values]: readonly [string, Declared["labels"][string]]): string =>
  values === "open" || unlisted.includes(label) ? `\`${label}\`` : `\`${label}\` (${values.join(", ")})`;

const rowOf = (name: string, { kind, labels, of, help }: Declared): string =>
  `| \`${name}\` | ${kind} | ${Object.entries(labels).map(labelText).join("; ")} | ${of} | ${help} |`;

test("the table of metrics equals the declarations, in their order", () => {
  const rows = section.split("\n").filter((line) => /^\| `/.test(line));
  assert.deepEqual(
    rows,
    Object.entries<Declared>(declared).map(([name, metric]) => rowOf(name, metric)),
  );
});
