// Whether a token has the claims that an identity demands (authentication.md: 5). Pure. Every condition must hold; one
// that is missing, doubled or unreadable holds for nobody.

import { isObject, part, text, type Json, type JsonObject } from "#base/json.ts";
import { compilePattern, matchingBudget, type MatchingBudget } from "#base/pattern.ts";
import { normalIssuer } from "./people.ts";
import { claimOf, type Token } from "./token.ts";

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

/**
 * The name of the first claim that does not match, or undefined where all do. `accepted` are the audiences that name
 * this server: what a token must be meant for when the identity does not say.
 */
export const claimMismatch = (match: JsonObject, token: Token, accepted: ReadonlySet<string>): string | undefined => {
  const budget = matchingBudget();
  if (!matchesIssuer(match, token.issuer, budget)) return "iss";
  if (!meetsDemand(text(match, "subject"), text(match, "subjectPattern"), [token.subject], budget)) return "sub";
  const audience = text(match, "audience");
  const audiencePattern = text(match, "audiencePattern");
  const hasAudience =
    audience === "" && audiencePattern === ""
      ? token.audience.some((entry) => accepted.has(entry))
      : meetsDemand(audience, audiencePattern, token.audience, budget);
  if (!hasAudience) return "aud";
  for (const [name, literal] of demandsOf(match, "claims")) if (!claimTextsOf(claimOf(token.claims, name)).includes(literal)) return name;
  for (const [name, pattern] of demandsOf(match, "claimPatterns"))
    if (!meetsDemand("", pattern, claimTextsOf(claimOf(token.claims, name)), budget)) return name;
  return undefined;
};

/** The same for static keys: issuer and subject exactly; one of the audiences that they name, or this server's. */
export const staticKeysMismatch = (keys: JsonObject, token: Token, accepted: ReadonlySet<string>): string | undefined => {
  if (normalIssuer(text(keys, "issuer")) !== normalIssuer(token.issuer)) return "iss";
  if (text(keys, "subject") !== token.subject) return "sub";
  const audiences = Array.isArray(keys.audiences) ? keys.audiences : [];
  const hasAudience = token.audience.some((entry) => (audiences.length === 0 ? accepted.has(entry) : audiences.includes(entry)));
  return hasAudience ? undefined : "aud";
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
