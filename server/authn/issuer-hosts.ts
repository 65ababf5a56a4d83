// Which hosts a pattern of issuers can lead to. Whoever holds a token writes its issuer, and a pattern that fits any host
// makes this server ask whomever strangers name (attack 39). So only issuers are asked whose host the pattern names
// literally, or at least its registrable domain (example.com, example.co.uk), or which the operator lists
// (GANTRY_ISSUER_HOSTS).
//
//   list  = host *( "," host )
//   host  = name / "*." name         ; the second: every host below
//
// Pure. A pattern is read only as far as its host; what is not understood names nothing. Which texts it fits, RE2 decides:
// here it is enough that no host is taken for named that is not.

import { Fault } from "#base/fault.ts";
import { getDomain } from "tldts";

/** One host, or every host below a name. */
type Named = { readonly exact: string } | { readonly below: string };

/** The operator's list. */
export type IssuerHosts = readonly Named[];

const hostForm = /^(\*\.)?([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$/;

/** Reads GANTRY_ISSUER_HOSTS. Throws a Fault of one line. */
export const readIssuerHosts = (list: string): IssuerHosts =>
  list
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== "")
    .map((entry) => {
      const [matched, wildcard, name = ""] = hostForm.exec(entry) ?? [];
      if (matched === undefined)
        throw new Fault("FAILED_PRECONDITION", `GANTRY_ISSUER_HOSTS: ${JSON.stringify(entry)} is not a host. Example: ci.example.com or *.github.io`);
      return wildcard === undefined ? { exact: name } : { below: name };
    });

const covers = (named: Named, host: string): boolean => ("exact" in named ? named.exact === host : host.endsWith(`.${named.below}`));

// ---- reading a pattern --------------------------------------------------------------------------------------------

/** How long the token of a pattern at `at` is: a character, an escape, a class, a group. 0: it has no end. */
const tokenLength = (pattern: string, at: number): number => {
  switch (pattern[at]) {
    case "\\":
      return pattern[at + 1] === undefined ? 0 : 2;
    case "[": {
      // A bracket at its beginning is one of its characters.
      let end = at + (pattern[at + 1] === "^" ? 2 : 1) + 1;
      while (end < pattern.length && pattern[end] !== "]") end += pattern[end] === "\\" || pattern.startsWith("[:", end) ? 2 : 1;
      return end < pattern.length ? end + 1 - at : 0;
    }
    case "(": {
      let end = at + 1;
      while (end < pattern.length && pattern[end] !== ")") {
        const length = tokenLength(pattern, end);
        if (length === 0) return 0;
        end += length;
      }
      return end < pattern.length ? end + 1 - at : 0;
    }
    default:
      return 1;
  }
};

/** The alternatives of a pattern, without those within its groups; undefined where it cannot be read. */
const alternativesOf = (pattern: string): string[] | undefined => {
  const found: string[] = [];
  let begin = 0;
  for (let at = 0; at < pattern.length; ) {
    if (pattern[at] === "|") {
      found.push(pattern.slice(begin, at));
      begin = at + 1;
    }
    const length = tokenLength(pattern, at);
    if (length === 0) return undefined;
    at += length;
  }
  return [...found, pattern.slice(begin)];
};

const quantifierForm = /^(?:[*+?]|\{[0-9,]*\})[?]?/;

/** What a token stands for, if it is one letter, digit, hyphen or dot; undefined for anything else. */
const literalOf = (token: string): string | undefined => {
  if (/^[a-z0-9-]$/i.test(token)) return token.toLowerCase();
  if (token === "\\." || token === "[.]") return ".";
  return token === "\\-" ? "-" : undefined;
};

const endsHost = (pattern: string): boolean => /^(?:\\?\/|:)/.test(pattern);

/** The alternatives within a group, where none of them can go on with the host: each begins its end, or is empty. */
const hostEndsIn = (group: string): "always" | "perhaps" | undefined => {
  const alternatives = alternativesOf(group.slice(1, -1).replace(/^\?(?::|P?<\w+>)/, ""));
  if (!alternatives?.every((each) => each === "" || endsHost(each))) return undefined;
  // Behind an optional slash the host would go on.
  if (alternatives.some((each) => quantifierForm.test(each.replace(/^(?:\\?\/|:)/, "")))) return undefined;
  return alternatives.includes("") ? "perhaps" : "always";
};

/** What one alternative names; undefined: nothing. */
const namedBy = (alternative: string): Named | undefined => {
  const text = alternative.replace(/^(?:\^|\\A)/, "");
  const scheme = /^https?\??:(?:\\?\/){2}/.exec(text)?.[0];
  if (scheme === undefined || /^http\?/.test(scheme)) return undefined;
  let literal = "";
  let isLiteral = true;
  for (let at = scheme.length; at < text.length; ) {
    const length = tokenLength(text, at);
    if (length === 0) return undefined;
    const token = text.slice(at, at + length);
    at += length;
    const quantifier = quantifierForm.exec(text.slice(at))?.[0] ?? "";
    at += quantifier.length;
    const isOptional = /^(?:[*?]|\{(?:0|,))/.test(quantifier);
    if ((token === "$" || token === "\\z") && quantifier === "") {
      if (at < text.length) return undefined;
      break;
    }
    if (endsHost(token) || token === "\\/") {
      if (!isOptional) break;
      continue;
    }
    const ends = token.startsWith("(") ? hostEndsIn(token) : undefined;
    if (ends === "always" && !isOptional) break;
    if (ends !== undefined) continue;
    const character = quantifier === "" ? literalOf(token) : undefined;
    if (character === undefined) isLiteral = false;
    literal = character === undefined ? "" : literal + character;
  }
  if (isLiteral) return literal === "" ? undefined : { exact: literal };
  // Of the label in which the wild part ends nothing is certain.
  const dot = literal.indexOf(".");
  return dot < 0 ? undefined : { below: literal.slice(dot + 1) };
};

/** What each alternative of a pattern names; undefined in the place of one that names nothing. */
const hostsNamedBy = (pattern: string): (Named | undefined)[] => {
  const alternatives = alternativesOf(pattern);
  return alternatives === undefined ? [undefined] : alternatives.map(namedBy);
};

const isBounded = (named: Named | undefined, listed: IssuerHosts): boolean => {
  if (named === undefined) return false;
  if ("exact" in named) return true;
  if (named.below === "") return false;
  if (getDomain(named.below, { allowPrivateDomains: true }) !== null) return true;
  return listed.some((entry) => "below" in entry && (entry.below === named.below || named.below.endsWith(`.${entry.below}`)));
};

/** What is wrong with a pattern of issuers, as a violation's description; undefined where nothing is. */
export const issuerPatternProblem = (pattern: string, listed: IssuerHosts): string | undefined =>
  hostsNamedBy(pattern).every((named) => isBounded(named, listed))
    ? undefined
    : "must name the host of its issuers, or at least its registrable domain, literally, with \\. for each dot, such as https://ci\\.example\\.com/.* " +
      "or https://[a-z]+\\.example\\.com; other hosts are for the operator to list in GANTRY_ISSUER_HOSTS";

/** Whether an issuer at `host` may be asked because this pattern fits it. */
export const isNamedHost = (pattern: string, host: string, listed: IssuerHosts): boolean =>
  listed.some((entry) => covers(entry, host)) || hostsNamedBy(pattern).some((named) => named !== undefined && isBounded(named, listed) && covers(named, host));
