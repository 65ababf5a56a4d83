// What binds a request of version 1 beside what its own proto says: the rules of the field of version 2 that it fills.

import type { FieldFact, MethodFact } from "../facts.ts";
import { isViewed } from "../facts.ts";
import { linksOfMethod } from "../links.ts";
import { uidPattern } from "./schemas.ts";

type Links = ReturnType<typeof linksOfMethod>["request"];

/** "/" stands for the root; whatever else is a uid. */
const uidOrRootPattern = `^/$|${uidPattern}`;

/** A field of version 1 with the rules of its counterpart; any other as it is. */
export const fieldsWithRules = (version1: readonly MethodFact[]): ((field: FieldFact) => FieldFact) => {
  const bound = new Map<FieldFact, FieldFact>();
  const bind = (links: Links): void => {
    for (const { field, path, inner, atRoot, optional } of links) {
      const leaf = path.at(-1);
      if (bound.has(field)) continue;
      // One of the values that the other takes several of is bound as each of those is.
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
      // What the server writes by itself binds nobody.
      if (!leaf?.outputOnly) bind(inner ?? []);
    }
  };
  for (const method of version1) if (isViewed(method)) bind(linksOfMethod(method).request);
  return (field) => bound.get(field) ?? field;
};
