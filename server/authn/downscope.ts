// Downscoping of tokens: a token made from a downscoped one has at most its permissions. Undefined is no limit, and an empty list
// permits nothing.

import { denied, invalid, type Violation } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { covers, isUid } from "#base/uid.ts";
import { isClean, quoteForError } from "./token.ts";

export interface Downscoping {
  readonly capabilities: readonly string[] | undefined;
  readonly scopes: readonly string[] | undefined;
}

export const notDownscoped: Downscoping = { capabilities: undefined, scopes: undefined };

/** Requested limits; an empty list is no limit. */
export interface TokenRequest {
  readonly identity: string;
  readonly audience: readonly string[];
  readonly capabilities: readonly string[];
  readonly scopes: readonly string[];
}

const totalLengthOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length, 0);

/** Validates the requested limits. Throws INVALID_ARGUMENT with the first violation of each field. */
export const readDownscoping = (request: TokenRequest, known: ReadonlySet<string>): Downscoping => {
  const { identity, audience, capabilities, scopes } = request;
  const violations: Violation[] = [];
  const addViolation = (field: string, description: string): void => void violations.push({ field, description });
  // Checked first: a form of 1 MiB holds 25,000 scopes.
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

/** Intersects two limits. Throws PERMISSION_DENIED if nothing remains, because such a token is a client's mistake. */
export const downscope = (present: Downscoping, requested: Downscoping): Downscoping => {
  const result = {
    capabilities: intersect(present.capabilities, requested.capabilities, (one, other) => (one === other ? one : undefined)),
    // Of a group and its ancestor, the group remains.
    scopes: intersect(present.scopes, requested.scopes, (one, other) => (covers(one, other) ? other : covers(other, one) ? one : undefined)),
  };
  if (result.capabilities?.length === 0) throw denied("the presented token is narrowed to other capabilities than cap names");
  if (result.scopes?.length === 0) throw denied("the presented token is narrowed to other groups than scopes names");
  return result;
};
