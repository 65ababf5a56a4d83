// Whether a token has the claims that an identity demands (authentication.md: 5). Pure. Every condition must hold; one
// that is missing, doubled or unreadable holds for nobody.

import { isObject, part, text, texts, type Json, type JsonObject } from "#base/json.ts";
import { compilePattern, matchingBudget, type MatchingBudget } from "#base/pattern.ts";
import { normalIssuer } from "./people.ts";
import { claimOf, quoteForError, type Token } from "./token.ts";

/** A demand on one claim: the literal, or the pattern. Of the public oneof exactly one is there; "" is absent. */
export const meetsDemand = (literal: string, pattern: string, values: readonly string[], budget: MatchingBudget): boolean => {
  if (literal === "" && pattern === "") return false;
  if (literal !== "" && !values.includes(literal)) return false;
  if (pattern === "") return true;
  const matches = compilePattern(pattern);
  return matches !== undefined && values.some((value) => matches(value, budget));
};

/** A claim's values as texts: numbers and booleans as JSON writes them, of a list each entry. */
const claimTextsOf = (value: Json | undefined): string[] => {
  if (Array.isArray(value)) return value.flatMap((entry) => (Array.isArray(entry) ? [] : claimTextsOf(entry)));
  if (typeof value === "string") return [value];
  return typeof value === "number" || typeof value === "boolean" ? [JSON.stringify(value)] : [];
};

/** Whether the identity takes tokens of this issuer at all: asked before the issuer is contacted. */
export const matchesIssuer = (match: JsonObject, issuer: string, budget: MatchingBudget): boolean =>
  meetsDemand(normalIssuer(text(match, "issuer")), text(match, "issuerPattern"), [normalIssuer(issuer)], budget);

/** Each name with its demand; a demand that is no text, which the contract cannot say, holds for nobody. */
const demandsOf = (match: JsonObject, key: string): [string, string][] =>
  Object.entries(part(match, key)).map(([name, demand]) => [name, typeof demand === "string" ? demand : ""]);

/** What does not match. */
export interface Mismatch {
  /** The claim's name. */
  readonly claim: string;
  /**
   * The audience that would match, in words. Everything else that an identity demands is its setting, and only who may
   * read the identity is told it: anybody gets a token of a public issuer, whose signature is right, and would learn the
   * names of private repositories and teams. The audience is told to a token that fits in all else: its bearer is whom
   * the identity means, and has asked its issuer for the wrong one.
   */
  readonly wanted?: string;
}

const quoteAll = (values: readonly string[]): string => values.map(quoteForError).join(", ");

const oneOf = (values: readonly string[]): string => (values.length === 1 ? quoteAll(values) : `one of ${quoteAll(values)}`);

const wantedAudience = (audience: string, pattern: string, accepted: ReadonlySet<string>): string => {
  if (audience === "" && pattern === "") return oneOf([...accepted]);
  return pattern === "" ? quoteForError(audience) : `one that the pattern ${quoteForError(pattern)} fits`;
};

/** The name of the first claim, of those that an identity demands by their names, that does not match. */
const namedMismatch = (match: JsonObject, { claims }: Token, budget: MatchingBudget): string | undefined => {
  for (const [name, literal] of demandsOf(match, "claims")) if (!claimTextsOf(claimOf(claims, name)).includes(literal)) return name;
  for (const [name, pattern] of demandsOf(match, "claimPatterns")) if (!meetsDemand("", pattern, claimTextsOf(claimOf(claims, name)), budget)) return name;
  return undefined;
};

/**
 * The first claim that does not match, or undefined where all do. `accepted` are the audiences that name this server:
 * what a token must be meant for when the identity does not say.
 */
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

/** The same for static keys: issuer and subject exactly; one of the audiences that they name, or this server's. */
export const staticKeysMismatch = (keys: JsonObject, token: Token, accepted: ReadonlySet<string>): Mismatch | undefined => {
  if (normalIssuer(text(keys, "issuer")) !== normalIssuer(token.issuer)) return { claim: "iss" };
  if (text(keys, "subject") !== token.subject) return { claim: "sub" };
  const isOpen = !Array.isArray(keys.audiences) || keys.audiences.length === 0;
  const audiences = isOpen ? accepted : new Set(texts(keys, "audiences"));
  return token.audience.some((entry) => audiences.has(entry)) ? undefined : { claim: "aud", wanted: oneOf([...audiences]) };
};

/** A JSON text as an object, or undefined: for columns and documents that others wrote. */
export const parseObject = (json: string | null | undefined): JsonObject | undefined => {
  try {
    const value = JSON.parse(json ?? "null") as Json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
};
