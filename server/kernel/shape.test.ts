// Rows as the contract shows them: as an object, and as the same object's JSON text without making it.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { messageByName } from "#contract/catalog.ts";
import { shapeOf } from "./shape.ts";

const shapes = ["iam.v2.Group", "iam.v2.Identity", "iam.v2.Role", "registry.v2.Repo", "registry.v2.Tag", "libraries.v2.Artifact"].map((name) => {
  const fact = messageByName(`chainguard.platform.${name}`);
  if (!fact) throw new Error(`no message ${name}`);
  return shapeOf(fact, "things", new Set(fact.fields.map((field) => field.name)));
});

const two = (number: number): string => String(number).padStart(2, "0");

/** A column's text as PostgreSQL writes it. */
const column = (field: (typeof shapes)[number]["fields"][number]): fc.Arbitrary<string | null> => {
  if (field.shape === "list") return fc.option(fc.array(fc.string({ unit: "binary" })).map((list) => JSON.stringify(list)));
  if (field.shape === "map" || field.kind === "message") return fc.option(fc.constantFrom("{}", '{"b": 1, "a": "\\u00e9"}'));
  switch (field.kind) {
    case "bool": return fc.constantFrom("t", "f");
    case "timestamp":
      return fc.option(fc.tuple(fc.integer({ min: 0, max: 59 }), fc.constantFrom("", ".1", ".12", ".123")).map(([second, fraction]) => `2026-11-20 21:47:${two(second)}${fraction}+00`));
    case "int32":
    case "int64": return fc.integer().map(String);
    case "enum": return fc.option(fc.constantFrom(...(field.enum?.numbers.keys() ?? [""])));
    default: return fc.option(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("", '"', "\\", "\u2028", "\u007f", "\n")));
  }
};

test("the JSON text of a row is that of its object, to the byte, whatever the row holds", () => {
  for (const shape of shapes) {
    fc.assert(
      fc.property(fc.tuple(...shape.fields.map(column)), (row) => {
        assert.equal(shape.text(["version", ...row], 1), JSON.stringify(shape.read(["version", ...row], 1)));
      }),
      { numRuns: 300 },
    );
  }
});
