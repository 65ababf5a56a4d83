// Matches a token's claims against an identity's conditions (authentication.md: 5). Pure. All conditions must match; a missing,
// duplicate or malformed one never does.

import { isObject, part, text, texts, type Json, type JsonObject } from "#base/json.ts";
import { compilePattern, matchingBudget, type MatchingBudget } from "#base/pattern.ts";
import { normalIssuer } from "./people.ts";
import { claimOf, quoteForError, type Token } from "./token.ts";

/** Matches one claim against a literal or a pattern, of which exactly one is present ("" is absent). */
export const meetsDemand = (literal: string, pattern: string, values: readonly string[], budget: MatchingBudget): boolean => {
  if (literal === "" && pattern === "") return false;
  if (literal !== "" && !values.includes(literal)) return false;
  if (pattern === "") return true;
  const matches = compilePattern(pattern);
  return matches !== undefined && values.some((value) => matches(value, budget));
};

/** Numbers and booleans as JSON, lists by entry. */
const claimTextsOf = (value: Json | undefined): string[] => {
  if (Array.isArray(value)) return value.flatMap((entry) => (Array.isArray(entry) ? [] : claimTextsOf(entry)));
  if (typeof value === "string") return [value];
  return typeof value === "number" || typeof value === "boolean" ? [JSON.stringify(value)] : [];
};

/** Returns whether the identity accepts this issuer. Checked before the issuer is contacted. */
export const matchesIssuer = (match: JsonObject, issuer: string, budget: MatchingBudget): boolean =>
  meetsDemand(normalIssuer(text(match, "issuer")), text(match, "issuerPattern"), [normalIssuer(issuer)], budget);

/** A condition that is not a string, which the contract excludes, never matches. */
const demandsOf = (match: JsonObject, key: string): [string, string][] =>
  Object.entries(part(match, key)).map(([name, demand]) => [name, typeof demand === "string" ? demand : ""]);

export interface Mismatch {
  readonly claim: string;
  /**
   * The accepted audience, in words. Only the audience is disclosed, and only if everything else matches: that caller is the intended
   * one with a wrong audience. Other conditions stay secret, because anyone can get a token of a public issuer and would learn names
   * of private repositories and teams.
   */
  readonly wanted?: string;
}

const quoteAll = (values: readonly string[]): string => values.map(quoteForError).join(", ");

const oneOf = (values: readonly string[]): string => (values.length === 1 ? quoteAll(values) : `one of ${quoteAll(values)}`);

const wantedAudience = (audience: string, pattern: string, accepted: ReadonlySet<string>): string => {
  if (audience === "" && pattern === "") return oneOf([...accepted]);
  return pattern === "" ? quoteForError(audience) : `one that the pattern ${quoteForError(pattern)} fits`;
};

const namedMismatch = (match: JsonObject, { claims }: Token, budget: MatchingBudget): string | undefined => {
  for (const [name, literal] of demandsOf(match, "claims")) if (!claimTextsOf(claimOf(claims, name)).includes(literal)) return name;
  for (const [name, pattern] of demandsOf(match, "claimPatterns")) if (!meetsDemand("", pattern, claimTextsOf(claimOf(claims, name)), budget)) return name;
  return undefined;
};

/** Returns the first claim that does not match, or undefined. `accepted` are this server's audiences, the default. */
export const claimMismatch = (match: JsonObject, token: Token, accepted: ReadonlySet<string>): Mismatch | undefined => {
  const budget = matchingBudget();
  if (!matchesIssuer(match, token.issuer, budget)) return { claim: "iss" };
  if (!meetsDemand(text(match, "subject"), text(match, "subjectPattern"), [token.subject], budget)) return { claim: "sub" };
  const audience = text(match, "audience");
  const audiencePattern = text(match, "audiencePattern");
  const hasAudience =
    audience === "" && audiencePattern === ""
      ? token.audience.some((entry) => accepted.has(entry))
      : meetsDemand(audience, audiencePattern, token.audience, budget);
  const named = namedMismatch(match, token, budget);
  if (!hasAudience) return { claim: "aud", ...(named === undefined ? { wanted: wantedAudience(audience, audiencePattern, accepted) } : {}) };
  return named === undefined ? undefined : { claim: named };
};

/** The same for static keys: exact issuer and subject, and one of their audiences or this server's. */
export const staticKeysMismatch = (keys: JsonObject, token: Token, accepted: ReadonlySet<string>): Mismatch | undefined => {
  if (normalIssuer(text(keys, "issuer")) !== normalIssuer(token.issuer)) return { claim: "iss" };
  if (text(keys, "subject") !== token.subject) return { claim: "sub" };
  const isOpen = !Array.isArray(keys.audiences) || keys.audiences.length === 0;
  const audiences = isOpen ? accepted : new Set(texts(keys, "audiences"));
  return token.audience.some((entry) => audiences.has(entry)) ? undefined : { claim: "aud", wanted: oneOf([...audiences]) };
};

/** Parses a JSON object; returns undefined if it is malformed. */
export const parseObject = (json: string | null | undefined): JsonObject | undefined => {
  try {
    const value = JSON.parse(json ?? "null") as Json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
};
