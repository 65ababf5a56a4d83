// SCIM filters (RFC 7644, 3.4.2.2): parsed into a tree, and evaluated on a value. Accepts unquoted values, as Entra ID sends them
// (`externalId eq jyoung`). The request bounds the length, this file depth and terms. Pure.

import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { ScimOperator } from "#iam/store";
import { scimFault } from "./faults.ts";
import { valueNamed } from "./names.ts";

export interface Comparison {
  readonly kind: "compare";
  /** As written, such as "emails.value", optionally with a schema's URN. */
  readonly attribute: string;
  readonly operator: ScimOperator;
  /** Null for `pr` too. */
  readonly value: string | number | boolean | null;
}

export type Filter =
  | { readonly kind: "and" | "or"; readonly filters: readonly Filter[] }
  | { readonly kind: "not"; readonly filter: Filter }
  /** `emails[type eq "work"]`: any of the attribute's values matches. */
  | { readonly kind: "values"; readonly attribute: string; readonly filter: Filter }
  | Comparison;

const operators: ReadonlySet<string> = new Set<ScimOperator>(["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le", "pr"]);
const isOperator = (word: string): word is ScimOperator => operators.has(word);

const invalidFilter = (why: string): Error => scimFault("invalidFilter", `the filter cannot be read: ${why}`);

interface Token {
  readonly kind: "word" | "text" | "bracket" | "end";
  readonly text: string;
}

const end: Token = { kind: "end", text: "" };

// Sticky and unambiguous: a text is a JSON string, a word is anything else.
const tokenForm = /\s*(?:([()[\]])|("(?:[^"\\]|\\.)*")|([^\s()[\]"]+))/suy;

const tokensOf = (filter: string): Token[] => {
  const tokens: Token[] = [];
  const text = filter.trimEnd();
  tokenForm.lastIndex = 0;
  for (let at = 0; at < text.length; at = tokenForm.lastIndex) {
    const found = tokenForm.exec(text);
    if (!found) throw invalidFilter(`what begins at character ${at + 1}`);
    const [, bracket, quoted, word] = found;
    if (bracket !== undefined) tokens.push({ kind: "bracket", text: bracket });
    else if (quoted !== undefined) tokens.push({ kind: "text", text: quoted });
    else tokens.push({ kind: "word", text: word ?? "" });
    if (tokens.length > limits.scimFilterTermsMax * 5) throw invalidFilter(`it has more than ${limits.scimFilterTermsMax} terms`);
  }
  return tokens;
};

const readValue = ({ kind, text }: Token): Comparison["value"] => {
  if (kind === "text") {
    try {
      const value = String(JSON.parse(text));
      if (!value.includes("\0")) return value;
    } catch {
      // Reported below.
    }
    throw invalidFilter(`${text.slice(0, 50)} is not a JSON string that can be stored`);
  }
  if (kind !== "word") throw invalidFilter("a value is missing");
  if (/^(?:true|false)$/i.test(text)) return text.toLowerCase() === "true";
  if (text === "null") return null;
  // A number in non-canonical form is an unquoted text: an external ID such as 00123.
  return /^-?\d/.test(text) && String(Number(text)) === text ? Number(text) : text;
};

/** Parses a filter; throws 400 invalidFilter. */
export const readFilter = (text: string): Filter => {
  const tokens = tokensOf(text);
  let at = 0;
  let terms = 0;
  const peek = (): Token => tokens[at] ?? end;
  const take = (): Token => tokens[at++] ?? end;
  const expect = (bracket: string): void => {
    if (take().text !== bracket) throw invalidFilter(`${bracket} is missing`);
  };
  const isWord = (word: string): boolean => peek().kind === "word" && peek().text.toLowerCase() === word;

  const readTerm = (depth: number): Filter => {
    if (depth > limits.scimFilterDepthMax) throw invalidFilter("it has too many brackets inside each other");
    if (++terms > limits.scimFilterTermsMax) throw invalidFilter(`it has more than ${limits.scimFilterTermsMax} terms`);
    if (isWord("not")) {
      take();
      expect("(");
      const filter = readAny(depth + 1);
      expect(")");
      return { kind: "not", filter };
    }
    const first = take();
    if (first.kind === "bracket" && first.text === "(") {
      const filter = readAny(depth + 1);
      expect(")");
      return filter;
    }
    if (first.kind !== "word") throw invalidFilter("the name of an attribute is missing");
    const next = take();
    if (next.kind === "bracket" && next.text === "[") {
      const filter = readAny(depth + 1);
      expect("]");
      // Sent by Entra ID: an attribute inside the matching values.
      if (peek().kind !== "word" || !peek().text.startsWith(".")) return { kind: "values", attribute: first.text, filter };
      const inner = readComparison(take().text.slice(1), take());
      return { kind: "values", attribute: first.text, filter: { kind: "and", filters: [filter, inner] } };
    }
    return readComparison(first.text, next);
  };
  const readComparison = (attribute: string, next: Token): Comparison => {
    const operator = next.text.toLowerCase();
    if (next.kind !== "word" || !isOperator(operator)) throw invalidFilter(`${JSON.stringify(next.text.slice(0, 50))} is not an operator`);
    return { kind: "compare", attribute, operator, value: operator === "pr" ? null : readValue(take()) };
  };
  const readChain = (word: "and" | "or", readOne: (depth: number) => Filter, depth: number): Filter => {
    const filters = [readOne(depth)];
    while (isWord(word)) {
      take();
      filters.push(readOne(depth));
    }
    const [only] = filters;
    return filters.length === 1 && only ? only : { kind: word, filters };
  };
  const readAny = (depth: number): Filter => readChain("or", (inner) => readChain("and", readTerm, inner), depth);

  const filter = readAny(0);
  if (peek().kind !== "end") throw invalidFilter(`${JSON.stringify(peek().text.slice(0, 50))} is not expected`);
  return filter;
};

const isPresent = (value: Json | undefined): boolean => value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);

const compare = (held: Json | undefined, operator: ScimOperator, wanted: Comparison["value"]): boolean => {
  if (operator === "pr") return isPresent(held);
  if (wanted === null) return isPresent(held) === (operator === "ne");
  const [one, other] = [String(held ?? "").toLowerCase(), String(wanted).toLowerCase()];
  switch (operator) {
    case "eq":
      return isPresent(held) && one === other;
    case "ne":
      return one !== other;
    case "co":
      return isPresent(held) && one.includes(other);
    case "sw":
      return isPresent(held) && one.startsWith(other);
    case "ew":
      return isPresent(held) && one.endsWith(other);
    case "gt":
      return isPresent(held) && one > other;
    case "ge":
      return isPresent(held) && one >= other;
    case "lt":
      return isPresent(held) && one < other;
    case "le":
      return isPresent(held) && one <= other;
  }
};

/** True if one of an attribute's values matches the filter; texts compare case-insensitively. */
export const fits = (filter: Filter, value: Json): boolean => {
  switch (filter.kind) {
    case "and":
      return filter.filters.every((each) => fits(each, value));
    case "or":
      return filter.filters.some((each) => fits(each, value));
    case "not":
      return !fits(filter.filter, value);
    case "values":
      return false;
    case "compare": {
      const held = isObject(value) ? valueNamed(value, filter.attribute) : filter.attribute.toLowerCase() === "value" ? value : undefined;
      return compare(held, filter.operator, filter.value);
    }
  }
};
