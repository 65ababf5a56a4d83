// Limits which hosts an issuer pattern can lead to. The bearer writes a token's issuer, so a pattern for any host would let
// strangers direct requests of this server (attack 39). An issuer is contacted only if the pattern contains its host or registrable
// domain (example.com, example.co.uk) literally, or if GANTRY_ISSUER_HOSTS lists it.
//
//   list  = host *( "," host )
//   host  = name / "*." name         ; the second: every host below
//
// Pure. A pattern is parsed up to the end of the host, and anything unknown is not literal. RE2 does the actual matching.

import { Fault } from "#base/fault.ts";
import { getDomain } from "tldts";

type Named = { readonly exact: string } | { readonly below: string };

export type IssuerHosts = readonly Named[];

const hostForm = /^(\*\.)?([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$/;

/** Parses GANTRY_ISSUER_HOSTS. Throws a one-line Fault. */
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

// ---- parsing a pattern --------------------------------------------------------------------------------------------

/** Length of a character, escape, class or group; 0 if it is unterminated. */
const tokenLength = (pattern: string, at: number): number => {
  switch (pattern[at]) {
    case "\\":
      return pattern[at + 1] === undefined ? 0 : 2;
    case "[": {
      // A leading bracket is a member of the class.
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

/** Top-level alternatives; undefined if the pattern cannot be parsed. */
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

/** The letter, digit, hyphen or dot that a token matches. */
const literalOf = (token: string): string | undefined => {
  if (/^[a-z0-9-]$/i.test(token)) return token.toLowerCase();
  if (token === "\\." || token === "[.]") return ".";
  return token === "\\-" ? "-" : undefined;
};

const endsHost = (pattern: string): boolean => /^(?:\\?\/|:)/.test(pattern);

/** Whether each alternative of a group starts with the end of the host, or is empty. */
const hostEndsIn = (group: string): "always" | "perhaps" | undefined => {
  const alternatives = alternativesOf(group.slice(1, -1).replace(/^\?(?::|P?<\w+>)/, ""));
  if (!alternatives?.every((each) => each === "" || endsHost(each))) return undefined;
  // After an optional slash the host would continue.
  if (alternatives.some((each) => quantifierForm.test(each.replace(/^(?:\\?\/|:)/, "")))) return undefined;
  return alternatives.includes("") ? "perhaps" : "always";
};

/** Undefined if the alternative is unlimited. */
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
  // The label that contains the end of the wildcard is unknown.
  const dot = literal.indexOf(".");
  return dot < 0 ? undefined : { below: literal.slice(dot + 1) };
};

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

/** Returns the violation of an issuer pattern, if any. */
export const issuerPatternProblem = (pattern: string, listed: IssuerHosts): string | undefined =>
  hostsNamedBy(pattern).every((named) => isBounded(named, listed))
    ? undefined
    : "must name the host of its issuers, or at least its registrable domain, literally, with \\. for each dot, such as https://ci\\.example\\.com/.* " +
      "or https://[a-z]+\\.example\\.com; other hosts are for the operator to list in GANTRY_ISSUER_HOSTS";

/** Returns whether an issuer at `host` that matches this pattern may be contacted. */
export const isNamedHost = (pattern: string, host: string, listed: IssuerHosts): boolean =>
  listed.some((entry) => covers(entry, host)) || hostsNamedBy(pattern).some((named) => named !== undefined && isBounded(named, listed) && covers(named, host));
