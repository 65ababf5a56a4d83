// What a token is narrowed to. A new token made from a narrowed one can only be narrower: whoever was handed less
// than everything cannot exchange it for more. undefined is "no narrowing", an empty list would be "nothing".

import { denied, invalid, type Violation } from "#base/fault.ts";
import { covers, isUid } from "#base/uid.ts";

export interface Narrowing {
  readonly capabilities: readonly string[] | undefined;
  readonly scopes: readonly string[] | undefined;
}

export const unnarrowed: Narrowing = { capabilities: undefined, scopes: undefined };

/** Reads what a request asks for; an empty list asks for no narrowing. Throws INVALID_ARGUMENT with every fault. */
export const readNarrowing = (
  request: { readonly capabilities: readonly string[]; readonly scopes: readonly string[]; readonly identity: string },
  known: ReadonlySet<string>,
): Narrowing => {
  const violations: Violation[] = [];
  for (const name of request.capabilities)
    if (!known.has(name))
      violations.push({ field: "cap", description: `${JSON.stringify(name)} is not a capability` });
  for (const uid of request.scopes)
    if (!isUid(uid)) violations.push({ field: "scopes", description: `${JSON.stringify(uid)} is not the uid of a group` });
  if (request.identity !== "" && !isUid(request.identity))
    violations.push({ field: "identity", description: `${JSON.stringify(request.identity)} is not the uid of an identity` });
  if (violations.length > 0) throw invalid(violations);
  return {
    capabilities: request.capabilities.length === 0 ? undefined : [...new Set(request.capabilities)],
    scopes: request.scopes.length === 0 ? undefined : [...new Set(request.scopes)],
  };
};

const both = (
  held: readonly string[] | undefined,
  wanted: readonly string[] | undefined,
  meet: (held: string, wanted: string) => string | undefined,
): readonly string[] | undefined => {
  if (held === undefined || wanted === undefined) return held ?? wanted;
  const common = new Set<string>();
  for (const one of held)
    for (const other of wanted) {
      const met = meet(one, other);
      if (met !== undefined) common.add(met);
    }
  return [...common];
};

/** What both allow. Throws where that is nothing: a token without a use is a mistake that should be told. */
export const narrow = (held: Narrowing, wanted: Narrowing): Narrowing => {
  const met = {
    capabilities: both(held.capabilities, wanted.capabilities, (one, other) => (one === other ? one : undefined)),
    // Of two places on one line the lower one is in both.
    scopes: both(held.scopes, wanted.scopes, (one, other) =>
      covers(one, other) ? other : covers(other, one) ? one : undefined,
    ),
  };
  if (met.capabilities?.length === 0) throw denied("the presented token is narrowed to other capabilities than cap names");
  if (met.scopes?.length === 0) throw denied("the presented token is narrowed to other groups than scopes names");
  return met;
};
