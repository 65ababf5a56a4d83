// What a token is narrowed to. A new token made from a narrowed one can only be narrower: whoever was handed less
// than everything cannot exchange it for more. undefined is "no narrowing", an empty list would be "nothing".

import { denied, invalid, type Violation } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { covers, isUid } from "#base/uid.ts";
import { isClean, shown } from "./token.ts";

export interface Downscoping {
  readonly capabilities: readonly string[] | undefined;
  readonly scopes: readonly string[] | undefined;
}

export const notDownscoped: Downscoping = { capabilities: undefined, scopes: undefined };

/** What a request asks for; an empty list asks for no narrowing. */
export interface Wanted {
  readonly identity: string;
  readonly audience: readonly string[];
  readonly capabilities: readonly string[];
  readonly scopes: readonly string[];
}

const lengthOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length, 0);

/** Reads what a request asks for. Throws INVALID_ARGUMENT with the first violation of each field. */
export const readDownscoping = (request: Wanted, known: ReadonlySet<string>): Downscoping => {
  const { identity, audience, capabilities, scopes } = request;
  const violations: Violation[] = [];
  const wrong = (field: string, description: string): void => void violations.push({ field, description });
  // What cannot fit into a token is not looked at: a form of 1 MiB holds 25,000 scopes.
  for (const [field, texts] of Object.entries({ aud: audience, cap: capabilities, scopes }))
    if (lengthOf(texts) > limits.tokenBytesMax) wrong(field, "more than one token can carry");
  const unclean = audience.find((entry) => !isClean(entry));
  if (unclean !== undefined) wrong("aud", `${shown(unclean)} holds control characters`);
  const unknown = capabilities.find((name) => !known.has(name));
  if (unknown !== undefined) wrong("cap", `${shown(unknown)} is not a capability`);
  const odd = scopes.find((uid) => !isUid(uid));
  if (odd !== undefined) wrong("scopes", `${shown(odd)} is not the uid of a group`);
  if (identity !== "" && !isUid(identity)) wrong("identity", `${shown(identity)} is not the uid of an identity`);
  if (violations.length > 0) throw invalid(violations);
  return {
    capabilities: capabilities.length === 0 ? undefined : [...new Set(capabilities)],
    scopes: scopes.length === 0 ? undefined : [...new Set(scopes)],
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
export const downscope = (held: Downscoping, wanted: Downscoping): Downscoping => {
  const met = {
    capabilities: both(held.capabilities, wanted.capabilities, (one, other) => (one === other ? one : undefined)),
    // Of two places on one line the lower one is in both.
    scopes: both(held.scopes, wanted.scopes, (one, other) => (covers(one, other) ? other : covers(other, one) ? one : undefined)),
  };
  if (met.capabilities?.length === 0) throw denied("the presented token is narrowed to other capabilities than cap names");
  if (met.scopes?.length === 0) throw denied("the presented token is narrowed to other groups than scopes names");
  return met;
};
