// Rules of version 1 requests that follow from the linked fields of version 2.

import type { FieldFact, MethodFact } from "../facts.ts";
import { isViewed } from "../facts.ts";
import { linksOfMethod } from "../links.ts";
import { uidPattern } from "./schemas.ts";

type Links = ReturnType<typeof linksOfMethod>["request"];

/** "/" is the root; anything else must be a uid. */
const uidOrRootPattern = `^/$|${uidPattern}`;

/** Returns a function that adds the counterpart's rules to a field of version 1. */
export const fieldsWithRules = (version1: readonly MethodFact[]): ((field: FieldFact) => FieldFact) => {
  const bound = new Map<FieldFact, FieldFact>();
  const bind = (links: Links): void => {
    for (const { field, path, inner, atRoot, optional } of links) {
      const leaf = path.at(-1);
      if (bound.has(field)) continue;
      // A single value linked to a list has the rules of its entries.
      const isOneOf = leaf?.shape === "list" && field.shape === "one";
      if (leaf && leaf.kind === field.kind && (leaf.shape === field.shape || isOneOf) && !atRoot) {
        bound.set(field, {
          ...field,
          uid: field.uid || leaf.uid,
          pattern: field.pattern ?? leaf.pattern,
          maxLength: field.maxLength || (isOneOf ? 0 : leaf.maxLength),
          minItems: field.minItems || leaf.minItems,
          minimum: field.minimum || leaf.minimum,
          maximum: field.maximum || leaf.maximum,
          oneRequired: field.oneRequired || leaf.oneRequired,
          required: field.required || (!isOneOf && (leaf.required || leaf.scope) && !optional && !leaf.outputOnly),
          example: field.example || leaf.example,
        });
      }
      if (leaf?.uid && atRoot) bound.set(field, { ...field, pattern: uidOrRootPattern });
      // Output-only fields have no input rules.
      if (!leaf?.outputOnly) bind(inner ?? []);
    }
  };
  for (const method of version1) if (isViewed(method)) bind(linksOfMethod(method).request);
  return (field) => bound.get(field) ?? field;
};
