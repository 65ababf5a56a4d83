import assert from "node:assert/strict";
import { test } from "node:test";
import { getOption, hasOption as libraryHasOption } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import * as options from "./gen/gantry/annotations/v1/annotations_pb.js";
import { field_behavior as fieldBehavior } from "./gen/google/api/field_behavior_pb.js";
import { files } from "./gen/index.ts";
import { flagOption, hasOption, messageOption, numbersOption, textOption } from "./options.ts";

test("every option of the contract has the value that the protobuf library returns", () => {
  let compared = 0;
  const same = (found: unknown, theirs: unknown, isThere: boolean): void => {
    assert.deepEqual(found, theirs);
    if (isThere) compared++;
  };
  for (const type of files.flatMap((file) => [...nestedTypes(file)])) {
    if (type.kind === "service")
      for (const method of type.methods) {
        const { access, view, conditional, gives_file: givesFile } = options;
        for (const option of [access, view]) assert.equal(hasOption(method, option), libraryHasOption(method, option));
        if (hasOption(method, access)) same(messageOption(method, access, options.AccessSchema), getOption(method, access), true);
        if (hasOption(method, view)) same(messageOption(method, view, options.ViewSchema), getOption(method, view), true);
        for (const option of [conditional, givesFile]) same(flagOption(method, option), getOption(method, option), libraryHasOption(method, option));
      }
    if (type.kind === "message")
      for (const field of type.fields) {
        const theirs = libraryHasOption(field, options.field) ? getOption(field, options.field) : undefined;
        same(messageOption(field, options.field, options.FieldSchema), theirs, theirs !== undefined);
        same(numbersOption(field, fieldBehavior), getOption(field, fieldBehavior), libraryHasOption(field, fieldBehavior));
        same(flagOption(field, options.scope), getOption(field, options.scope), libraryHasOption(field, options.scope));
      }
    if (type.kind === "enum")
      for (const value of type.values) {
        const theirs = libraryHasOption(value, options.written) ? getOption(value, options.written) : undefined;
        same(textOption(value, options.written), theirs, theirs !== undefined);
      }
  }
  assert.ok(compared > 1_000, `${compared} options are there`);
});
