// What a token is downscoped to. A new token made from a downscoped one has as much at most: whoever was handed less
// than everything cannot exchange it for more. undefined is "not downscoped", an empty list would be "nothing".

import { denied, invalid, type Violation } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { covers, isUid } from "#base/uid.ts";
import { isClean, quoteForError } from "./token.ts";

export interface Downscoping {
  readonly capabilities: readonly string[] | undefined;
  readonly scopes: readonly string[] | undefined;
}

export const notDownscoped: Downscoping = { capabilities: undefined, scopes: undefined };

/** What a request asks of a token; an empty list asks for no downscoping. */
export interface TokenRequest {
  readonly identity: string;
  readonly audience: readonly string[];
  readonly capabilities: readonly string[];
  readonly scopes: readonly string[];
}

const totalLengthOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length, 0);

/** Reads what a request asks for. Throws INVALID_ARGUMENT with the first violation of each field. */
export const readDownscoping = (request: TokenRequest, known: ReadonlySet<string>): Downscoping => {
  const { identity, audience, capabilities, scopes } = request;
  const violations: Violation[] = [];
  const addViolation = (field: string, description: string): void => void violations.push({ field, description });
  // What cannot fit into a token is not looked at: a form of 1 MiB holds 25,000 scopes.
  for (const [field, texts] of Object.entries({ aud: audience, cap: capabilities, scopes }))
    if (totalLengthOf(texts) > limits.tokenBytesMax) addViolation(field, "more than one token can carry");
  const unclean = audience.find((entry) => !isClean(entry));
  if (unclean !== undefined) addViolation("aud", `${quoteForError(unclean)} contains control characters`);
  const unknown = capabilities.find((name) => !known.has(name));
  if (unknown !== undefined) addViolation("cap", `${quoteForError(unknown)} is not a capability`);
  const notGroup = scopes.find((uid) => !isUid(uid));
  if (notGroup !== undefined) addViolation("scopes", `${quoteForError(notGroup)} is not the uid of a group`);
  if (identity !== "" && !isUid(identity)) addViolation("identity", `${quoteForError(identity)} is not the uid of an identity`);
  if (violations.length > 0) throw invalid(violations);
  return {
    capabilities: capabilities.length === 0 ? undefined : [...new Set(capabilities)],
    scopes: scopes.length === 0 ? undefined : [...new Set(scopes)],
  };
};

const intersect = (
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
  meet: (one: string, other: string) => string | undefined,
): readonly string[] | undefined => {
  if (one === undefined || other === undefined) return one ?? other;
  const common = new Set<string>();
  for (const ofOne of one)
    for (const ofOther of other) {
      const shared = meet(ofOne, ofOther);
      if (shared !== undefined) common.add(shared);
    }
  return [...common];
};

/** What both allow. Throws where that is nothing: a token without a use is a mistake that its client should learn of. */
export const downscope = (present: Downscoping, requested: Downscoping): Downscoping => {
  const result = {
    capabilities: intersect(present.capabilities, requested.capabilities, (one, other) => (one === other ? one : undefined)),
    // Of two paths of which one is above the other, the lower one is in both.
    scopes: intersect(present.scopes, requested.scopes, (one, other) => (covers(one, other) ? other : covers(other, one) ? one : undefined)),
  };
  if (result.capabilities?.length === 0) throw denied("the presented token is narrowed to other capabilities than cap names");
  if (result.scopes?.length === 0) throw denied("the presented token is narrowed to other groups than scopes names");
  return result;
};
