// Links fields of version 1 to version 2, by the options `view` and `counterpart` (docs/decisions/0035-version-1-and-public-api-compatibility.md).
// Uses facts only, because `npm run gen` checks the links first.

import { type FieldFact, jsonPathOf, type MessageFact, type ViewedMethodFact } from "./facts.ts";

export interface Link {
  readonly field: FieldFact;
  /** From the version 2 message to the field; empty if the inner fields are in that message itself. */
  readonly path: readonly FieldFact[];
  readonly inner: readonly Link[] | undefined;
  /** The flag that "/" represents. */
  readonly atRoot: readonly FieldFact[] | undefined;
  /** The flag has the opposite meaning there. */
  readonly negated: boolean;
  /** Required in version 2, optional here. */
  readonly optional: boolean;
  /** JSON name of the field with an identical value: a fast path, because lists are long. */
  readonly sameAs: string | undefined;
}

interface Links {
  readonly request: readonly Link[];
  readonly reply: readonly Link[];
}

const fieldsAlong = (message: MessageFact, dotted: string): FieldFact[] | undefined => {
  const fields: FieldFact[] = [];
  let within: MessageFact | undefined = message;
  for (const name of dotted.split(".")) {
    const field: FieldFact | undefined = within?.byName.get(name);
    if (!field) return undefined;
    fields.push(field);
    within = field.message;
  }
  return fields;
};

/**
 * Throws if a field of version 1 has no counterpart and is not marked. `partial` omits such fields. `creates` uses the paths of a
 * create request, where some fields differ.
 */
export const linksOf = (message: MessageFact, other: MessageFact, partial = false, creates = false): Link[] => {
  // The same message in both, such as a uid filter.
  if (message === other)
    return message.fields.map((field) => ({
      field,
      path: [field],
      inner: undefined,
      atRoot: undefined,
      negated: false,
      optional: false,
      sameAs: field.json,
    }));
  return message.fields.flatMap((field): Link[] => {
    const { path: shown = "", absent = false, partial: shownInPart = false, atRoot = "", negated = false, optional = false } = field.counterpart ?? {};
    const said = (creates && field.counterpart?.createPath) || shown;
    if (absent) return [];
    const path = said === "." ? [] : fieldsAlong(other, said || field.name);
    if (!path) {
      if (partial) return [];
      throw new Error(`${message.name}.${field.name} has no counterpart in ${other.name}`);
    }
    const end = path.at(-1);
    const target = end === undefined ? other : end.message;
    if ((field.message === undefined) !== (target === undefined)) throw new Error(`${message.name}.${field.name} is no shape of ${end?.name ?? other.name}`);
    const inner = field.message && target && field.message !== target ? linksOf(field.message, target, shownInPart, creates) : undefined;
    const isSame = path.length === 1 && !inner && !negated && end?.kind === field.kind && end.kind !== "enum" && end.shape === field.shape;
    return [{ field, path, inner, atRoot: atRoot === "" ? undefined : fieldsAlong(other, atRoot), negated, optional, sameAs: isSame ? end.json : undefined }];
  });
};

const emptyMessage = "google.protobuf.Empty";
const known = new Map<string, Links>();

/** Links a request whose fields go into one field of the other, and its parent next to that field. */
const requestLinks = ({ input, view: { of, requestIn } }: ViewedMethodFact): Link[] => {
  if (!requestIn?.message) return linksOf(input, of.input, false, of.rpc.startsWith("Create"));
  const below = linksOf(input, requestIn.message).map((link) => ({ ...link, path: [requestIn, ...link.path], sameAs: undefined }));
  const [beside, ...deeper] = (of.scope ?? []).map((name) => of.input.byName.get(name));
  const own = below.find(({ path }) => path[1]?.name === "uid");
  return beside && deeper.length === 0 && own ? [...below, { ...own, path: [beside] }] : below;
};

/** Throws if a field lacks its counterpart. */
export const linksOfMethod = (method: ViewedMethodFact): Links => {
  const found = known.get(method.name);
  if (found) return found;
  const { of } = method.view;
  const links = { request: requestLinks(method), reply: method.output.name === emptyMessage ? [] : linksOf(method.output, of.output) };
  known.set(method.name, links);
  return links;
};

/** Returns the scope's path in the request of version 1. */
export const scopeInView = (method: ViewedMethodFact): readonly string[] | undefined => {
  const { scope, input } = method.view.of;
  if (!scope) return undefined;
  const wanted = jsonPathOf(input, scope.join(".")).join(".");
  const find = (links: readonly Link[], before: readonly string[], beforeOther: readonly string[]): string[] | undefined => {
    for (const { field, path, inner } of links) {
      const [own, other] = [
        [...before, field.json],
        [...beforeOther, ...path.map(({ json }) => json)],
      ];
      if (other.join(".") === wanted) return own;
      const found = inner && find(inner, own, other);
      if (found) return found;
    }
    return undefined;
  };
  return find(linksOfMethod(method).request, [], []);
};
